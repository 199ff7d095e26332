"""Tools that tell what the data is and means (S2.10, 17 to 22, 24)."""

from collections.abc import Sequence
from typing import Final

from remit.data.desk import Desk, Result
from remit.data.ontology.takes import DATASOURCE, READS
from remit.data.probes.probing import MOST_PROBED
from remit.data.reading.context import CONTEXT, ONTOLOGY, Depth, Extra, Scope
from remit.data.reading.context import get_context as context_of
from remit.data.reading.context import get_ontology as ontology_of
from remit.data.reading.entities import ENTITY_WHOLE
from remit.data.reading.entities import get_entity as entity_of
from remit.data.reading.glossary import GLOSSARY_SQL, TERMS
from remit.data.reading.glossary import get_glossary_sql as glossary_sql_of
from remit.data.reading.glossary import list_glossary as glossary_of
from remit.data.reading.hits import HITS, search_schema
from remit.data.reading.schema import SCHEMA
from remit.data.reading.schema import get_schema as schema_of
from remit.data.reading.search import MOST_HITS, USUAL_HITS
from remit.servers.arguments import Arguments
from remit.servers.shapes import Schema, count, flag, given, one_of, text, texts
from remit.servers.toolbox import Tool

_LONGEST_NAME: Final = 512
_LONGEST_QUERY: Final = 500
_MOST_NAMED: Final = 100

_DEPTH: Final[Schema] = {
    **one_of(*Depth),
    "description": "How much: each one adds to the one before.",
}
_TABLES: Final = texts(
    "Only these tables, as `table` or `schema.table`.", _LONGEST_NAME, _MOST_NAMED
)
_RELATIONSHIPS: Final = flag("Whether relationships are told, too.", default=True)


async def _search_schema(desk: Desk, arguments: Arguments) -> Result:
    return await search_schema(
        desk,
        arguments.text("query"),
        limit=arguments.number("limit", USUAL_HITS),
        datasource=arguments.find_text("datasource"),
    )


async def _get_schema(desk: Desk, arguments: Arguments) -> Result:
    return await schema_of(
        desk,
        selected_only=arguments.flag("selected_only"),
        include_entities=arguments.flag("include_entities", default=True),
        datasource=arguments.find_text("datasource"),
    )


async def _get_context(desk: Desk, arguments: Arguments) -> Result:
    return await context_of(desk, _scope(arguments), datasource=arguments.find_text("datasource"))


async def _get_ontology(desk: Desk, arguments: Arguments) -> Result:
    return await ontology_of(desk, _scope(arguments), datasource=arguments.find_text("datasource"))


def _scope(arguments: Arguments) -> Scope:
    return Scope(
        depth=Depth(arguments.text("depth")),
        tables=arguments.texts("tables"),
        include_relationships=arguments.flag("include_relationships", default=True),
        extras=frozenset(map(Extra, arguments.texts("include"))),
    )


async def _get_entity(desk: Desk, arguments: Arguments) -> Result:
    return await entity_of(
        desk, arguments.text("name"), datasource=arguments.find_text("datasource")
    )


async def _get_glossary_sql(desk: Desk, arguments: Arguments) -> Result:
    return await glossary_sql_of(
        desk, arguments.text("term"), datasource=arguments.find_text("datasource")
    )


async def _list_glossary(desk: Desk, arguments: Arguments) -> Result:
    return await glossary_of(desk, datasource=arguments.find_text("datasource"))


READING_TOOLS: Final[Sequence[Tool[Desk]]] = (
    Tool(
        name="search_schema",
        title="Search the schema",
        description=(
            "Tables, columns, entities and terms that fit some words, best first, with a score and"
            " where they fit. Aliases, synonyms and descriptions count; other forms of a word do."
        ),
        takes=given(
            {
                "query": text("What to look for, such as `customer email`.", _LONGEST_QUERY),
                "limit": count("Most results.", USUAL_HITS, 1, MOST_HITS),
                "datasource": DATASOURCE,
            },
            ["query"],
        ),
        gives=HITS,
        hints=READS,
        run=_search_schema,
    ),
    Tool(
        name="get_schema",
        title="Get the schema",
        description=(
            "Tables and columns with their types and keys, and what they mean. Of a large schema a"
            " part is shown, and `next` says how to see the rest."
        ),
        takes=given(
            {
                "selected_only": flag("Only tables that are selected for use."),
                "include_entities": flag("Whether what they mean is told, too.", default=True),
                "datasource": DATASOURCE,
            }
        ),
        gives=SCHEMA,
        hints=READS,
        run=_get_schema,
    ),
    Tool(
        name="get_context",
        title="Get the context",
        description=(
            "What there is to know of the data, in one call: ontology, schema, facts and glossary,"
            " as deep as is asked for. Begin with depth `domain`."
        ),
        takes=given(
            {
                "depth": _DEPTH,
                "tables": _TABLES,
                "include_relationships": _RELATIONSHIPS,
                "include": {
                    "type": "array",
                    "items": one_of(*Extra),
                    "maxItems": len(Extra),
                    "description": (
                        f"With depth `columns`: what is seen of the first {MOST_PROBED} columns."
                        " Values are shown of columns with at most 50 different ones."
                    ),
                },
                "datasource": DATASOURCE,
            },
            ["depth"],
        ),
        gives=CONTEXT,
        hints=READS,
        run=_get_context,
    ),
    Tool(
        name="get_entity",
        title="Get an entity",
        description=(
            "An entity by its name or an alias: aliases, key columns, where it occurs, and how it"
            " stands to others."
        ),
        takes=given(
            {"name": text("Its name or an alias.", _LONGEST_NAME), "datasource": DATASOURCE},
            ["name"],
        ),
        gives=ENTITY_WHOLE,
        hints=READS,
        run=_get_entity,
    ),
    Tool(
        name="get_glossary_sql",
        title="Get a term's SQL",
        description="The SQL that a business term stands for, with its definition and columns.",
        takes=given(
            {"term": text("The term or an alias of it.", _LONGEST_NAME), "datasource": DATASOURCE},
            ["term"],
        ),
        gives=GLOSSARY_SQL,
        hints=READS,
        run=_get_glossary_sql,
    ),
    Tool(
        name="get_ontology",
        title="Get the ontology",
        description=(
            "What the data means, as deep as is asked for: domains, entities and relationships,"
            " tables and columns that are described."
        ),
        takes=given(
            {
                "depth": _DEPTH,
                "tables": _TABLES,
                "include_relationships": _RELATIONSHIPS,
                "datasource": DATASOURCE,
            },
            ["depth"],
        ),
        gives=ONTOLOGY,
        hints=READS,
        run=_get_ontology,
    ),
    Tool(
        name="list_glossary",
        title="List the glossary",
        description="Business terms with their definitions and aliases.",
        takes=given({"datasource": DATASOURCE}),
        gives=TERMS,
        hints=READS,
        run=_list_glossary,
    ),
)
