"""Rows of the record as people and programs get them: the contract's shape, JSON Lines and CSV."""

import csv
import io
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from typing import Final, Literal, Protocol

from remit.model.decision_log import LoggedDecision
from remit.model.events import AuditEvent, AuditQuery
from remit.storage.chain import ChainReport
from remit.storage.cuts import SignedCut

PAGE: Final = 1000
"""Calls that an export reads at once."""

Row = Mapping[str, object]
Form = Literal["jsonl", "csv"]

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", *"\uff1d\uff0b\uff0d\uff20")
"""How a cell begins that a spreadsheet would run, also where the same signs are written wide.

Names and arguments are the callers' own.
"""


class Searchable(Protocol):
    """The record."""

    async def search(self, query: AuditQuery) -> Sequence[AuditEvent]:
        """Return one row a call, newest first."""
        ...


def audit_entry(event: AuditEvent) -> dict[str, object]:
    """Return the contract's shape of one row of `audit search --json`, and what stands beside."""
    return {
        "id": event.call_id,
        "time": event.time.astimezone(UTC).isoformat(timespec="milliseconds"),
        "tenant": event.tenant,
        "principal": event.principal,
        "role": event.role,
        "member": event.member,
        "server": event.server,
        "tool": event.tool,
        "decision": event.decision,
        "layer": event.layer,
        "rule": event.rule,
        "outcome": event.outcome,
        "code": event.code,
        "revision": event.revision,
        "ms": round(event.ms, 3),
        "arguments": event.arguments,
        "arguments_size": event.arguments_size,
        "result_size": event.result_size,
        "error": event.error,
        "agent": event.agent,
    }


def event_entry(event: AuditEvent) -> dict[str, object]:
    """Return the shape of one event of a call, which has its kind and its result beside."""
    return {**audit_entry(event), "kind": event.kind, "result": event.result}


def decision_entry(row: LoggedDecision) -> dict[str, object]:
    """Return the shape of one row of `audit decisions --json` (S3.22)."""
    return {
        "id": row.id,
        "agentId": row.agent,
        "decision": row.decision,
        "reasoning": row.reasoning,
        "context": row.context,
        "timestamp": row.time.astimezone(UTC).isoformat(timespec="milliseconds"),
    }


def report_entry(report: ChainReport) -> dict[str, object]:
    """Return the shape of `audit verify --json`."""
    broken = report.broken
    return {
        "ok": broken is None,
        "rows": report.rows,
        "hash": report.hash,
        "broken": None
        if broken is None
        else {
            "kind": broken.kind,
            "seq": broken.seq,
            "id": broken.id,
            "number": broken.link,
            "message": broken.message,
        },
        "markers": [_marker_entry(marker) for marker in report.cuts],
    }


def _marker_entry(marker: SignedCut) -> dict[str, object]:
    cut = marker.cut
    return {
        "number": cut.number,
        "time": cut.time.astimezone(UTC).isoformat(timespec="milliseconds"),
        "by": cut.author,
        "reason": cut.reason,
        "up_to": cut.link,
        "hash": cut.hash,
        "removed": cut.removed,
        "signed": marker.signed,
    }


async def exported(
    audit: Searchable, query: AuditQuery, form: Form, *, limit: int | None = None
) -> AsyncGenerator[tuple[int, str]]:
    """Give every call that matches, newest first, in pages: how many, and their text.

    There is one page at least, which may be empty.

    Raises:
        RemitError: What searching raises.
    """
    written = 0
    while limit is None or written < limit:
        most = PAGE if limit is None else min(PAGE, limit - written)
        page = await audit.search(replace(query, limit=most))
        rows = [audit_entry(event) for event in page]
        yield len(page), FORMS[form](rows, is_first=not written) if rows else ""
        written += len(page)
        if len(page) < most:
            return
        query = replace(query, before=page[-1].id)


class _Form(Protocol):
    def __call__(self, rows: Sequence[Row], /, *, is_first: bool) -> str: ...


def _json_lines(rows: Sequence[Row], *, is_first: bool) -> str:
    del is_first
    # ASCII: line separators that are no line ends to JSON would be to some readers
    return "".join(json.dumps(row, ensure_ascii=True) + "\n" for row in rows)


def _comma_separated(rows: Sequence[Row], *, is_first: bool) -> str:
    """Return rows as CSV, under a header if they are the first; a formula begins with `'`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    if is_first:
        writer.writerow(rows[0])
    writer.writerows([_cell(value) for value in row.values()] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    is_formula = isinstance(value, str) and value.startswith(_FORMULA)
    return f"'{value}" if is_formula else value


FORMS: Final[Mapping[Form, _Form]] = {"jsonl": _json_lines, "csv": _comma_separated}
