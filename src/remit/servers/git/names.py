r"""Names of files and branches, which are bytes to git and text to a client, there and back.

A name that is no plain text (bytes that are not UTF-8, control characters) is shown as git quotes
it: between double quotes, with escapes such as `\n` and `\351`. A path in that form is read back
to the very bytes. A name that itself begins with a double quote is quoted too, so that no two
names look alike.
"""

import os
import re
import unicodedata
from collections.abc import Sequence

from remit.servers.errors import ToolError

_NAMED = 20
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_LETTERS = {code: f"\\{letter}" for letter, code in _ESCAPES.items()}
_ESCAPE = re.compile(rb'\\(?:([0-3][0-7]{2})|([abtnvfr"\\]))')
_QUOTED = re.compile(rb'"((?:[^"\\]|\\(?:[0-3][0-7]{2}|[abtnvfr"\\]))*)"', re.DOTALL)


def shown(name: str) -> str:
    """Return *name*, as `os.fsdecode` gives it, in the form in which clients see it."""
    if not name.startswith('"') and not any(
        unicodedata.category(sign) in {"Cc", "Cs"} for sign in name
    ):
        return name
    return '"' + "".join(map(_escaped, name)) + '"'


def shown_branch(name: str) -> str:
    """Return the name of a branch, which holds no control characters, as clients see it.

    Only the quoted form of one that is not UTF-8 holds a backslash: no name of a branch does.
    """
    return shown(name) if any(unicodedata.category(sign) == "Cs" for sign in name) else name


def several(names: Sequence[str]) -> str:
    """Return *names* as a client sees them, the first ones of many."""
    first = ", ".join(repr(shown(name)) for name in names[:_NAMED])
    more = len(names) - _NAMED
    return first if more <= 0 else f"{first} and {more} more"


def is_quoted(name: str) -> bool:
    """Say whether *name* is in the quoted form."""
    return name.startswith('"')


def read_name(text: str) -> str:
    """Return the name that clients see as *text*; it may hold anything but NUL.

    Raises:
        ToolError: If the text begins with a double quote and is not the quoted form of a name.
    """
    if not is_quoted(text):
        return text
    inside = _QUOTED.fullmatch(text.encode(errors="surrogateescape"))
    raw = b"" if inside is None else _ESCAPE.sub(_unescaped, inside[1])
    if not raw or b"\0" in raw:
        raise ToolError(
            f"{text!r} begins with a double quote and is not a name as git quotes it; copy names"
            " as git_status and git_diff show them"
        )
    return os.fsdecode(raw)


def _escaped(sign: str) -> str:
    code = ord(sign)
    if code in _LETTERS:
        return _LETTERS[code]
    if unicodedata.category(sign) in {"Cc", "Cs"}:
        return "".join(f"\\{byte:03o}" for byte in os.fsencode(sign))
    return sign


def _unescaped(escape: re.Match[bytes]) -> bytes:
    if escape[1] is not None:
        return bytes([int(escape[1], 8)])
    return bytes([_ESCAPES[escape[2].decode()]])
