"""`remit doctor`: is this installation healthy, and what to do about each finding?"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Any, Final

import httpx2
import typer
from msgspec import to_builtins

from remit.admin.check import Report
from remit.admin.declaration import Loaded
from remit.admin.doctor import Patient, examine
from remit.admin.known_servers import unclaimed_package
from remit.app.bundled import builtins_in
from remit.app.checkup import checked, data_without_gateway, has_data_server, premises_of
from remit.cli.check import loaded_of
from remit.cli.lines import print_json, say
from remit.cli.output import (
    EXIT_NO,
    EXIT_UNREACHABLE,
    ConfigFlag,
    JsonFlag,
    TenantFlag,
    print_table,
    run,
    waiting,
)
from remit.cli.remote import KeyFlag, UrlFlag, reach
from remit.cli.serving import bind
from remit.client import doctor as client_doctor
from remit.errors import DeclarationError, StartupError
from remit.model.counts import counted
from remit.model.declaration import Declaration
from remit.model.health import Examination, Finding, Grade
from remit.settings import DEFAULT_HOST, DEFAULT_PORT, Settings
from remit.upstreams.fleet import open_fleet

AWAY: Final = "database-away"

_COLUMNS: Final = ("server", "speaks", "tools", "tokens", "memory", "clock", "ms")
_PATIENCE: Final = 2.0
"""Seconds for whoever listens on the port."""


def doctor(
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    port: Annotated[
        int, typer.Option("--port", min=1, max=65535, help="Where the gateway listens, or would.")
    ] = DEFAULT_PORT,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Look at servers, declaration, database, record, files and port: what to do?

    Each server is started or connected to, and left again; nothing is changed. Exit status 1 when
    something is wrong, 3 when the database cannot be used, 0 with warnings alone.
    """
    if (remote := reach(url, key, tenant)) is not None:
        with waiting("examining"):
            found: dict[str, Any] = to_builtins(remote.ask(client_doctor.examine()))
    else:
        found = shown(_examined(Settings.read(config, tenant=tenant), port))
    if as_json:
        print_json(found)
    else:
        _print(found)
    wrong = {one["code"] for one in found["findings"] if one["grade"] == Grade.ERROR}
    if wrong:
        raise typer.Exit(EXIT_UNREACHABLE if AWAY in wrong else EXIT_NO)


def shown(found: Examination) -> dict[str, Any]:
    """Return an examination as JSON has it."""
    return {
        "healthy": found.is_healthy,
        "findings": [asdict(finding) for finding in found.findings],
        "servers": [asdict(server) for server in found.servers],
    }


def _examined(settings: Settings, port: int) -> Examination:
    """Examine what the settings name; a declaration that is wrong is a finding like any other."""
    try:
        loaded = loaded_of(settings)
        report = None
    except DeclarationError as error:
        loaded, report = Loaded(declaration=Declaration()), Report(errors=error.problems)
    return run(lambda: _examine(settings, loaded, report, port))


async def _examine(
    settings: Settings, loaded: Loaded, report: Report | None, port: int
) -> Examination:
    declared = loaded.declaration.servers
    # switched off, so that each is started once only, to be tried
    at_rest = {name: replace(config, enabled=False) for name, config in declared.items()}
    premises = premises_of(settings)
    premises = replace(premises, looks=(*premises.looks, partial(_of_port, port)))

    def check(offered: Mapping[str, frozenset[str]]) -> Report:
        return checked(settings, loaded, offered) if report is None else report

    with waiting("examining"):
        async with open_fleet(
            at_rest,
            builtins=builtins_in(settings.config.absolute().parent),
            environ=os.environ,
            unclaimed=unclaimed_package,
        ) as fleet:
            has_data = has_data_server(loaded.declaration)
            patient = Patient(
                servers=declared,
                try_out=fleet.try_out,
                check=check,
                look_at_data=partial(data_without_gateway, settings) if has_data else None,
            )
            return await examine(patient, premises)


async def _of_port(port: int) -> Finding:
    """Say who listens where the gateway does, or would."""
    about = f"port {port}"
    try:
        bind(DEFAULT_HOST, port).close()
    except StartupError as error:
        problem = str(error)
    else:
        return Finding(code="ok", about=about, grade=Grade.OK, message="nobody listens there")
    answer = ""
    with suppress(httpx2.HTTPError):
        async with httpx2.AsyncClient(timeout=_PATIENCE) as http:
            answer = (await http.get(f"http://{DEFAULT_HOST}:{port}/healthz")).text
    if answer == "ok":
        return Finding(code="ok", about=about, grade=Grade.OK, message="a gateway answers there")
    return Finding(
        code="port-taken",
        about=about,
        grade=Grade.WARNING,
        message=problem,
        remedy="choose another with `remit serve --port`, or end what listens there",
    )


def _print(found: Mapping[str, Any]) -> None:
    print_table(_COLUMNS, [_row(server) for server in found["servers"]], empty="no servers")
    say("")
    findings: Sequence[Mapping[str, str]] = found["findings"]
    for finding in findings:
        code = "" if finding["grade"] == Grade.OK else f" [{finding['code']}]"
        say(f"{finding['grade']}: {finding['about']}: {finding['message']}{code}")
        if finding["remedy"]:
            say(f"    → {finding['remedy']}")
    errors = sum(finding["grade"] == Grade.ERROR for finding in findings)
    warnings = sum(finding["grade"] == Grade.WARNING for finding in findings)
    say("")
    say(f"{counted(errors, 'error')}, {counted(warnings, 'warning')}")


def _row(server: Mapping[str, Any]) -> list[str]:
    memory, skew = server["memory"], server["skew"]
    if server["reason"]:
        return [server["name"], "-", "-", "-", "-", "-", "-"]
    return [
        server["name"],
        server["protocol"] or "-",
        str(server["tools"]),
        str(server["tokens"]),
        "-" if memory is None else f"{memory / 1024**2:.0f} MiB",
        "-" if skew is None else f"{skew:+.0f} s",
        f"{server['ms']:.0f}",
    ]
