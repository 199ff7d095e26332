"""The kinds of things that the ontology states, as lists and forms show them (S2.41-S2.43)."""

from typing import Final

from remit.client import ontology
from remit.doors.console.ontology_kind import LINES, Field, Kind
from remit.model.ontology import Cardinality, ColumnRole, FactCategory

UNSAID: Final = ("", "not said")

_DESCRIPTION: Final = Field(
    name="description", label="What it is", can_clear=True, hint="Agents read it."
)
_ALIASES: Final = Field(name="aliases", label="Other names", look=LINES, hint="One a line.")

KINDS: Final = (
    Kind(
        key="entity",
        tab="entities",
        title="Entities",
        noun="entity",
        article="an",
        named_by=("Name",),
        names=lambda one: (one.name,),
        fields=(_DESCRIPTION, _ALIASES),
        empty="Refresh the schema, which infers some, or state one here.",
        list_all=ontology.list_entities,
        get=ontology.get_entity,
        put=ontology.put_entity,
        remove=ontology.remove_entity,
    ),
    Kind(
        key="column",
        tab="columns",
        title="Columns",
        noun="meaning of a column",
        article="the",
        named_by=("Table", "Column"),
        names=lambda one: (one.table, one.column),
        fields=(
            _DESCRIPTION,
            Field(
                name="role",
                label="Role",
                look="select",
                options=(UNSAID, *(each.value for each in ColumnRole)),
            ),
            Field(
                name="entity",
                label="Entity",
                look="text",
                hint="That its values name; empty leaves it as it is.",
            ),
        ),
        empty="Refresh the schema, which infers some, or state what one means here.",
        list_all=ontology.list_columns,
        get=ontology.get_column,
        put=ontology.put_column,
        remove=ontology.remove_column,
    ),
    Kind(
        key="relationship",
        tab="relationships",
        title="Relationships",
        noun="relationship",
        article="a",
        named_by=("From entity", "To entity"),
        names=lambda one: (one.from_entity, one.to_entity),
        fields=(
            Field(name="label", label="Label", look="text", can_clear=True, hint="Such as: orders"),
            _DESCRIPTION,
            Field(
                name="cardinality",
                label="Cardinality",
                look="select",
                options=(UNSAID, *(each.value for each in Cardinality)),
            ),
        ),
        empty="Scan the data for likely keys, or state one here.",
        list_all=ontology.list_relationships,
        get=ontology.get_relationship,
        put=ontology.put_relationship,
        remove=ontology.remove_relationship,
    ),
    Kind(
        key="term",
        tab="glossary",
        title="Glossary",
        noun="term",
        article="a",
        named_by=("Term",),
        names=lambda one: (one.term,),
        fields=(
            Field(name="definition", label="Definition", can_clear=True),
            Field(
                name="sql",
                label="SQL",
                look="code",
                hint="Tried before it is taken; empty leaves it as it is.",
            ),
            _ALIASES,
        ),
        empty="State the words of your business here, with the SQL that computes them.",
        list_all=ontology.list_terms,
        get=ontology.get_term,
        put=ontology.put_term,
        remove=ontology.remove_term,
    ),
    Kind(
        key="fact",
        tab="facts",
        title="Facts",
        noun="fact",
        article="a",
        named_by=(),
        names=lambda one: (one.id,),
        fields=(
            Field(name="fact", label="Fact", is_required=True),
            Field(name="context", label="Context", can_clear=True, hint="When it matters."),
            Field(
                name="category",
                label="Category",
                look="select",
                options=tuple(each.value for each in FactCategory),
            ),
        ),
        empty="State here what one has to know of the data and no table says.",
        list_all=ontology.list_facts,
        get=ontology.get_fact,
        put=ontology.put_fact,
        remove=ontology.remove_fact,
        has_id=True,
    ),
)
"""Every kind, in the order of the tabs."""
