"""What a caller may name: plain text, and paths that stay in the working tree."""

import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from remit.servers.errors import ToolError
from remit.servers.git.names import is_quoted, read_name

_GIT_NAMES = frozenset({".git", "git~1"})


def plain(value: str, what: str, *, lines: bool = False) -> str:
    """Return *value* if it can pass for nothing but data on a command line.

    Args:
        value: What the caller gave.
        what: The argument's name, for the message.
        lines: Whether line breaks and tabs are part of the text.

    Raises:
        ToolError: If it is blank, starts with `-`, or holds control characters.
    """
    if not value.strip():
        raise ToolError(f"{what} is blank; give it a value or leave it out")
    if value.startswith("-"):
        raise ToolError(f"{what} may not start with '-', which git would take for an option")
    allowed = "\n\t" if lines else ""
    # Cc: control characters. Cs: lone surrogates, which would become arbitrary bytes.
    if any(unicodedata.category(sign) in {"Cc", "Cs"} and sign not in allowed for sign in value):
        raise ToolError(f"{what} holds control characters; remove them")
    return value


def fenced_paths(top: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """Return *paths* relative to *top*, each of which must be inside it.

    A path between double quotes is read as git quotes it, see `names`.

    Raises:
        ToolError: If one escapes, also through a symbolic link, or names git's own files.
    """
    return tuple(_fenced(top, _path(path)) for path in paths)


def _path(path: str) -> str:
    if is_quoted(path):
        return read_name(path)
    if path.startswith("-"):
        raise ToolError(
            "path may not start with '-', which git would take for an option; put './' before it"
        )
    return plain(path, "path")


def _fenced(top: Path, path: str) -> str:
    named = Path(os.path.normpath(top / path))
    # The last part may be a link: git works on the link itself and does not follow it.
    real = named if named == top else Path(os.path.realpath(named.parent)) / named.name
    if not real.is_relative_to(top):
        raise ToolError(
            f"path {path!r} is outside the repository; name one inside, relative to its top level"
        )
    inside = real.relative_to(top)
    if any(part.lower() in _GIT_NAMES for part in (*Path(path).parts, *inside.parts)):
        raise ToolError(f"path {path!r} names git's own files; name files of the working tree")
    return str(inside)
