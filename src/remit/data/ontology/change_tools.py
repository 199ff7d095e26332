"""Tools that look at a datasource anew, and decide on what differs (S2.10, 44 to 49)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from remit.data.desk import Desk, Result
from remit.data.ontology.deciding import (
    MOST_AT_ONCE,
    approve_all_changes,
    approve_change,
    list_changes,
    reject_change,
)
from remit.data.ontology.refreshing import refresh_schema
from remit.data.ontology.scanning import scan_data_changes
from remit.data.ontology.shown import CHANGE, shown_change
from remit.data.ontology.takes import DATASOURCE, MOVES, READS
from remit.data.ontology.writing import LONGEST_NAME
from remit.model.ontology import ChangeStatus, ChangeType, ItemKind, PendingChange
from remit.servers.arguments import Arguments
from remit.servers.shapes import (
    COUNT,
    FLAG,
    TEXT,
    Schema,
    choice,
    count,
    flag,
    given,
    list_of,
    record,
    text,
)
from remit.servers.toolbox import Tool

_USUAL_LIMIT: Final = 50
_MOST_SHOWN: Final = 100
_COUNTS: Final[Schema] = {"type": "object", "additionalProperties": COUNT}
_CHANGE_ID: Final = text("As list_pending_changes names it.", LONGEST_NAME)


async def _refresh(desk: Desk, arguments: Arguments) -> Result:
    refreshed = await refresh_schema(
        desk,
        arguments.find_text("datasource"),
        auto_select=arguments.flag("auto_select", default=True),
    )
    tables = refreshed.schema.tables
    return {
        "tables": len(tables),
        "selected": sum(table.is_selected for table in tables),
        **_shown_changes(refreshed.changes),
        "void": len(refreshed.void),
        "inferred": {kind.value: refreshed.inferred.get(kind, 0) for kind in _INFERRED},
        "failed_terms": list(refreshed.failed_terms),
    }


_INFERRED: Final = (ItemKind.ENTITY, ItemKind.COLUMN, ItemKind.RELATIONSHIP, ItemKind.QUESTION)


def _shown_changes(changes: Sequence[PendingChange]) -> Mapping[str, object]:
    counted = Counter(change.type for change in changes)
    pending = sum(change.status is ChangeStatus.PENDING for change in changes)
    return {
        "counts": {kind.value: counted[kind] for kind in ChangeType if counted[kind]},
        "pending": pending,
        "changes": [shown_change(each) for each in changes[:_MOST_SHOWN]],
        "truncated": len(changes) > _MOST_SHOWN,
    }


_CHANGES: Final[dict[str, Schema]] = {
    "counts": _COUNTS,
    "pending": COUNT,
    "changes": list_of(CHANGE),
    "truncated": FLAG,
}


async def _scan(desk: Desk, arguments: Arguments) -> Result:
    named = [name.strip() for name in arguments.text("tables").split(",")]
    scanned = await scan_data_changes(
        desk, arguments.find_text("datasource"), [name for name in named if name]
    )
    return {
        "tables": list(scanned.tables),
        **_shown_changes(scanned.changes),
        "skipped": [{"name": name, "reason": why} for name, why in scanned.skipped.items()],
    }


async def _list(desk: Desk, arguments: Arguments) -> Result:
    changes, more = await list_changes(
        desk,
        arguments.find_text("datasource"),
        status=ChangeStatus(arguments.text("status", ChangeStatus.PENDING)),
        limit=arguments.number("limit", _USUAL_LIMIT),
    )
    return {"changes": [shown_change(each) for each in changes], "has_more": more}


async def _approve(desk: Desk, arguments: Arguments) -> Result:
    change_id, where = arguments.text("change_id"), arguments.find_text("datasource")
    return shown_change(await approve_change(desk, change_id, where))


async def _reject(desk: Desk, arguments: Arguments) -> Result:
    change_id, where = arguments.text("change_id"), arguments.find_text("datasource")
    return shown_change(await reject_change(desk, change_id, where))


async def _approve_all(desk: Desk, arguments: Arguments) -> Result:
    decided = await approve_all_changes(desk, arguments.find_text("datasource"))
    return {
        "applied": [each.id for each in decided.applied],
        "skipped": [
            {"change_id": each.change.id, "code": each.code, "reason": each.message}
            for each in decided.skipped
        ],
        "has_more": decided.more,
    }


CHANGE_TOOLS: Final = (
    Tool(
        name="refresh_schema",
        title="Read the schema again",
        description="Read again which tables and columns a datasource has. What differs is listed,"
        " and what new tables are is inferred from names and keys.",
        takes=given(
            {
                "auto_select": flag(
                    "Whether new tables may be used at once; they wait for approval otherwise.",
                    default=True,
                ),
                "datasource": DATASOURCE,
            }
        ),
        gives=record(
            tables=COUNT,
            selected=COUNT,
            **_CHANGES,
            void=COUNT,
            inferred=_COUNTS,
            failed_terms=list_of(TEXT),
        ),
        hints=MOVES,
        run=_refresh,
    ),
    Tool(
        name="scan_data_changes",
        title="Look for changes in the data",
        description="Look at a sample of the data for new values of columns of few values, and for"
        " columns that are likely keys of other tables. What is found waits for a decision.",
        takes=given(
            {
                "tables": text("Only these, with commas between them.", 10_000),
                "datasource": DATASOURCE,
            }
        ),
        gives=record(
            tables=list_of(TEXT),
            **_CHANGES,
            skipped=list_of(record(name=TEXT, reason=TEXT)),
        ),
        hints=MOVES,
        run=_scan,
    ),
    Tool(
        name="list_pending_changes",
        title="List changes",
        description="List what differs from what is known of the data and waits for a decision,"
        " oldest first, or what was decided.",
        takes=given(
            {
                "status": choice("Where they stand.", *ChangeStatus),
                "limit": count("Most changes of the answer.", _USUAL_LIMIT, 1, MOST_AT_ONCE),
                "datasource": DATASOURCE,
            }
        ),
        gives=record(changes=list_of(CHANGE), has_more=FLAG),
        hints=READS,
        run=_list,
    ),
    Tool(
        name="approve_change",
        title="Approve a change",
        description="Apply a change that waits for a decision, unless somebody of a higher source"
        " has said otherwise.",
        takes=given({"change_id": _CHANGE_ID, "datasource": DATASOURCE}, ("change_id",)),
        gives=CHANGE,
        hints=MOVES,
        run=_approve,
    ),
    Tool(
        name="reject_change",
        title="Reject a change",
        description="Drop a change that waits for a decision. It is not proposed again.",
        takes=given({"change_id": _CHANGE_ID, "datasource": DATASOURCE}, ("change_id",)),
        gives=CHANGE,
        hints=MOVES,
        run=_reject,
    ),
    Tool(
        name="approve_all_changes",
        title="Approve all changes",
        description="Apply every change that waits for a decision and may be applied; the others"
        " are listed, each with the reason.",
        takes=given({"datasource": DATASOURCE}),
        gives=record(
            applied=list_of(TEXT),
            skipped=list_of(record(change_id=TEXT, code=TEXT, reason=TEXT)),
            has_more=FLAG,
        ),
        hints=MOVES,
        run=_approve_all,
    ),
)
