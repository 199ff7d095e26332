r"""How commands print: nothing that a server, an agent or a file says reaches the terminal raw.

Names, results and errors come from others. An escape sequence would write to the terminal, a line
end would begin a line that looks like one of ours, and a bidirectional character would turn a line
around: each is shown as what it is, `\x1b`, `\n` or `\u202e`.

    say             one line for people
    say_text        a text of several lines, such as what a tool or an agent wrote
    print_json      a document for programs, with the same value
    print_document  what is ours as it is: a whole export
    Lossy           where the log goes
"""

import json
import re
from contextlib import nullcontext, suppress
from typing import Final, TextIO
from unicodedata import category

import typer

_IN_TEXTS: Final = frozenset("\n\t\u200c\u200d")
"""What a text may have: its lines, and what joins letters and signs."""

# In JSON these stand in texts alone: DEL and C1, what ends lines for some readers, what turns text
# around, and halves of a pair.
_ESCAPED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def say(text: str, *, err: bool = False, bold: bool = False) -> None:
    """Print one line, on standard error if *err*; what cannot be written there is lost."""
    line = plain(text)
    with suppress(OSError) if err else nullcontext():
        typer.echo(typer.style(line, bold=True) if bold else line, err=err)


class Lossy:
    """A stream that drops what it cannot write: its disk is full, or nobody reads it any more.

    A call is not to fail, or its answer to be lost, for want of a line in the log.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what can be written."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Let go of what was written, if that can be."""
        with suppress(OSError):
            self._stream.flush()


def say_text(text: str) -> None:
    """Print a text with its line ends and tabs."""
    typer.echo(plain_text(text))


def print_json(data: object) -> None:
    """Print *data* as indented JSON on standard output."""
    typer.echo(json_text(data, indent=2))


def print_document(text: str) -> None:
    """Print a document as it is, for programs that read it."""
    typer.echo(text, nl=False)


def json_text(data: object, *, indent: int | None = None) -> str:
    """Return *data* as JSON whose control and bidirectional characters are escaped."""
    text = json.dumps(data, indent=indent, ensure_ascii=False, default=str)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def plain(text: str) -> str:
    """Return *text* as one line in which every character is to be seen; spaces are spaces."""
    return text if text.isprintable() else "".join(map(_visible, text))


def plain_text(text: str) -> str:
    """Return the same with line ends, tabs, and spaces of every width."""
    return "".join(map(_shown, text.replace("\r\n", "\n")))


def _shown(char: str) -> str:
    return char if char in _IN_TEXTS or category(char) == "Zs" else _visible(char)


def _visible(char: str) -> str:
    if char.isprintable():
        return char
    return " " if category(char) == "Zs" else char.encode("unicode_escape").decode()
