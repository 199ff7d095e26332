"""`remit audit`: what did they do?"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, TextIO

import anyio
import anyio.to_thread
import typer
from msgspec import to_builtins

from remit.admin.audit_rows import (
    Form,
    audit_entry,
    decision_entry,
    exported,
    report_entry,
)
from remit.app.installation import Installation, open_installation, record_seal
from remit.cli.changes import operator
from remit.cli.exporting import open_sink
from remit.cli.lines import print_json, say
from remit.cli.output import (
    EXIT_NO,
    EXIT_USAGE,
    ConfigFlag,
    JsonFlag,
    TenantFlag,
    fail,
    print_entries,
    run,
)
from remit.cli.remote import KeyFlag, Remote, UrlFlag, reach
from remit.cli.remote_values import event_of, report_of
from remit.client import audit as client_audit
from remit.client.operations import PAGE
from remit.model.calls import OutcomeKind
from remit.model.counts import counted
from remit.model.decision_log import LoggedDecision, usual_rows
from remit.model.events import AuditEvent, AuditQuery
from remit.model.retention import Cut, Retention
from remit.model.times import in_utc
from remit.settings import Settings
from remit.storage.audit import AuditLog, open_audit
from remit.storage.chain import ChainReport

Decided = Literal["allow", "deny"]

audit_app = typer.Typer(
    help="Search, follow, export, verify and prune the record of calls.", no_args_is_help=True
)

COLUMNS = ("time (UTC)", "principal", "tool", "decision", "outcome", "ms", "why")
"""Of the table; `--json` has all there is."""

LOGGED = ("timestamp", "agentId", "decision", "reasoning")
"""Likewise, of the decision log."""

_TIME = "From it on, as 2026-11-28T09:30; UTC unless it says otherwise."
FOLLOW_EVERY = 0.5
"""Seconds between looks of `audit tail --follow`."""

MOST_BETWEEN = 1000
"""Calls between two looks that are all shown."""


PrincipalFlag = Annotated[
    str | None, typer.Option("--principal", metavar="SUBJECT", help="The caller, as key:ci.")
]
ServerFlag = Annotated[
    str | None, typer.Option("--server", metavar="NAME", help="The server's name.")
]
ToolFlag = Annotated[
    str | None,
    typer.Option("--tool", metavar="NAME", help="The tool's, as git_commit or git/git_commit."),
]
DecisionFlag = Annotated[Decided | None, typer.Option("--decision", help="May it?")]
OutcomeFlag = Annotated[
    OutcomeKind | None, typer.Option("--outcome", help="How did it end? none: it never ran.")
]
CodeFlag = Annotated[str | None, typer.Option("--code", metavar="CODE", help="As INVALID_INPUT.")]
RoleFlag = Annotated[
    str | None, typer.Option("--role", metavar="NAME", help="A role that the caller had.")
]
SinceFlag = Annotated[datetime | None, typer.Option("--since", metavar="TIME", help=_TIME)]
UntilFlag = Annotated[
    datetime | None, typer.Option("--until", metavar="TIME", help="Before it; likewise.")
]
TextFlag = Annotated[
    str | None,
    typer.Option("--text", help="Part of id, tool, server, caller, member, arguments, error."),
]

ChangesFlag = Annotated[
    bool, typer.Option("--changes", help="Also what administrators changed, whatever is asked.")
]


@audit_app.command()
def search(
    *,
    principal: PrincipalFlag = None,
    server: ServerFlag = None,
    tool: ToolFlag = None,
    decision: DecisionFlag = None,
    outcome: OutcomeFlag = None,
    code: CodeFlag = None,
    role: RoleFlag = None,
    since: SinceFlag = None,
    until: UntilFlag = None,
    text: TextFlag = None,
    changes: ChangesFlag = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000, help="Rows.")] = 100,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show calls, newest first: one row each, refused ones too.

    What administrators changed is found by caller, server, tool or text, and with --changes.
    """
    query = AuditQuery(
        tenant="",
        principal=principal,
        server=server,
        tool=tool,
        decision=decision,
        outcome=None if outcome is None else outcome.value,
        code=code,
        role=role,
        since=_utc(since),
        until=_utc(until),
        text=text,
        changes=changes or any((principal, server, tool, text)),
        limit=limit,
    )
    if (remote := reach(url, key, tenant)) is not None:
        events = _found(remote, _filter(query), limit, changes=query.changes)
    else:
        events = run(lambda: _search(Settings.read(config, tenant=tenant), query))
    _print(events, as_json=as_json)


@audit_app.command()
def export(
    *,
    form: Annotated[
        Form, typer.Option("--format", help="One JSON object a line, or CSV.")
    ] = "jsonl",
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line, as without it.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Instead of printing.")
    ] = None,
    principal: PrincipalFlag = None,
    server: ServerFlag = None,
    tool: ToolFlag = None,
    decision: DecisionFlag = None,
    outcome: OutcomeFlag = None,
    code: CodeFlag = None,
    role: RoleFlag = None,
    since: SinceFlag = None,
    until: UntilFlag = None,
    text: TextFlag = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Rows; all of them unless given.")
    ] = None,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
) -> None:
    """Write every call that matches, newest first, however many there are."""
    if as_json and form != "jsonl":
        fail(f"--json and --format {form} do not go together", EXIT_USAGE)
    query = AuditQuery(
        tenant="",
        principal=principal,
        server=server,
        tool=tool,
        decision=decision,
        outcome=None if outcome is None else outcome.value,
        code=code,
        role=role,
        since=_utc(since),
        until=_utc(until),
        text=text,
    )
    settings = Settings.read(config, tenant=tenant)
    with open_sink(output) as sink:
        if (remote := reach(url, key, tenant)) is not None:
            written = _streamed(remote, query, limit, form, sink)
        else:
            written = run(lambda: _export(settings, query, limit, form, sink))
    if output is not None:
        say(f"{counted(written, 'call')} written to {output}", err=True)


@audit_app.command()
def decisions(
    *,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="ID", help="Of this agent alone.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, max=1000, help="Rows; 50 of one agent, else 100."),
    ] = None,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what agents did and decided, newest first: two rows a call, one a decision."""
    most = usual_rows(agent) if limit is None else limit
    if (remote := reach(url, key, tenant)) is not None:
        found: Sequence[Mapping[str, object]] = to_builtins(
            remote.all_items(client_audit.decisions(agent, limit=most))
        )
    else:
        rows = run(lambda: _decisions(Settings.read(config, tenant=tenant), agent, most))
        found = [decision_entry(row) for row in rows]
    print_entries(found, LOGGED, empty="no decisions", as_json=as_json)


@audit_app.command()
def verify(
    keys: Annotated[
        list[Path] | None,
        typer.Option(
            "--keys", metavar="FILE", help="Public keys of another installation; repeatable."
        ),
    ] = None,
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Say whether every row is as it was written, in its place, and none is gone.

    Rows that retention removed have a signed marker in their place. Exit status 1 if a row or a
    marker does not hold; it is named.
    """
    if (remote := reach(url, key, tenant)) is not None:
        report = report_of(remote.ask(client_audit.verify()))
    else:
        report = run(lambda: _verified(Settings.read(config, tenant=tenant), keys or ()))
    if as_json:
        print_json(report_entry(report))
    else:
        _print_report(report)
    if report.broken is not None:
        raise typer.Exit(EXIT_NO)


def _print_report(report: ChainReport) -> None:
    rows, broken = counted(report.rows, "row"), report.broken
    if broken is None:
        say(f"OK: {rows}, the last one's hash is {report.hash or '-'}")
    else:
        say(f"BROKEN: {broken.message}; {rows} before it hold")
    if report.cuts:
        say(_told(report.cuts[-1].cut))


@audit_app.command("prune")
def prune_record(
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Remove what `audit.retention_days` and `audit.retention_rows` let go, now.

    `remit serve` does so once an hour. A signed marker stays in the place of what is gone.
    """
    retention, cut = run(lambda: _pruned(Settings.read(config, tenant=tenant)))
    if as_json:
        print_json({"removed": 0 if cut is None else cut.removed})
    elif not retention.reason:
        say("nothing is removed: neither audit.retention_days nor audit.retention_rows is set")
    elif cut is None:
        say(f"nothing is beyond {retention.reason}")
    else:
        say(_told(cut))


def _told(cut: Cut) -> str:
    """Return what a marker says."""
    when = cut.time.astimezone(UTC).isoformat(sep=" ", timespec="seconds")
    return (
        f"marker {cut.number}: {counted(cut.removed, 'row')} up to number {cut.link} removed"
        f" {when} by {cut.author} ({cut.reason}), signed"
    )


@audit_app.command()
def tail(
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, max=10_000, help="How many.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the last calls and changes, oldest first."""
    settings = Settings.read(config, tenant=tenant)
    try:
        if (remote := reach(url, key, tenant)) is not None:
            search = partial(_asked, remote)
            run(lambda: _shown_tail(search, lines, follow=follow, as_json=as_json))
        else:
            run(lambda: _tail(settings, lines, follow=follow, as_json=as_json))
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


@asynccontextmanager
async def _open(
    settings: Settings, keys: Sequence[Path] = ()
) -> AsyncGenerator[tuple[AuditLog, str]]:
    """Give the record, and the name of the tenant that is meant."""
    async with (
        open_installation(settings, author="") as installation,
        _open_beside(installation, keys) as audit,
    ):
        yield audit, installation.tenant.name


def _open_beside(
    installation: Installation, keys: Sequence[Path] = ()
) -> AbstractAsyncContextManager[AuditLog]:
    settings = installation.settings
    return open_audit(
        installation.database,
        settings.state,
        durability="process",
        signer=record_seal(settings, keys),
    )


def _filter(query: AuditQuery) -> client_audit.Filter:
    return client_audit.Filter(
        principal=query.principal,
        server=query.server,
        tool=query.tool,
        decision=query.decision,
        outcome=query.outcome,
        code=query.code,
        role=query.role,
        since=query.since,
        until=query.until,
        text=query.text,
    )


def _found(
    remote: Remote, wanted: client_audit.Filter, most: int, *, changes: bool = True
) -> list[AuditEvent]:
    """Return the latest rows that a gateway has, newest first."""
    question = client_audit.search(wanted, changes=changes, limit=min(most, PAGE))
    return [event_of(one) for one in remote.all_items(question, most)]


def _streamed(
    remote: Remote, query: AuditQuery, limit: int | None, form: Form, sink: TextIO
) -> int:
    """Write what a gateway exports, as it comes; a quoted cell may have line ends in it."""
    lines = 0
    with remote.stream(client_audit.export(_filter(query), form=form, limit=limit)) as parts:
        for part in parts:
            sink.write(part)
            lines += part.count("\n")
    return lines if form == "jsonl" else max(lines - 1, 0)


async def _search(settings: Settings, query: AuditQuery) -> Sequence[AuditEvent]:
    async with _open(settings) as (audit, tenant):
        return await audit.search(replace(query, tenant=tenant))


async def _decisions(settings: Settings, agent: str | None, limit: int) -> Sequence[LoggedDecision]:
    async with _open(settings) as (audit, tenant):
        return await audit.decisions(tenant, agent=agent, limit=limit)


async def _export(
    settings: Settings, query: AuditQuery, limit: int | None, form: Form, sink: TextIO
) -> int:
    written = 0
    async with _open(settings) as (audit, tenant):
        query = replace(query, tenant=tenant)
        async for rows, text in exported(audit, query, form, limit=limit):
            sink.write(text)
            written += rows
    return written


async def _verified(settings: Settings, keys: Sequence[Path]) -> ChainReport:
    async with _open(settings, keys) as (audit, tenant):
        return await audit.verify(tenant)


async def _pruned(settings: Settings) -> tuple[Retention, Cut | None]:
    async with open_installation(settings, author="") as installation:
        retention = installation.policy.declaration.audit.retention
        async with _open_beside(installation) as audit:
            tenant, now = installation.tenant.name, datetime.now(UTC)
            return retention, await audit.prune(tenant, retention, author=operator(), now=now)


async def _tail(settings: Settings, lines: int, *, follow: bool, as_json: bool) -> None:
    async with _open(settings) as (audit, tenant):

        async def search(most: int) -> Sequence[AuditEvent]:
            return await audit.search(AuditQuery(tenant=tenant, limit=most))

        await _shown_tail(search, lines, follow=follow, as_json=as_json)


async def _asked(remote: Remote, most: int) -> Sequence[AuditEvent]:
    return await anyio.to_thread.run_sync(_found, remote, client_audit.ANY, most)


async def _shown_tail(
    search: Callable[[int], Awaitable[Sequence[AuditEvent]]],
    lines: int,
    *,
    follow: bool,
    as_json: bool,
) -> None:
    most = max(lines, MOST_BETWEEN) if follow else lines
    latest = await search(most)
    _print(latest[:lines][::-1], as_json=as_json)
    while follow:
        known = {event.call_id: event.outcome for event in latest}
        await anyio.sleep(FOLLOW_EVERY)
        latest = await search(most)
        fresh = [e for e in reversed(latest) if known.get(e.call_id) != e.outcome]
        if fresh:
            _print(fresh, as_json=as_json, titled=False)


def _print(events: Sequence[AuditEvent], *, as_json: bool, titled: bool = True) -> None:
    print_entries(
        [audit_entry(event) for event in events],
        COLUMNS,
        [_row(event) for event in events],
        empty="no calls match",
        as_json=as_json,
        titled=titled,
    )


def _row(event: AuditEvent) -> dict[str, object]:
    """Return what people look for first."""
    is_refused = event.decision == "deny"
    failure = ": ".join(filter(None, ("" if is_refused else event.code, event.error)))
    return {
        "time (UTC)": event.time.astimezone(UTC).strftime("%m-%d %H:%M:%S"),
        "principal": event.principal,
        "tool": f"{event.server}/{event.tool}" if event.server else event.tool,
        "decision": event.decision,
        "outcome": event.outcome,
        "ms": f"{event.ms:.1f}",
        "why": "; ".join(filter(None, (event.rule, failure))),
    }


def _utc(moment: datetime | None) -> datetime | None:
    """Return *moment* in UTC; leave with status 2 where that has no such time."""
    if moment is None:
        return None
    try:
        return in_utc(moment)
    except OverflowError:
        fail(f"{moment.isoformat()} is beyond the calendar in UTC", EXIT_USAGE)
