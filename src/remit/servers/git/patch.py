"""One page of a patch, taken as git writes it: whole files where they fit, whole lines else.

Pages are counted from the first on, so the same diff has the same pages. A file that fits into a
page is not spread over two.
"""

from collections.abc import Sequence
from typing import Final

PAGE: Final = 40_000
"""Bytes of a page, about 10,000 tokens; what a file's entry in the list takes is counted too."""

_ENTRY = 100
_LINE_END = b"\n"
_HEADERS = (b"diff --git ", b"diff --cc ", b"diff --combined ", b"* Unmerged path ")
_CONTINUES = range(0x80, 0xC0)  # a byte of UTF-8 that is not the first of its sign
_ESCAPES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
_QUOTED = {
    code: f"\\{_ESCAPES.get(code, f'{code:03o}')}".encode() for code in (*range(32), *_ESCAPES, 127)
}


class PatchPage:
    """Keeps one page.

    Args:
        number: Of the page, from 1.
        paths: Old and new path of each file of the diff, in order.

    Attributes:
        files: Numbers of the files that the page shows, or a part of.
        begins_inside: Whether it begins in the middle of a file.
        has_next: Whether there is another page.
    """

    def __init__(self, number: int, paths: Sequence[tuple[bytes, bytes]]) -> None:
        self.files: list[int] = []
        self.begins_inside = False
        self.has_next = False
        self._number = number
        self._by_header = dict(_headers(paths))
        self._kept = bytearray()
        self._page, self._used = 1, 0
        self._file: int | None = None
        self._section = bytearray()
        self._is_continued = False
        self._line = b""

    def __call__(self, chunk: bytes, /) -> bool:
        """Take more of the patch and say whether the page can still grow."""
        *lines, self._line = (self._line + chunk).split(_LINE_END)
        for line in lines:
            self._take(self._shortened(line + _LINE_END))
        self._line = self._shortened(self._line)
        return not self.has_next

    def finish(self) -> bytes:
        """Return the page after the last of the patch, or nothing when it has no such page."""
        if self._line:
            self._take(self._line)
        self._place()
        return bytes(self._kept)

    def _shortened(self, line: bytes) -> bytes:
        """Take what a line has more than a page, and return the rest."""
        while len(line) > PAGE:
            cut = _whole_signs(line)
            self._take(line[:cut])
            line = line[cut:]
        return line

    def _take(self, line: bytes) -> None:
        if line.startswith(_HEADERS):
            self._place()
            self._is_continued = False
            self._file = self._by_header.get(line.removesuffix(_LINE_END), self._file)
        elif len(self._section) + len(line) > PAGE - _ENTRY:
            self._place()
            self._is_continued = True
        self._section += line

    def _place(self) -> None:
        """Put the section, of a page at most, on the page that it belongs on."""
        if not self._section:
            return
        size = len(self._section) + _ENTRY
        if self._used and self._used + size > PAGE:
            self._page, self._used = self._page + 1, 0
        self._used += size
        self.has_next = self.has_next or self._page > self._number
        if self._page == self._number:
            if not self._kept:
                self.begins_inside = self._is_continued
            self._kept += self._section
            if self._file is not None and self._file not in self.files[-1:]:
                self.files.append(self._file)
        self._section.clear()


def _headers(paths: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, int]]:
    headers: list[tuple[bytes, int]] = []
    for number, (old, new) in enumerate(paths):
        headers += [
            (b"diff --git " + _quoted(b"a/" + old) + b" " + _quoted(b"b/" + new), number),
            (b"diff --cc " + _quoted(new), number),
            (b"diff --combined " + _quoted(new), number),
            (b"* Unmerged path " + new, number),
        ]
    return headers


def _quoted(name: bytes) -> bytes:
    """Return *name* as git writes it in a patch (with `core.quotepath` off)."""
    if not any(code in _QUOTED for code in name):
        return name
    return b'"' + b"".join(_QUOTED.get(code, bytes([code])) for code in name) + b'"'


def _whole_signs(line: bytes) -> int:
    """Return where to cut a line that is longer than a page: not inside of a UTF-8 sequence."""
    cut = PAGE - 2 * _ENTRY
    for earlier in range(4):
        if line[cut - earlier] not in _CONTINUES:
            return cut - earlier
    return cut
