"""Is this installation healthy, and what to do about each finding?

    servers, each really connected to ──▶ what they offer ──▶ the declaration, as `remit check`
    datasources, each connected to      ──▶ does it answer; could whoever reads do more than that
    database, journal, record          ──▶ is it there, current, quick; is anything left behind
    state folder, disk                 ──▶ who can read it; is there room
    file, store of limits              ──▶ is it what is in force; does it answer
    port                               ──▶ who listens there (only where nobody does yet)

Nothing is changed by looking.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio

from remit.admin.check import Report
from remit.admin.doctor_data import of_datasources
from remit.admin.doctor_places import fine, of_disk, of_state
from remit.model.counts import counted
from remit.model.health import (
    DatabaseHealth,
    DatasourceHealth,
    Examination,
    Finding,
    Grade,
    ServerHealth,
)
from remit.model.servers import ServerConfig, ServerTrial, Transport

LONGEST_TRIAL: Final = 45.0
"""Seconds for one server, whatever its `start_timeout` says."""

HEAVY_LIST: Final = 10_000
"""Tokens of a server's list that no model should carry through every request."""

BIG_CHILD: Final = 1024**3
"""Bytes of a child process that just started."""

CLOCKS_DIFFER: Final = 30.0
"""Seconds; tokens and grants end by the clock, with so much leeway (docs/callers.md)."""

SLOW_DATABASE: Final = 250.0
"""Milliseconds for one question."""

LARGE_BACKLOG: Final = 1024 * 1024
"""Bytes; a running gateway writes them to the database within a second."""

_LOOK_AT_ENTRY: Final = "correct its entry, or say `enabled: false`"

TryOut = Callable[[str], Awaitable[ServerTrial]]
"""Connects to a server beside what is connected, lists its tools, and leaves it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Premises:
    """What all tenants of an installation share.

    Attributes:
        state: The state folder.
        files: More files of remit's own that should be private, such as a database elsewhere.
        look_at_database: Looks at it without changing anything.
        looks: What else is looked at; None where there is nothing to say.
    """

    state: Path
    files: Sequence[Path]
    look_at_database: Callable[[], Awaitable[DatabaseHealth]]
    looks: Sequence[Callable[[], Awaitable[Finding | None]]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Patient:
    """What one tenant declares.

    Attributes:
        check: From what servers offer to what `remit check` says.
        look_at_data: Connects to its datasources, where it has a `data` server.
    """

    servers: Mapping[str, ServerConfig]
    try_out: TryOut
    check: Callable[[Mapping[str, frozenset[str]]], Report]
    look_at_data: Callable[[], Awaitable[Sequence[DatasourceHealth]]] | None = None


async def examine(patient: Patient, premises: Premises | None) -> Examination:
    """Look at the servers, all at once, and at everything else.

    Args:
        patient: The tenant.
        premises: None for somebody who has no business with them.
    """
    trials = await _trials(patient)
    servers = [_health(patient.servers[name], trial) for name, trial in trials.items()]
    offered = {
        name: frozenset(trial.tools)
        for name, trial in trials.items()
        if trial is not None and not trial.reason
    }
    findings = list(_of_report(patient.check(offered)))
    for health in servers:
        findings += _of_server(health, trials[health.name])
    if patient.look_at_data is not None:
        findings += of_datasources(await patient.look_at_data())
    if premises is not None:
        findings += _of_database(await premises.look_at_database())
        findings += of_state(premises.state, premises.files)
        findings += of_disk(premises.state)
        findings += [found for look in premises.looks if (found := await look()) is not None]
    return Examination(findings=tuple(findings), servers=tuple(servers))


async def _trials(patient: Patient) -> Mapping[str, ServerTrial | None]:
    """Return what came of trying each server; None for one that is not meant to run."""
    found: dict[str, ServerTrial | None] = dict.fromkeys(patient.servers)

    async def attempt(name: str) -> None:
        with anyio.move_on_after(LONGEST_TRIAL):
            found[name] = await patient.try_out(name)
            return
        found[name] = ServerTrial(reason=f"was not ready within {LONGEST_TRIAL:g} seconds")

    async with anyio.create_task_group() as tasks:
        for name, config in patient.servers.items():
            if config.enabled:
                tasks.start_soon(attempt, name)
    return found


def _health(config: ServerConfig, trial: ServerTrial | None) -> ServerHealth:
    trial = trial or ServerTrial(reason="disabled in the declaration")
    return ServerHealth(
        name=config.name,
        transport=config.transport.value,
        enabled=config.enabled,
        reason=trial.reason,
        protocol=trial.protocol,
        tools=len(trial.tools),
        tokens=trial.tokens,
        memory=trial.memory,
        skew=trial.skew,
        ms=trial.ms,
    )


def _of_report(report: Report) -> Iterator[Finding]:
    for grade, problems in ((Grade.ERROR, report.errors), (Grade.WARNING, report.warnings)):
        if problems:
            codes = Counter(problem.code for problem in problems)
            told = ", ".join(f"{count} {code}" for code, count in sorted(codes.items()))
            yield Finding(
                code=f"declaration-{grade.value}s",
                about="declaration",
                grade=grade,
                message=f"`remit check` has {len(problems)}: {told}",
                remedy="run `remit check --connect`, which says where, and what to do",
            )
    if not (report.errors or report.warnings):
        yield fine(
            "declaration", f"{counted(report.roles, 'role')}, {counted(report.grants, 'grant')}"
        )


def _of_server(health: ServerHealth, trial: ServerTrial | None) -> Iterator[Finding]:
    about = f"server {health.name}"
    if trial is None:
        yield fine(about, "switched off in the declaration")
        return
    if trial.reason:
        yield Finding(
            code="server-unreachable",
            about=about,
            grade=Grade.ERROR,
            message=trial.reason,
            remedy=_LOOK_AT_ENTRY
            if health.transport != Transport.STDIO.value
            else f"{_LOOK_AT_ENTRY}; its standard error says more",
        )
        return
    amiss = [*_amiss(health), *(("server-notes", note, _TELL) for note in trial.notes)]
    for code, message, remedy in amiss:
        yield Finding(code=code, about=about, grade=Grade.WARNING, message=message, remedy=remedy)
    if not amiss:
        yield fine(
            about, f"{counted(health.tools, 'tool')}, about {counted(health.tokens, 'token')}"
        )


_TELL: Final = "correct its entry, or tell whoever wrote the server"


def _amiss(health: ServerHealth) -> Iterator[tuple[str, str, str]]:
    """Give code, message and remedy of what is wrong with a server that answers."""
    if health.tools == 0:
        yield "server-empty", "it offers no tools", "give it what it needs, or take it out"
    if health.tokens > HEAVY_LIST:
        cost = counted(health.tokens, "token")
        yield (
            "server-heavy",
            f"its list costs about {cost} in every request that has all of it",
            "grant the tools that a role needs instead of all; `remit tools --as` shows each cost",
        )
    if health.memory is not None and health.memory > BIG_CHILD:
        yield (
            "server-memory",
            f"its process takes {health.memory // 1024**2} MiB right after its start",
            "lower `max_children`, or say `session: shared` if callers may share it",
        )
    if health.skew is not None and abs(health.skew) > CLOCKS_DIFFER:
        yield (
            "server-clock",
            f"its clock is {_ahead(health.skew)}",
            "set the clocks by NTP; tokens end too early or too late",
        )


def _of_database(health: DatabaseHealth) -> Iterator[Finding]:
    if health.is_new:
        yield fine("database", f"{health.name} is not there yet; the first start makes it")
    elif health.problem:
        newer = health.is_newer
        yield Finding(
            code="database-newer" if newer else "database-away",
            about="database",
            grade=Grade.ERROR,
            message=health.problem,
            remedy="upgrade remit" if newer else _way_back(health),
        )
        return
    else:
        yield from _of_open_database(health)
    yield from _of_backlog(health.backlog)


def _way_back(health: DatabaseHealth) -> str:
    """Say what to do about a database that cannot be used."""
    if health.is_damaged:
        way = "put a backup in its place, and keep the damaged file"
    elif health.is_read_only and not health.is_file:
        way = "let its user make, read and write remit's tables (GRANT)"
    elif health.is_read_only:
        way = "mount its storage so that it can be written"
    elif health.is_file:
        way = "let whoever runs remit read and write the file and its folder"
    else:
        way = "start it"
    return f"{way}, or correct REMIT_DATABASE_URL"


def _of_open_database(health: DatabaseHealth) -> Iterator[Finding]:
    amiss: list[tuple[str, str, str]] = []
    if not health.is_current:
        amiss.append(
            (
                "database-behind",
                "its tables are older than this remit",
                "make a copy, then start remit, which migrates them",
            )
        )
    if health.ms > SLOW_DATABASE:
        amiss.append(
            (
                "database-slow",
                f"a question takes {health.ms:.0f} ms",
                "put it nearer, or see what else keeps it busy",
            )
        )
    if health.skew is not None and abs(health.skew) > CLOCKS_DIFFER:
        amiss.append(
            ("database-clock", f"its clock is {_ahead(health.skew)}", "set the clocks by NTP")
        )
    for code, message, remedy in amiss:
        yield Finding(
            code=code, about="database", grade=Grade.WARNING, message=message, remedy=remedy
        )
    if not amiss:
        yield fine("database", f"{health.name} answers within {health.ms:.0f} ms")
    for tenant in health.broken_heads:
        yield Finding(
            code="record-broken",
            about=f"record of {tenant}",
            grade=Grade.ERROR,
            message="its last row is not the one that its chain ends with",
            remedy="run `remit audit verify`, which names the row; then ask who could write there",
        )
    if health.is_current and not health.broken_heads:
        yield fine("record", "ends where its chain does")


def _of_backlog(backlog: int) -> Iterator[Finding]:
    if backlog > LARGE_BACKLOG:
        yield Finding(
            code="journal-backlog",
            about="journal",
            grade=Grade.WARNING,
            message=f"{backlog} bytes of events are not in the database yet",
            remedy="start `remit serve`, which takes them in; if it runs, its log says what fails",
        )
    else:
        yield fine("journal", f"{backlog} bytes are not in the database yet")


def _ahead(skew: float) -> str:
    return f"{abs(skew):.0f} seconds {'ahead of' if skew > 0 else 'behind'} ours"
