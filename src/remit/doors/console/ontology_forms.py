"""Forms that state by hand what data means: what is manual outweighs the rest (S2.43)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import Response

from remit.client import ontology
from remit.client.datasources import Datasource
from remit.client.operations import Operation
from remit.doors.console.data_sources import NOT_FOUND, named_in_path
from remit.doors.console.forms import status_of
from remit.doors.console.ontology_kind import Kind
from remit.doors.console.ontology_kinds import KINDS
from remit.doors.console.ontology_tabs import AT, go_to_tab
from remit.doors.console.page import DECIDERS, Action
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """One thing whose form is shown.

    Attributes:
        names: What tells it from others, as many as its kind has; empty for a new one.
        entered: Text of each field.
        now: What the fields would show of it as it stands.
        etag: Of it as it stands; empty where it is not there yet.
    """

    kind: Kind
    source: Datasource
    names: Sequence[str]
    entered: Mapping[str, str]
    now: Mapping[str, str]
    etag: str = ""


async def edit(visitor: Visitor) -> Response:
    """Show the form of a thing that is there, or of a new one."""
    kind, source = _kind(visitor), await named_in_path(visitor)
    names = [visitor.asked(f"n{place}") for place in range(_length(kind))]
    value, etag = await _found(visitor, kind, source, names)
    now = kind.entered(value)
    return _page(
        visitor, Thing(kind=kind, source=source, names=names, entered=now, now=now, etag=etag)
    )


async def save(visitor: Visitor) -> Response:
    """State a thing by hand, where it stands as whoever does has seen it."""
    kind, source = _kind(visitor), await named_in_path(visitor)
    names = [visitor.sent(f"n{place}") for place in range(_length(kind))]
    entered = {each.name: visitor.sent(each.name) for each in kind.fields}
    try:
        await visitor.ask(_stating(visitor, kind, source, names, kind.body(entered)))
    except ProblemDetails as problem:
        value, etag = await _found(visitor, kind, source, names)
        now = kind.entered(value)
        thing = Thing(kind=kind, source=source, names=names, entered=entered, now=now, etag=etag)
        return _page(visitor, thing, problem)
    return go_to_tab(visitor, source, kind.tab, f"The {kind.noun} is stated.")


async def remove(visitor: Visitor) -> Response:
    """Take a thing away, where it stands as whoever does has seen it."""
    kind, source = _kind(visitor), await named_in_path(visitor)
    names = [visitor.sent(f"n{place}") for place in range(_length(kind))]
    at = (visitor.tenant, source.name, *names)
    try:
        await visitor.ask(kind.remove(*at, if_match=visitor.sent("etag")))
    except ProblemDetails as problem:
        value, etag = await _found(visitor, kind, source, names)
        now = kind.entered(value)
        thing = Thing(kind=kind, source=source, names=names, entered=now, now=now, etag=etag)
        return _page(visitor, thing, problem)
    return go_to_tab(visitor, source, kind.tab, f"The {kind.noun} is taken away.")


def _stating(
    visitor: Visitor, kind: Kind, source: Datasource, names: Sequence[str], body: Mapping[str, Any]
) -> Operation[Any]:
    """Return what states a thing.

    Raises:
        ProblemDetails: It has no name.
    """
    at = (visitor.tenant, source.name)
    if kind.has_id and not any(names):
        return ontology.create_fact(*at, body)
    if not all(names):
        needed = " and ".join(kind.named_by)
        raise ProblemDetails(f"say what it is called: {needed}", status=400, code="")
    return kind.put(*at, *names, body, if_match=visitor.sent("etag") or ontology.NEW)


def _kind(visitor: Visitor) -> Kind:
    kind = _find_kind(visitor)
    if kind is not None:
        return kind
    raise ProblemDetails(
        f"there is no kind {visitor.path['kind'][:80]!r} of things that are stated",
        status=NOT_FOUND,
        code="",
        title="No such kind",
    )


def _find_kind(visitor: Visitor) -> Kind | None:
    return next((kind for kind in KINDS if kind.key == visitor.path["kind"]), None)


def _length(kind: Kind) -> int:
    return 1 if kind.has_id else len(kind.named_by)


async def _found(
    visitor: Visitor, kind: Kind, source: Datasource, names: Sequence[str]
) -> tuple[Any, str]:
    """Return a thing and its tag, or nothing where it is not there yet."""
    if not all(names):
        return None, ""
    try:
        found = await visitor.ask_tagged(kind.get(visitor.tenant, source.name, *names))
    except ProblemDetails as problem:
        if problem.status != NOT_FOUND:
            raise
        return None, ""
    return found.value, found.etag


def _page(visitor: Visitor, thing: Thing, problem: ProblemDetails | None = None) -> Response:
    return visitor.render(
        "ontology_form.html",
        status=status_of(problem),
        thing=thing,
        kind=thing.kind,
        source=thing.source,
        problem=problem,
    )


def _put_of(visitor: Visitor) -> str:
    """Return what the API calls it to state a thing of that kind."""
    kind = _find_kind(visitor)
    if kind is None:
        return ""
    return kind.put("-", "-", *["-"] * _length(kind), {}, if_match=ontology.NEW).id


def _removal_of(visitor: Visitor) -> str:
    """Return what the API calls it to remove a thing of that kind."""
    kind = _find_kind(visitor)
    return "" if kind is None else kind.remove("-", "-", *["-"] * _length(kind), if_match="*").id


ONE: Final = f"{AT}/stated/{{kind}}"

ACTIONS: Final = (
    Action(path=ONE, run=edit, who=DECIDERS, method="GET"),
    Action(path=ONE, run=save, who=DECIDERS, makes=_put_of),
    Action(path=f"{ONE}/delete", run=remove, who=DECIDERS, makes=_removal_of),
)
