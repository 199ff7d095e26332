"""See through programs that only carry stdio to an HTTP server: remit reaches it by itself.

`npx mcp-remote URL --header NAME:VALUE` and `uvx mcp-proxy URL` are started by clients that speak
stdio alone. One with an option that is not known here, or that signs in with a browser, stays the
program that it is.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PureWindowsPath

from remit.admin.imports.transports import Way, read_transport

_PROGRAM = re.compile(r"(mcp-remote|mcp-proxy)(?:@[^/]*|\.exe|\.cmd)?")
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PLAIN_REFERENCE = re.compile(r"\$\{[^{}]*\}")
_SWITCHES = frozenset({"--allow-http", "--debug", "--silent", "--no-debug"})
_TOKEN = "API_ACCESS_TOKEN"  # noqa: S105 - the variable's name


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridged:
    """What stands behind a bridge.

    Attributes:
        program: The bridge's name.
        clear: Variables of its `env` that the headers refer to; they have to be set outside.
    """

    program: str
    transport: Way
    url: str
    headers: Mapping[str, str] = field(repr=False)
    clear: tuple[str, ...] = ()


def see_through(command: str, args: Sequence[str], env: Mapping[str, str]) -> Bridged | None:
    """Return what a bridge carries to, or None where it is no bridge that can be done without."""
    words = [PureWindowsPath(command).name, *args]
    found = [
        (at, match) for at, word in enumerate(words[:6]) if (match := _PROGRAM.fullmatch(word))
    ]
    if not found:
        return None
    at, match = found[0]
    read = _Line(words[at + 1 :])
    if not read.is_known or len(read.urls) != 1:
        return None
    is_remote = match[1] == "mcp-remote"
    if not is_remote and _TOKEN in env:
        read.headers.setdefault("Authorization", f"Bearer ${{{_TOKEN}}}")
    if is_remote and not read.headers:
        return None  # it signs in with a browser, which remit cannot do for it
    transport = read.transport or ("http" if is_remote else "sse")
    clear: list[str] = []
    headers = {name: _filled(text, env, clear) for name, text in read.headers.items()}
    return Bridged(
        program=match[1],
        transport=transport,
        url=read.urls[0],
        headers=headers,
        clear=tuple(dict.fromkeys(clear)),
    )


class _Line:
    """The words after a bridge's name."""

    def __init__(self, words: Sequence[str]) -> None:
        self.urls: list[str] = []
        self.headers: dict[str, str] = {}
        self.transport: Way | None = None
        self.is_known = True
        rest = list(words)
        while rest:
            self._take(rest.pop(0), rest)

    def _take(self, word: str, rest: list[str]) -> None:
        option, equals, value = word.partition("=")
        if word.startswith(("http://", "https://", "${")):
            self.urls.append(word)
        elif option in ("--header", "--headers", "-H") and (equals or rest):
            self._header(value if equals else rest.pop(0), rest)
        elif option == "--transport" and (equals or rest):
            self.transport = read_transport(value if equals else rest.pop(0))
            self.is_known = self.is_known and self.transport in ("http", "sse")
        elif word not in _SWITCHES:
            self.is_known = False

    def _header(self, text: str, rest: list[str]) -> None:
        name, colon, value = text.partition(":")
        if not colon and rest:  # mcp-proxy takes name and value as two words
            value = rest.pop(0)
        self.headers[name.strip()] = value.strip()


def _filled(text: str, env: Mapping[str, str], clear: list[str]) -> str:
    """Put in what the bridge's own `env` refers on to; a value in clear stays a reference."""

    def fill(match: re.Match[str]) -> str:
        value = env.get(match[1])
        if value is None:
            return match.group()
        if _PLAIN_REFERENCE.fullmatch(value):
            return value
        clear.append(match[1])
        return match.group()

    return _REFERENCE.sub(fill, text)
