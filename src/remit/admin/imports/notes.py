"""What an import has to say: each thing that was changed, left out or has to be done.

code                what it means
renamed             a server has another name than in its file
same-server         a server stands in several places, alike in everything, and is kept once
same-address        two servers have one address
read-as             a spelling of another program was brought to remit's own
secret-in-clear     a value was not written: an environment variable stands in its place
needs-variable      the value has to be put into an environment variable
key-left-out        a key of a server that remit has no use for
section-left-out    a section of a file that is not about servers, or that remit has no use for
server-left-out     a server that remit could not reach, or that is not one
duplicate-key       a key was given twice in its file
tool-denied         a tool that was switched off for everybody, and stays so
unknown-tools       what a server offers is not known, so that only admin may use it
careful             something to look at
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from remit.admin.complaints import Complaints

Code = Literal[
    "renamed",
    "same-server",
    "same-address",
    "read-as",
    "secret-in-clear",
    "needs-variable",
    "key-left-out",
    "section-left-out",
    "server-left-out",
    "duplicate-key",
    "tool-denied",
    "unknown-tools",
    "careful",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One thing to know about an import; never a secret's value.

    Attributes:
        line: 1-based line in `file`, or 0 where it is not known.
        server: The server's name in its file, or empty.
        field: Which part of it, such as `env.API_KEY`; may be empty.
        remedy: What to do about it; empty where nothing has to be done.
    """

    code: Code
    message: str
    file: str
    line: int = 0
    server: str = ""
    field: str = ""
    remedy: str = ""

    def to_json(self) -> dict[str, object]:
        """Return it for `--json`."""
        return {
            "code": self.code,
            "message": self.message,
            "file": self.file,
            "line": self.line,
            "server": self.server,
            "field": self.field,
            "remedy": self.remedy,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RawServer:
    """A server as a shape found it, its keys still as they were written.

    Attributes:
        path: Where it stands in its file, in the spelling of `Source.positions`.
        url_is: What a `url` means in this file where nothing else tells.
        milliseconds: Whether a bare `timeout` in this file is in milliseconds; None where the
            number has to tell.
        inputs: What the file asks its user for: id to its default, empty where there is none.
        hidden: Tools of it, and patterns over them, that are switched off outside of its entry.
    """

    name: str
    entry: Mapping[str, object] = field(repr=False)
    path: str
    url_is: Literal["http", "sse"] | None = None
    milliseconds: bool | None = None
    inputs: Mapping[str, str] = field(repr=False, default_factory=dict[str, str])
    hidden: tuple[str, ...] = ()


class Notebook:
    """Collects what is to be said of one file.

    Attributes:
        notes: In the order of writing.
    """

    def __init__(self, file: str, positions: Mapping[str, int]) -> None:
        self.file = file
        self.notes: list[Note] = []
        self._lines = Complaints(file=file, positions=positions)

    def line_of(self, path: str) -> int:
        """Return the line of the nearest thing around *path* that has one, or 0."""
        return self._lines.line_of_path(path)

    def write(
        self,
        code: Code,
        message: str,
        *,
        path: str = "",
        server: str = "",
        field: str = "",
        remedy: str = "",
    ) -> None:
        """Note something about what stands at *path* in the file."""
        self.notes.append(
            Note(
                code=code,
                message=message,
                file=self.file,
                line=self.line_of(path),
                server=server,
                field=field,
                remedy=remedy,
            )
        )
