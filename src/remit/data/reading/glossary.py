"""The words of a business, and the SQL that they stand for (S2.10, 21 and 24)."""

from typing import Final

from remit.data.desk import Desk, Result
from remit.data.known import look_up
from remit.data.ontology.glossary import Enrichment
from remit.data.reading.shown import TERM, shown_term
from remit.servers.shapes import COUNT, FLAG, TEXT, TEXT_OR_NULL, list_of, one_of, record

MOST_TERMS: Final = 1000
"""Terms that one answer has."""

TERMS: Final = record(datasource=TEXT, terms=list_of(TERM), term_count=COUNT, truncated=FLAG)

GLOSSARY_SQL: Final = record(
    term=TEXT,
    definition=TEXT,
    aliases=list_of(TEXT),
    sql=TEXT_OR_NULL,
    base_table=TEXT_OR_NULL,
    output_columns=list_of(record(name=TEXT, type=TEXT, description=TEXT)),
    enrichment_status=one_of(*Enrichment),
)


async def list_glossary(desk: Desk, *, datasource: str | None = None) -> Result:
    """Return the terms, in alphabetical order.

    Raises:
        DataFailure: `no_datasource` or `service_unavailable`.
    """
    known = await look_up(desk, datasource)
    terms = list(known.knowledge.terms.values())
    return {
        "datasource": known.source.datasource.name,
        "terms": [shown_term(each) for each in terms[:MOST_TERMS]],
        "term_count": len(terms),
        "truncated": len(terms) > MOST_TERMS,
    }


async def get_glossary_sql(desk: Desk, term: str, *, datasource: str | None = None) -> Result:
    """Return what a term stands for, by its name or an alias; the SQL is null where none is stated.

    Raises:
        DataFailure: `term_not_found`, with the nearest ones.
    """
    known = await look_up(desk, datasource)
    found = known.knowledge.term(term)
    return {
        "term": found.term,
        "definition": found.definition,
        "aliases": list(found.aliases),
        "sql": found.sql or None,
        "base_table": found.base_table or None,
        "output_columns": [
            {"name": each.name, "type": each.type, "description": each.description}
            for each in found.output_columns
        ],
        "enrichment_status": found.enrichment.value,
    }
