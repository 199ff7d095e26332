"""Which datasource a page of the group "Data" is about."""

from collections.abc import Sequence
from dataclasses import dataclass

from remit.client import datasources
from remit.client.datasources import Datasource
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails

NOT_FOUND = 404


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The datasources that there are, and the one that is looked at.

    Attributes:
        one: The one that the query of the page names, else the default one; None where there is
            none at all.
    """

    every: Sequence[Datasource]
    one: Datasource | None


async def choose(visitor: Visitor) -> Chosen:
    """Return what a page with `?datasource=` is about.

    Raises:
        ProblemDetails: There is none of the name that it asks for.
    """
    every = await visitor.ask(datasources.list_all(visitor.tenant))
    wanted = visitor.asked("datasource")
    if wanted:
        return Chosen(every=every, one=named(every, wanted))
    usual = [each for each in every if each.is_default] or list(every)
    return Chosen(every=every, one=usual[0] if usual else None)


def named(every: Sequence[Datasource], wanted: str) -> Datasource:
    """Return the datasource of that name or id.

    Raises:
        ProblemDetails: There is none.
    """
    for each in every:
        if wanted in {each.name, each.id}:
            return each
    raise ProblemDetails(
        f"there is no datasource {wanted[:80]!r}; the list of them shows which there are",
        status=NOT_FOUND,
        code="NOT_FOUND",
        title="No such datasource",
    )


async def named_in_path(visitor: Visitor) -> Datasource:
    """Return the datasource that the path names.

    Raises:
        ProblemDetails: There is none.
    """
    every = await visitor.ask(datasources.list_all(visitor.tenant))
    return named(every, visitor.path["datasource"])
