"""What is stated about data, in lists that say who stated it (S2.43)."""

from typing import Any

from starlette.responses import Response

from remit.client.operations import Page as Listed
from remit.doors.console.data_sources import Chosen
from remit.doors.console.ontology_kind import Kind
from remit.doors.console.ontology_tabs import AT_ONCE, tab_page
from remit.doors.console.visitor import Visitor


async def show_list(visitor: Visitor, chosen: Chosen, kind: Kind) -> Response:
    """Show everything of a kind that is stated about a datasource."""
    listed: Listed[Any] = Listed(items=())
    if chosen.one is not None:
        asked = kind.list_all(
            visitor.tenant,
            chosen.one.name,
            limit=AT_ONCE,
            cursor=visitor.asked("cursor") or None,
        )
        listed = await visitor.ask(asked)
    return tab_page(
        visitor, "ontology_stated.html", chosen=chosen, tab=kind.tab, kind=kind, listed=listed
    )
