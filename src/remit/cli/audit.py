"""`remit audit`: what did they do?"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Annotated

import anyio
import typer

from remit.app import open_installation
from remit.cli.output import ConfigFlag, JsonFlag, as_rows, print_json, print_table, run
from remit.model.events import AuditEvent, AuditQuery
from remit.model.principals import DEFAULT_TENANT
from remit.settings import Settings
from remit.storage.audit import AuditLog, open_audit

audit_app = typer.Typer(help="Search the record of calls.", no_args_is_help=True)

COLUMNS = (
    "time",
    "principal",
    "server",
    "tool",
    "decision",
    "outcome",
    "code",
    "rule",
    "revision",
    "ms",
)
FOLLOW_EVERY = 0.5
"""Seconds between looks of `audit tail --follow`."""


@audit_app.command()
def search(
    *,
    principal: Annotated[str | None, typer.Option("--principal")] = None,
    server: Annotated[str | None, typer.Option("--server")] = None,
    tool: Annotated[str | None, typer.Option("--tool")] = None,
    decision: Annotated[str | None, typer.Option("--decision", help="allow or deny")] = None,
    outcome: Annotated[
        str | None, typer.Option("--outcome", help="ok, tool_error, error, unknown or none")
    ] = None,
    code: Annotated[str | None, typer.Option("--code")] = None,
    role: Annotated[str | None, typer.Option("--role")] = None,
    since: Annotated[datetime | None, typer.Option("--since", help="UTC")] = None,
    until: Annotated[datetime | None, typer.Option("--until", help="UTC")] = None,
    text: Annotated[str | None, typer.Option("--text", help="Anywhere in the row.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000)] = 100,
    config: ConfigFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show calls, newest first: one row each, refused ones too."""
    query = AuditQuery(
        tenant=DEFAULT_TENANT,
        principal=principal,
        server=server,
        tool=tool,
        decision=decision,
        outcome=outcome,
        code=code,
        role=role,
        since=_utc(since),
        until=_utc(until),
        text=text,
        limit=limit,
    )
    events = run(lambda: _search(Settings.read(config), query))
    _print(events, as_json=as_json)


@audit_app.command()
def tail(
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, max=10_000)] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
    config: ConfigFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the last calls, oldest first."""
    settings = Settings.read(config)
    try:
        run(lambda: _tail(settings, lines, follow=follow, as_json=as_json))
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


@asynccontextmanager
async def _open(settings: Settings) -> AsyncGenerator[AuditLog]:
    async with (
        open_installation(settings, author="") as installation,
        open_audit(installation.database, settings.state, durability="process") as audit,
    ):
        yield audit


async def _search(settings: Settings, query: AuditQuery) -> Sequence[AuditEvent]:
    async with _open(settings) as audit:
        return await audit.search(query)


async def _tail(settings: Settings, lines: int, *, follow: bool, as_json: bool) -> None:
    async with _open(settings) as audit:
        query = AuditQuery(tenant=DEFAULT_TENANT, limit=lines)
        shown = list(reversed(await audit.search(query)))
        _print(shown, as_json=as_json)
        known = {event.call_id: event.outcome for event in shown}
        while follow:
            await anyio.sleep(FOLLOW_EVERY)
            latest = reversed(await audit.search(query))
            fresh = [event for event in latest if known.get(event.call_id) != event.outcome]
            known.update({event.call_id: event.outcome for event in fresh})
            if fresh:
                _print(fresh, as_json=as_json)


def _print(events: Sequence[AuditEvent], *, as_json: bool) -> None:
    entries = [audit_entry(event) for event in events]
    if as_json:
        print_json(entries)
    else:
        print_table(COLUMNS, as_rows(entries, COLUMNS), empty="no calls match")


def audit_entry(event: AuditEvent) -> dict[str, object]:
    """Return the contract's shape of one row of `audit search --json`, and what stands beside."""
    return {
        "id": event.call_id,
        "time": event.time.astimezone(UTC).isoformat(timespec="milliseconds"),
        "tenant": event.tenant,
        "principal": event.principal,
        "role": event.role,
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
    }


def _utc(moment: datetime | None) -> datetime | None:
    if moment is None or moment.tzinfo is not None:
        return moment
    return moment.replace(tzinfo=UTC)
