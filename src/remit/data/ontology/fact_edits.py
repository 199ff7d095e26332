"""Stating what one has to know, and taking that back."""

from dataclasses import dataclass, replace

from remit.data.desk import Desk
from remit.data.ontology.facts import Fact
from remit.data.ontology.knowledge import Knowledge, absent
from remit.data.ontology.names import folded
from remit.data.ontology.writing import Stated, Wanted, require_name, state, unstate
from remit.model.data import DataCode
from remit.model.ontology import FactCategory, ItemKind


@dataclass(frozen=True, slots=True, kw_only=True)
class FactEdit:
    """What is to be stated; None leaves a field as it is.

    Attributes:
        id: Of the fact to change; empty for one that says the same already, or a new one.
    """

    fact: str
    id: str = ""
    context: str | None = None
    category: FactCategory | None = None


async def update_project_knowledge(
    desk: Desk, datasource: str | None, edit: FactEdit
) -> Stated[Fact]:
    """State a fact; without an id it is the one that says the same already, or else a new one.

    Raises:
        DataFailure: `fact_not_found`, `validation_error` or `precedence_blocked`.
    """
    fresh = desk.new_id()
    return await state(
        desk,
        await desk.datasource(datasource),
        ItemKind.FACT,
        lambda known: Wanted(value=_edited(known, edit, fresh)),
    )


def _edited(known: Knowledge, edit: FactEdit, fresh: str) -> Fact:
    text = edit.fact.strip()
    if not folded(text):
        require_name(text, "the fact")
    same = (each for each in known.facts.values() if folded(each.fact) == folded(text))
    fact = _found(known, edit.id) if edit.id else next(same, None)
    fact = replace(fact, fact=text) if fact is not None else Fact(id=fresh, fact=text)
    if edit.context is not None:
        fact = replace(fact, context=edit.context)
    return replace(fact, category=edit.category) if edit.category is not None else fact


async def delete_project_knowledge(desk: Desk, datasource: str | None, fact_id: str) -> None:
    """Take a fact away.

    Raises:
        DataFailure: `fact_not_found` or `precedence_blocked`.
    """
    where = await desk.datasource(datasource)
    await unstate(desk, where, ItemKind.FACT, lambda known: _found(known, fact_id).id)


def _found(known: Knowledge, fact_id: str) -> Fact:
    found = known.facts.get(fact_id)
    if found is None:
        remedy = "get_context lists them with their ids"
        absent(DataCode.FACT_NOT_FOUND, "fact", fact_id, (), remedy=remedy)
    return found
