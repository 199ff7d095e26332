"""Page: what data means, what is asked about it, and what waits for a decision (S2.41-S2.44)."""

from typing import Final

from starlette.responses import Response

from remit.doors.console import (
    ontology_changes,
    ontology_forms,
    ontology_questions,
    ontology_schema,
    ontology_stated,
)
from remit.doors.console.data_sources import choose
from remit.doors.console.ontology_kinds import KINDS
from remit.doors.console.ontology_tabs import CHANGES, PATH, SCHEMA
from remit.doors.console.page import REVIEWERS, Page
from remit.doors.console.visitor import Visitor


async def show(visitor: Visitor) -> Response:
    """Show the tab that is asked for; questions, if none is."""
    chosen, wanted = await choose(visitor), visitor.asked("tab")
    if wanted == CHANGES:
        if not visitor.asked("datasource"):
            chosen = await ontology_changes.with_changes(visitor, chosen)
        return await ontology_changes.show_list(visitor, chosen)
    if wanted == SCHEMA:
        return await ontology_schema.show(visitor, chosen)
    for kind in KINDS:
        if wanted == kind.tab:
            return await ontology_stated.show_list(visitor, chosen, kind)
    return await ontology_questions.show_list(visitor, chosen)


PAGE: Final = Page(
    key="ontology",
    path=PATH,
    title="Ontology",
    group="Data",
    show=show,
    who=REVIEWERS,
    actions=(
        *ontology_questions.ACTIONS,
        *ontology_changes.ACTIONS,
        *ontology_schema.ACTIONS,
        *ontology_forms.ACTIONS,
    ),
)
