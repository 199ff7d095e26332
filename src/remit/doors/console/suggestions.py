"""Reviewing what somebody suggests: side by side with what it would change, tried out, decided."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from remit.client import queries
from remit.client.datasources import Datasource
from remit.client.queries import Column, Parameter, Query, Suggestion, Trial
from remit.doors.console.data_sources import named_in_path
from remit.doors.console.forms import status_of
from remit.doors.console.page import DECIDERS, MEMBERS, REVIEWERS, Action
from remit.doors.console.query_form import rows_of, text_of
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails

_MARKS: Final = {"+": "added", "-": "removed", " ": ""}
_NOT_FOUND: Final = 404

TITLES: Final[Mapping[str, str]] = {
    "sql": "Statement",
    "parameters": "Parameters",
    "output_columns": "Columns of the result",
    "name": "Name",
    "description": "What it answers",
    "constraints": "What whoever uses it has to know",
    "tags": "Tags",
    "is_enabled": "State",
}
"""What a change may change to what the page calls it, in the order of the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a statement beside what it was; kind: `added`, `removed` or empty."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A suggestion, and where it is.

    Attributes:
        etag: Of what approving it would put in force or change, as it was seen.
    """

    source: Datasource
    suggestion: Suggestion
    etag: str

    @property
    def query(self) -> Query:
        """What would be in force, by the name and with the state of the suggestion."""
        return self.suggestion.merged

    @property
    def is_orphan(self) -> bool:
        """Whether it is a change of a query that there is no more."""
        return self.query.parent is not None and self.suggestion.original is None

    def changes(self) -> Mapping[str, Sequence[Line]]:
        """Return what it changes: the title of each field to its lines, beside what they were."""
        before = self.suggestion.original
        if before is None:
            return {}
        return {
            title: lines_between(_text(before, name), _text(self.query, name))
            for name, title in TITLES.items()
            if name in self.query.changed
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What is shown of a suggestion beside itself.

    Attributes:
        trial: What running it dry gave, if it was.
        why: The reason of a rejection, as it was entered.
    """

    trial: Trial | None = None
    problem: ProblemDetails | None = None
    why: str = ""


async def show(visitor: Visitor) -> Response:
    """Show a suggestion."""
    return await _page(visitor, Looked())


async def try_out(visitor: Visitor) -> Response:
    """Run a suggestion dry, with the examples of its parameters."""
    found = await _found(visitor)
    source, query = found.source, found.query
    parameters = [dict(row.entry()) for row in rows_of(query.parameters)]
    running = queries.try_out(visitor.tenant, source.name, query.sql, parameters)
    try:
        return await _page(visitor, Looked(trial=await visitor.ask(running)))
    except ProblemDetails as problem:
        return await _page(visitor, Looked(problem=problem))


async def approve(visitor: Visitor) -> Response:
    """Put a suggestion of somebody else in force (R13)."""
    found = await _found(visitor)
    seen = visitor.sent("etag") or found.etag
    approving = queries.approve(visitor.tenant, found.query.id, if_match=seen)
    try:
        approved = await visitor.ask(approving)
    except ProblemDetails as problem:
        return await _page(visitor, Looked(problem=problem))
    said = f"The query {approved.name} is approved."
    return visitor.go(f"/queries/{found.source.id}/{approved.id}", said=said)


async def reject(visitor: Visitor) -> Response:
    """Reject a suggestion of somebody else, with a reason that its author reads."""
    found = await _found(visitor)
    why = visitor.sent("why")
    try:
        await visitor.ask(queries.reject(visitor.tenant, found.query.id, why))
    except ProblemDetails as problem:
        return await _page(visitor, Looked(problem=problem, why=why))
    return _to_list(visitor, found.source, f"The suggestion {found.query.name} is rejected.")


async def move_back(visitor: Visitor) -> Response:
    """Put a rejected suggestion back among those to be decided on."""
    found = await _found(visitor)
    await visitor.ask(queries.move_to_pending(visitor.tenant, found.query.id))
    said = f"The suggestion {found.query.name} waits for a review again."
    return _to_list(visitor, found.source, said)


def lines_between(before: str, after: str) -> Sequence[Line]:
    """Return the lines of two texts, each once, with what became of it."""
    compared = difflib.ndiff(_lines(before), _lines(after))
    return [Line(kind=_MARKS[each[0]], text=each[2:]) for each in compared if each[0] in _MARKS]


def _lines(text: str) -> Sequence[str]:
    """Return the lines of a text, which end where a database has those of a statement end."""
    return text.replace("\r\n", "\n").split("\n") if text else ()


def _to_list(visitor: Visitor, source: Datasource, said: str) -> Response:
    return visitor.go("/queries", said=said, query={"datasource": source.name, "tab": "pending"})


def _text(query: Query, field: str) -> str:
    """Return what a query says in a field, a line for each thing in it."""
    value = getattr(query, field)
    if field == "parameters":
        return "\n".join(_of_parameter(each) for each in query.parameters)
    if field == "output_columns":
        return "\n".join(_of_column(each) for each in query.output_columns)
    if field == "tags":
        return "\n".join(query.tags)
    if field == "is_enabled":
        return "enabled" if query.is_enabled else "disabled"
    return str(value)


def _of_parameter(parameter: Parameter) -> str:
    told = [f"{parameter.name}: {parameter.type}", "needed" if parameter.required else "not needed"]
    for title, value in (("default", parameter.default), ("example", parameter.example)):
        if value is not None:
            told.append(f"{title} {text_of(value)}")
    return ", ".join([*told, parameter.description] if parameter.description else told)


def _of_column(column: Column) -> str:
    return ", ".join(filter(None, [f"{column.name}: {column.type}", column.description]))


async def _found(visitor: Visitor) -> Found:
    source = await named_in_path(visitor)
    asked = await visitor.ask_tagged(
        queries.get(visitor.tenant, source.name, visitor.path["query"])
    )
    query, original, etag = asked.value, None, asked.etag
    if query.parent:
        try:
            parent = await visitor.ask_tagged(
                queries.get(visitor.tenant, source.name, query.parent)
            )
        except ProblemDetails as problem:
            if problem.status != _NOT_FOUND:
                raise
        else:
            original, etag = parent.value, parent.etag
    return Found(source=source, suggestion=Suggestion.of(query, original), etag=etag)


async def _page(visitor: Visitor, looked: Looked) -> Response:
    found = await _found(visitor)
    is_own = found.query.suggested_by == visitor.principal.subject
    return visitor.render(
        "suggestion.html",
        status=status_of(looked.problem),
        found=found,
        source=found.source,
        query=found.query,
        parent=found.suggestion.original,
        changes=found.changes(),
        rows=rows_of(found.query.parameters),
        looked=looked,
        is_own=is_own,
        sees_all=visitor.is_one_of(REVIEWERS),
        may_change=visitor.is_one_of(DECIDERS),
        may_decide=visitor.is_one_of(DECIDERS) and not is_own,
    )


AT: Final = "/queries/{datasource}/{query}/review"

ACTIONS: Final = (
    Action(path=AT, run=show, who=MEMBERS, method="GET"),
    Action(path=f"{AT}/try", run=try_out, who=DECIDERS, makes="queries.test"),
    Action(path=f"{AT}/approve", run=approve, who=DECIDERS, makes="queries.approve"),
    Action(path=f"{AT}/reject", run=reject, who=DECIDERS, makes="queries.reject"),
    Action(path=f"{AT}/pending", run=move_back, who=DECIDERS, makes="queries.move_to_pending"),
)
