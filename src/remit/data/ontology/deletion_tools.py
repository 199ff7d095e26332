"""Tools that take back what was said of the data; the data itself stays (S2.10, 39 to 43)."""

from typing import Final

from remit.data.desk import Desk, Result
from remit.data.ontology.column_edits import delete_column_metadata
from remit.data.ontology.entity_edits import delete_entity
from remit.data.ontology.fact_edits import delete_project_knowledge
from remit.data.ontology.relationship_edits import delete_relationship
from remit.data.ontology.takes import COLUMN_NAME, DATASOURCE, FORGETS, MOVES, TABLE
from remit.data.ontology.term_edits import delete_glossary_term
from remit.data.ontology.writing import LONGEST_NAME
from remit.servers.arguments import Arguments
from remit.servers.shapes import FLAG, TEXT, given, record, text
from remit.servers.toolbox import Tool

_DELETED: Final = "`deleted` says whether there was anything."


async def _delete_column(desk: Desk, arguments: Arguments) -> Result:
    table, column = arguments.text("table"), arguments.text("column")
    where = arguments.find_text("datasource")
    deleted = await delete_column_metadata(desk, where, table, column)
    return {"table": table, "column": column, "deleted": deleted}


async def _delete_entity(desk: Desk, arguments: Arguments) -> Result:
    gone = await delete_entity(desk, arguments.find_text("datasource"), arguments.text("name"))
    return {"name": gone.value.name, "deleted": True}


async def _delete_term(desk: Desk, arguments: Arguments) -> Result:
    term = arguments.text("term")
    deleted = await delete_glossary_term(desk, arguments.find_text("datasource"), term)
    return {"term": term, "deleted": deleted}


async def _delete_fact(desk: Desk, arguments: Arguments) -> Result:
    fact_id = arguments.text("fact_id")
    await delete_project_knowledge(desk, arguments.find_text("datasource"), fact_id)
    return {"fact_id": fact_id, "deleted": True}


async def _delete_relationship(desk: Desk, arguments: Arguments) -> Result:
    ends = arguments.text("from_entity"), arguments.text("to_entity")
    deleted = await delete_relationship(desk, arguments.find_text("datasource"), *ends)
    return {"from_entity": ends[0], "to_entity": ends[1], "deleted": deleted}


DELETION_TOOLS: Final = (
    Tool(
        name="delete_column_metadata",
        title="Forget what a column means",
        description="Take back what was said of a column; what the database says of it stays."
        f" {_DELETED}",
        takes=given(
            {"table": TABLE, "column": COLUMN_NAME, "datasource": DATASOURCE}, ("table", "column")
        ),
        gives=record(table=TEXT, column=TEXT, deleted=FLAG),
        hints=FORGETS,
        run=_delete_column,
    ),
    Tool(
        name="delete_entity",
        title="Take an entity away",
        description="Take an entity away; update_entity brings it back. It is refused while the"
        " entity has relationships.",
        takes=given(
            {"name": text("Of the entity.", LONGEST_NAME), "datasource": DATASOURCE}, ("name",)
        ),
        gives=record(name=TEXT, deleted=FLAG),
        hints=MOVES,
        run=_delete_entity,
    ),
    Tool(
        name="delete_glossary_term",
        title="Take a term away",
        description=f"Take a term of the glossary away. {_DELETED}",
        takes=given(
            {"term": text("By its name, no alias.", LONGEST_NAME), "datasource": DATASOURCE},
            ("term",),
        ),
        gives=record(term=TEXT, deleted=FLAG),
        hints=FORGETS,
        run=_delete_term,
    ),
    Tool(
        name="delete_project_knowledge",
        title="Take a fact away",
        description="Take a fact away that no longer holds.",
        takes=given(
            {"fact_id": text("Of the fact.", LONGEST_NAME), "datasource": DATASOURCE}, ("fact_id",)
        ),
        gives=record(fact_id=TEXT, deleted=FLAG),
        hints=MOVES,
        run=_delete_fact,
    ),
    Tool(
        name="delete_relationship",
        title="Take a relationship away",
        description=f"Take back how two entities belong together. {_DELETED}",
        takes=given(
            {
                "from_entity": text("An entity, by name or alias.", LONGEST_NAME),
                "to_entity": text("An entity, by name or alias.", LONGEST_NAME),
                "datasource": DATASOURCE,
            },
            ("from_entity", "to_entity"),
        ),
        gives=record(from_entity=TEXT, to_entity=TEXT, deleted=FLAG),
        hints=FORGETS,
        run=_delete_relationship,
    ),
)
