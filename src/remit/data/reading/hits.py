"""A search of the schema, as tools and API answer it (S2.10, 17)."""

from typing import Final

from anyio import to_thread

from remit.data.desk import Desk, Result
from remit.data.known import look_up
from remit.data.reading.search import MOST_HITS, USUAL_HITS, Hit, search
from remit.servers.shapes import COUNT, FLAG, NUMBER, TEXT, list_of, one_of, record

_LONGEST_SHOWN: Final = 300

HITS: Final = record(
    datasource=TEXT,
    results=list_of(
        record(
            ("table", "column"),
            kind=one_of("table", "column", "entity", "term"),
            name=TEXT,
            table=TEXT,
            column=TEXT,
            description=TEXT,
            score=NUMBER,
            matches=list_of(record(field=TEXT, fit=TEXT)),
        )
    ),
    total=COUNT,
    truncated=FLAG,
)


async def search_schema(
    desk: Desk, query: str, *, limit: int = USUAL_HITS, datasource: str | None = None
) -> Result:
    """Return what fits some words best, best first.

    Raises:
        DataFailure: `no_datasource` or `service_unavailable`.
    """
    known = await look_up(desk, datasource)
    # a large schema takes a while, in which others go on
    hits = await to_thread.run_sync(search, known.knowledge, query)
    first = hits[: min(limit, MOST_HITS)]
    return {
        "datasource": known.source.datasource.name,
        "results": [_shown(hit) for hit in first],
        "total": len(hits),
        "truncated": len(first) < len(hits),
    }


def _shown(hit: Hit) -> Result:
    found = hit.found
    shown: Result = {
        "kind": found.kind,
        "name": found.name,
        "description": found.description[:_LONGEST_SHOWN],
        "score": hit.score,
        "matches": [{"field": name, "fit": fit} for name, fit in hit.matches],
    }
    if found.table:
        shown["table"] = found.table
    if found.column:
        shown["column"] = found.column
    return shown
