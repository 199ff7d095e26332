"""The text of a declaration that somebody wrote: read as a file is, and its errors by line.

The API judges the declaration and names a path into it; where that stands in the text is known
here, so each of its complaints gets its line.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import anyio.to_thread

from remit.admin.complaints import Complaints
from remit.admin.spelling import spell
from remit.admin.yaml_source import read_text
from remit.errors import DeclarationError, Problem, ProblemDetails

UNREADABLE: Final = 422
"""Status of a page with a text that cannot be read."""

_PATH: Final = re.compile(r"'([^']+)'")


@dataclass(frozen=True, slots=True)
class DeclaredText:
    """A text that could be read.

    Attributes:
        document: As the API takes it.
        places: Tells the line of a path.
    """

    document: Mapping[str, Any] = field(repr=False)
    places: Complaints = field(repr=False)

    def with_lines(self, problem: ProblemDetails) -> ProblemDetails:
        """Return what the API says of the document, each complaint with its line where known."""
        return _problem(
            problem,
            problem.problems and [self._with_line(complaint) for complaint in problem.problems],
        )

    def _with_line(self, complaint: str) -> str:
        for path in _PATH.findall(complaint):
            line = self.places.line_of_path(path)
            if line > 1 or path in self.places.positions:
                return f"line {line}: {complaint}"
        return complaint


async def read_declaration(text: str) -> DeclaredText:
    """Return what a text of YAML or JSON says.

    Raises:
        ProblemDetails: It is no YAML, no mapping, or has a key twice; each with its line.
    """
    return await anyio.to_thread.run_sync(_read, text)  # a large one takes a while


def _read(text: str) -> DeclaredText:
    try:
        source = read_text(text)
        spelled = spell(source.data, source.positions, "")
    except DeclarationError as error:
        raise _refusal(error.problems) from None
    if source.problems:
        raise _refusal(source.problems)
    return DeclaredText(source.data, Complaints(file="", positions=spelled.positions))


def _refusal(problems: Sequence[Problem]) -> ProblemDetails:
    return ProblemDetails(
        "the text cannot be read, so nothing was asked or changed",
        status=UNREADABLE,
        code=DeclarationError.code,
        title="This is no declaration",
        problems=[
            f"line {one.line}: {one.message}; {one.remedy}" if one.line else str(one)
            for one in problems
        ],
    )


def _problem(problem: ProblemDetails, problems: Sequence[str]) -> ProblemDetails:
    return ProblemDetails(
        problem.detail,
        status=problem.status or UNREADABLE,
        code=problem.code,
        request_id=problem.request_id,
        title=problem.title,
        problems=problems,
    )
