"""Read a YAML or JSON file into plain data, remembering the line of every key and list item.

    bytes ──▶ text (UTF-8) ──▶ parser events ──▶ tree of nodes ──▶ plain data + positions

Only texts, numbers, booleans, nulls, lists and mappings are ever built, and what aliases can
multiply is bounded. The tree is made by `yaml_nodes.py`.
"""

import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from remit.admin.yaml_nodes import MapNode, Node, ScalarNode, SeqNode, Unreadable, parse_nodes
from remit.errors import DeclarationError, Problem

LARGEST_FILE = 10 * 1024 * 1024
"""Bytes of a configuration file."""

MOST_CHARACTERS = 32 * 1024 * 1024
"""What a document may hold when its aliases are expanded: each value costs its text, its path and
`COST_OF_VALUE`."""

COST_OF_VALUE = 64

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OTHER_ENCODINGS = {
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"\x00\x00\xfe\xff": "UTF-32",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A configuration file as plain data.

    Attributes:
        data: The top-level mapping; JSON types only.
        positions: Path such as `roles.designer.tools.git[0]` to the 1-based line of its key or
            list item; the empty path is the document itself.
        file: As the user gave it.
        problems: Errors that leave the data readable, such as keys given twice.
        last_counts: Whether of a key that is given twice the last is in the data, not the first.
    """

    data: Mapping[str, object] = field(repr=False)
    positions: Mapping[str, int] = field(repr=False)
    file: str
    problems: tuple[Problem, ...] = ()
    last_counts: bool = False


def read_file(path: Path, *, items: str = "") -> Source:
    """Read the YAML or JSON file at *path*.

    Args:
        path: Any file; what is none is refused.
        items: The key under which a document that is a list is given; empty to refuse one.

    Raises:
        DeclarationError: If it is missing, not a file, too large, not UTF-8, not YAML or no
            mapping.
    """
    return read_text(text_of(path), file=str(path), items=items)


def text_of(path: Path) -> str:
    """Return the text of a configuration file of any kind, without a byte order mark.

    Raises:
        DeclarationError: If it is missing, not a file, too large or not UTF-8.
    """
    file = str(path)
    return _decode(_read_bytes(path, file), file)


def read_text(text: str, *, file: str = "", items: str = "", last_counts: bool = False) -> Source:
    """Read a document that is already text.

    Args:
        text: All of it.
        file: Its name, for problems.
        items: As `read_file` says.
        last_counts: Whether of a key that is given twice the last counts, as readers of JSON have
            it; else the first.

    Raises:
        DeclarationError: If it is not YAML, or no mapping.
    """
    stray = _UNPRINTABLE.search(text)
    if stray is not None:
        raise _refusal(
            "not-text",
            f"holds the control character {stray.group()!r}, which no text file needs",
            file,
            line=text.count("\n", 0, stray.start()) + 1,
            remedy="remove it; is this the right file?",
        )
    try:
        root = parse_nodes(text)
        if root is None or (isinstance(root, ScalarNode) and root.value is None):
            raise _refusal(
                "empty-file",
                "the file is empty",
                file,
                remedy=f"write at least `{items}:`"
                if items
                else "write at least `mcp_servers:` and `roles:`",
            )
        builder = _Builder(file, last_counts=last_counts)
        if items and isinstance(root, SeqNode):
            data = builder.items(root, items)
        elif isinstance(root, MapNode):
            data = builder.mapping(root, "")
        else:
            what = "a list" if isinstance(root, SeqNode) else "a single value"
            raise _refusal(
                "wrong-type",
                f"the document is {what}, but must be a mapping of sections",
                file,
                line=root.line,
                remedy="start with keys such as `mcp_servers:` and `roles:`",
            )
    except Unreadable as error:
        raise _refusal(
            error.code, error.message, file, line=error.line, remedy=error.remedy
        ) from None
    return Source(
        data=data,
        positions=builder.positions,
        file=file,
        problems=tuple(builder.problems),
        last_counts=last_counts,
    )


def child_path(path: str, key: str | int) -> str:
    """Return the path of an entry of the mapping or list at *path*."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def path_of(place: Sequence[str | int]) -> str:
    """Return the path of a place in a document, such as `roles.designer.tools.git[0]`."""
    path = ""
    for key in place:
        path = child_path(path, key)
    return path


def _refusal(code: str, message: str, file: str, *, line: int = 0, remedy: str) -> DeclarationError:
    problem = Problem(code=code, message=message, file=file, line=line, remedy=remedy)
    return DeclarationError([problem])


def _read_bytes(path: Path, file: str) -> bytes:
    try:
        # A device or a pipe could block for ever, or never end.
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            remedy = "name the file in it, such as remit.yaml"
            raise _refusal("unreadable-file", "is a folder, not a file", file, remedy=remedy)
        if not stat.S_ISREG(mode):
            remedy = "name a regular file"
            raise _refusal("unreadable-file", "is not a regular file", file, remedy=remedy)
        with path.open("rb") as stream:
            raw = stream.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        remedy = "write it, or name another file; the declaration's with --config"
        raise _refusal("unreadable-file", "there is no such file", file, remedy=remedy) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        message = f"cannot be read: {(reason or 'the name is no file name').lower()}"
        remedy = "check the name and the permissions"
        raise _refusal("unreadable-file", message, file, remedy=remedy) from None
    if len(raw) > LARGEST_FILE:
        message = f"is larger than {LARGEST_FILE // 1024 // 1024} MiB"
        raise _refusal("too-large", message, file, remedy="is this the right file?")
    return raw


def _decode(raw: bytes, file: str) -> str:
    remedy = "save it as UTF-8"
    for mark, name in _OTHER_ENCODINGS.items():
        if raw.startswith(mark):
            raise _refusal("wrong-encoding", f"is encoded in {name}", file, line=1, remedy=remedy)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"is not UTF-8: byte 0x{raw[error.start]:02x}"
        raise _refusal("wrong-encoding", message, file, line=line, remedy=remedy) from None


class _Builder:
    """Expands a tree of nodes into plain data, within `MOST_CHARACTERS`."""

    def __init__(self, file: str, *, last_counts: bool) -> None:
        self._file = file
        self._last_counts = last_counts
        self._spent = 0
        self.positions: dict[str, int] = {"": 1}
        self.problems: list[Problem] = []

    def mapping(self, node: MapNode, path: str) -> dict[str, object]:
        """Return *node* as a dict; what its merge keys (`<<`) bring in comes last."""
        built: dict[str, object] = {}
        lines: dict[str, int] = {}
        winners_last = node.entries if self._last_counts else node.entries[::-1]
        counting = {entry.key: entry for entry in winners_last}
        for entry in node.entries:
            where = child_path(path, entry.key)
            if entry.key in lines:
                self._report_duplicate(where, entry.line, lines[entry.key])
            lines.setdefault(entry.key, entry.line)
            if entry is counting[entry.key]:
                built[entry.key] = self._value(entry.value, where, entry.line)
        for entry in node.merged:
            if entry.key not in built:
                where = child_path(path, entry.key)
                built[entry.key] = self._value(entry.value, where, entry.line)
        return built

    def items(self, node: SeqNode, key: str) -> dict[str, object]:
        """Return the list *node* under *key*."""
        return {key: self._value(node, key, node.line)}

    def _value(self, node: Node, path: str, line: int) -> object:
        self._spent += len(path) + COST_OF_VALUE
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            self._spent += len(node.value)
        if self._spent > MOST_CHARACTERS:
            message = "holds too many values, or aliases that multiply them"
            raise Unreadable(message, line=line, code="too-large")
        self.positions[path] = line
        if isinstance(node, ScalarNode):
            return node.value
        if isinstance(node, MapNode):
            return self.mapping(node, path)
        return [
            self._value(item.value, child_path(path, index), item.line)
            for index, item in enumerate(node.items)
        ]

    def _report_duplicate(self, path: str, line: int, first: int) -> None:
        self.problems.append(
            Problem(
                code="duplicate-key",
                message=f"{path!r} is given twice, on lines {first} and {line}",
                file=self._file,
                line=line,
                remedy="keep one of the two",
            )
        )
