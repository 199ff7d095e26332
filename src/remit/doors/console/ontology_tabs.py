"""What the tabs of the page "Ontology" have in common: the datasource, and what was refused."""

from typing import Any, Final

from starlette.responses import Response

from remit.client import datasources
from remit.client.datasources import Datasource
from remit.doors.console.data_sources import Chosen, named
from remit.doors.console.forms import status_of
from remit.doors.console.ontology_kinds import KINDS
from remit.doors.console.page import DECIDERS
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails

PATH: Final = "/ontology"
AT: Final = f"{PATH}/{{datasource}}"
"""What belongs to one datasource; it goes by its id in links, by its name or id when typed."""

QUESTIONS: Final = "questions"
CHANGES: Final = "changes"
SCHEMA: Final = "schema"

TABS: Final = (
    (QUESTIONS, "Questions"),
    (CHANGES, "Pending changes"),
    (SCHEMA, "Schema"),
    *((kind.tab, kind.title) for kind in KINDS),
)
"""Key and title of each tab, in their order."""

AT_ONCE: Final = 50
"""Entries of one page of a list."""


async def one_by(visitor: Visitor) -> tuple[Chosen, Datasource]:
    """Return the datasource of a path that names one, and all that there are.

    Raises:
        ProblemDetails: There is none of that name.
    """
    every = await visitor.ask(datasources.list_all(visitor.tenant))
    one = named(every, visitor.path["datasource"])
    return Chosen(every=every, one=one), one


def tab_page(
    visitor: Visitor,
    template: str,
    *,
    chosen: Chosen,
    tab: str,
    problem: ProblemDetails | None = None,
    **context: Any,
) -> Response:
    """Return a tab; with a problem, what the API refused stands above it."""
    return visitor.render(
        template,
        status=status_of(problem),
        chosen=chosen,
        source=chosen.one,
        tabs=TABS,
        tab=tab,
        problem=problem,
        may_change=visitor.is_one_of(DECIDERS),
        **context,
    )


def go_to_tab(visitor: Visitor, source: Datasource, tab: str, said: str) -> Response:
    """Return what leads the browser to a tab of a datasource, which says what was done."""
    return visitor.go(PATH, said=said, query={"datasource": source.name, "tab": tab})
