"""Tools that say what the data means (S2.10, 34 to 38)."""

from typing import Final, cast

from remit.data.desk import Desk, Result
from remit.data.ontology.column_edits import ColumnEdit, update_column
from remit.data.ontology.columns import EnumValue
from remit.data.ontology.entities import KeyColumn
from remit.data.ontology.entity_edits import EntityEdit, update_entity
from remit.data.ontology.fact_edits import FactEdit, update_project_knowledge
from remit.data.ontology.relationship_edits import RelationshipEdit, update_relationship
from remit.data.ontology.shown import (
    COLUMN,
    ENTITY,
    FACT,
    RELATIONSHIP,
    TERM,
    shown_column,
    shown_entity,
    shown_fact,
    shown_relationship,
    shown_term,
)
from remit.data.ontology.takes import (
    COLUMN_NAME,
    DATASOURCE,
    STATES,
    TABLE,
    objects_of,
    texts_of,
    words,
)
from remit.data.ontology.term_edits import TermEdit, update_glossary_term
from remit.data.ontology.writing import LONGEST_NAME, LONGEST_TEXT, MOST_NAMES, MOST_VALUES
from remit.model.ontology import Cardinality, ColumnRole, FactCategory
from remit.servers.arguments import Arguments
from remit.servers.shapes import (
    LONGEST_TEXT as LONGEST_SQL,
)
from remit.servers.shapes import (
    TEXT,
    Schema,
    given,
    list_of,
    one_of,
    record,
    text,
    texts,
)
from remit.servers.toolbox import Tool

_KEPT: Final = "what is left out stays as it is"


def _either(short: Schema, long: Schema, description: str, most: int) -> Schema:
    items: Schema = {"anyOf": [short, long]}
    return {"type": "array", "items": items, "maxItems": most, "description": description}


async def _update_column(desk: Desk, arguments: Arguments) -> Result:
    role, values = arguments.find_text("role"), objects_of(arguments, "enum_values", "value")
    edit = ColumnEdit(
        table=arguments.text("table"),
        column=arguments.text("column"),
        description=arguments.find_text("description"),
        enum_values=None
        if values is None
        else [
            EnumValue(value=str(each["value"]), label=str(each.get("label", ""))) for each in values
        ],
        entity=arguments.find_text("entity"),
        role=ColumnRole(role) if role else None,
    )
    return shown_column(await update_column(desk, arguments.find_text("datasource"), edit))


async def _update_entity(desk: Desk, arguments: Arguments) -> Result:
    keys = objects_of(arguments, "key_columns", "name")
    edit = EntityEdit(
        name=arguments.text("name"),
        description=arguments.find_text("description"),
        domain=arguments.find_text("domain"),
        table=arguments.find_text("table"),
        aliases=texts_of(arguments, "aliases"),
        key_columns=None
        if keys is None
        else [
            KeyColumn(
                name=str(each["name"]),
                synonyms=tuple(map(str, cast("list[object]", each.get("synonyms", [])))),
            )
            for each in keys
        ],
    )
    return shown_entity(await update_entity(desk, arguments.find_text("datasource"), edit))


async def _update_term(desk: Desk, arguments: Arguments) -> Result:
    edit = TermEdit(
        term=arguments.text("term"),
        definition=arguments.find_text("definition"),
        sql=arguments.find_text("sql"),
        aliases=texts_of(arguments, "aliases"),
    )
    return shown_term(await update_glossary_term(desk, arguments.find_text("datasource"), edit))


async def _update_fact(desk: Desk, arguments: Arguments) -> Result:
    category = arguments.find_text("category")
    edit = FactEdit(
        fact=arguments.text("fact"),
        id=arguments.text("fact_id"),
        context=arguments.find_text("context"),
        category=FactCategory(category) if category else None,
    )
    return shown_fact(await update_project_knowledge(desk, arguments.find_text("datasource"), edit))


async def _update_relationship(desk: Desk, arguments: Arguments) -> Result:
    cardinality = arguments.find_text("cardinality")
    edit = RelationshipEdit(
        from_entity=arguments.text("from_entity"),
        to_entity=arguments.text("to_entity"),
        description=arguments.find_text("description"),
        label=arguments.find_text("label"),
        cardinality=Cardinality(cardinality) if cardinality else None,
    )
    related = await update_relationship(desk, arguments.find_text("datasource"), edit)
    return shown_relationship(related)


STATEMENT_TOOLS: Final = (
    Tool(
        name="update_column",
        title="Say what a column means",
        description=f"Say what a column means; {_KEPT}. Lists replace what was there.",
        takes=given(
            {
                "table": TABLE,
                "column": COLUMN_NAME,
                "description": words("What it holds; empty to clear.", LONGEST_TEXT),
                "enum_values": _either(
                    {"type": "string", "maxLength": LONGEST_NAME},
                    record(("label",), value=TEXT, label=TEXT),
                    "Its possible values, each as text or with a label that says what it stands"
                    " for.",
                    MOST_VALUES,
                ),
                "entity": words("The entity that its values name; empty for none.", LONGEST_NAME),
                "role": {**one_of(*ColumnRole), "description": "What it is for."},
                "datasource": DATASOURCE,
            },
            ("table", "column"),
        ),
        gives=COLUMN,
        hints=STATES,
        run=_update_column,
    ),
    Tool(
        name="update_entity",
        title="Say what an entity is",
        description="Say what the rows of a table are, such as customers; an entity that is not"
        f" there yet is made, and {_KEPT}. Lists replace what was there.",
        takes=given(
            {
                "name": text("Such as `Customer`; letter case is no difference.", LONGEST_NAME),
                "description": words("What it is; empty to clear.", LONGEST_TEXT),
                "aliases": texts("What else people call it.", LONGEST_NAME, MOST_NAMES),
                "key_columns": _either(
                    {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME},
                    record(("synonyms",), name=TEXT, synonyms=list_of(TEXT)),
                    "Columns that say which one is meant, each by name or with synonyms.",
                    MOST_NAMES,
                ),
                "domain": words("Part of the business, such as `sales`.", LONGEST_NAME),
                "table": words("Its table, as `table` or `schema.table`; empty for none.", 512),
                "datasource": DATASOURCE,
            },
            ("name",),
        ),
        gives=ENTITY,
        hints=STATES,
        run=_update_entity,
    ),
    Tool(
        name="update_glossary_term",
        title="Say what a term means",
        description="Say what a word of the business means; a term that is not there yet is made,"
        f" and {_KEPT}. Its SQL is tested without being run.",
        takes=given(
            {
                "term": text("Such as `Net revenue`; letter case is no difference.", LONGEST_NAME),
                "definition": words("What it means; empty to clear.", LONGEST_TEXT),
                "sql": words("A SELECT that works it out; empty for none.", LONGEST_SQL),
                "aliases": texts("What else people call it.", LONGEST_NAME, MOST_NAMES),
                "datasource": DATASOURCE,
            },
            ("term",),
        ),
        gives=TERM,
        hints=STATES,
        run=_update_term,
    ),
    Tool(
        name="update_project_knowledge",
        title="Keep a fact",
        description="Keep a fact that one has to know, such as when the fiscal year begins. Without"
        f" an id it is the one that says the same already, or a new one; {_KEPT}.",
        takes=given(
            {
                "fact": text("In one sentence or a few.", LONGEST_TEXT),
                "fact_id": text("Of the fact that is to say this now.", LONGEST_NAME),
                "context": words("Where it is from, or when it holds.", LONGEST_TEXT),
                "category": {**one_of(*FactCategory), "description": "What kind of fact."},
                "datasource": DATASOURCE,
            },
            ("fact",),
        ),
        gives=FACT,
        # without an id a second call finds what the first has made
        hints=STATES,
        run=_update_fact,
    ),
    Tool(
        name="update_relationship",
        title="Say how entities belong together",
        description=f"Say how one entity belongs to another, such as order to customer; {_KEPT}.",
        takes=given(
            {
                "from_entity": text("An entity, by name or alias.", LONGEST_NAME),
                "to_entity": text("An entity, by name or alias.", LONGEST_NAME),
                "description": words("What is between them; empty to clear.", LONGEST_TEXT),
                "label": words("In a word or two, such as `was placed by`.", LONGEST_NAME),
                "cardinality": {
                    **one_of(*Cardinality),
                    "description": "How many of the first stand to how many of the second.",
                },
                "datasource": DATASOURCE,
            },
            ("from_entity", "to_entity"),
        ),
        gives=RELATIONSHIP,
        hints=STATES,
        run=_update_relationship,
    ),
)
