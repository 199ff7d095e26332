"""`remit explain` and `remit who-can`: who can call what, and why."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Final

import typer

from remit.admin.authority import Answer, Authority, WhoCan
from remit.admin.known_servers import offered_by
from remit.app.allowances import open_shared_count
from remit.app.installation import Installation, open_installation
from remit.app.subjects import subjects_of
from remit.calls.directory import declared_tools
from remit.calls.validate import examine
from remit.cli.file_note import note_file
from remit.cli.lines import print_json, say
from remit.cli.output import EXIT_NO, ConfigFlag, JsonFlag, TenantFlag, print_table, run
from remit.cli.remote import KeyFlag, UrlFlag, reach
from remit.cli.remote_values import answer_of, who_of
from remit.cli.subjects import SubjectFlag, ToolArgument, check_arguments, find_any_subject
from remit.client import authority
from remit.errors import StorageUnavailable
from remit.model.calls import Examined
from remit.model.tools import ToolId
from remit.settings import Settings
from remit.upstreams.names import Names

NEVER_OFFERED: Final = "note: no server has offered this tool so far"


def explain(
    subject: SubjectFlag,
    tool: ToolArgument,
    *,
    arguments: Annotated[
        str | None,
        typer.Option("--args", metavar="JSON", help="Say as well whether these, an object, fit."),
    ] = None,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Say whether a caller may call a tool, and what every layer says.

    Exit status 1 for no, whatever its arguments. Nothing is called and no server is started.
    """
    if arguments is not None:
        check_arguments(arguments)
    if (remote := reach(url, key, tenant)) is not None:
        answer = answer_of(remote.ask(authority.explain(subject, tool, arguments=arguments)))
    else:
        settings = Settings.read(config, tenant=tenant)
        answer = run(lambda: _explained(settings, subject, tool, arguments))
    if as_json:
        print_json(answer.to_json())
    else:
        _print_answer(subject, tool, answer)
        if arguments is not None:
            say(_of_arguments(answer.arguments))
    if not answer.explanation.decision.allowed:
        raise typer.Exit(EXIT_NO)


def who_can(
    tool: ToolArgument,
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show every role, key, agent, user role and agent type that can call a tool.

    Exit status 1 if nobody can. No server is started.
    """
    if (remote := reach(url, key, tenant)) is not None:
        found = who_of(remote.ask(authority.who_can(tool)))
    else:
        found = run(lambda: _found(Settings.read(config, tenant=tenant), tool))
    if as_json:
        print_json(found.to_json())
    else:
        print_table(("kind", "name"), found.rows(), empty=f"nobody can call {tool}")
        if not found.available:
            say(NEVER_OFFERED, err=True)
    if not found.rows():
        raise typer.Exit(EXIT_NO)


async def _explained(settings: Settings, subject: str, tool: str, arguments: str | None) -> Answer:
    async with open_installation(settings, author="", may_begin=True) as installation:
        await note_file(installation, installation.file)
        found = await find_any_subject(installation, subject)
        known = await open_authority(installation)
        answer = known.explain(found.principal, tool, barred=found.barred)
        return replace(
            answer,
            used=await _used(installation, answer),
            arguments=await _examined(installation, answer.tool, arguments),
        )


async def _used(installation: Installation, answer: Answer) -> Sequence[int] | None:
    """Return how many calls count against each limit; None where that is not to be seen here."""
    if not answer.limits:
        return ()
    with suppress(StorageUnavailable):
        async with open_shared_count(installation) as store:
            return None if store is None else await store.used(answer.limits)
    return None


async def _examined(
    installation: Installation, tool: ToolId | None, arguments: str | None
) -> Examined | None:
    """Check arguments by the schema that was last seen; None where none was."""
    if arguments is None:
        return None
    for seen in await installation.seen.all_tools(installation.tenant.name):
        if seen.id == tool:
            return examine(seen, arguments.encode())
    return None


async def _found(settings: Settings, tool: str) -> WhoCan:
    async with open_installation(settings, author="", may_begin=True) as installation:
        await note_file(installation, installation.file)
        return (await open_authority(installation)).who_can(
            tool,
            await subjects_of(installation).all_stored(),
            await installation.users.all_disabled(installation.tenant.name),
        )


async def open_authority(installation: Installation) -> Authority:
    """Return an authority that knows what was declared, bundled or ever seen; starts no server."""
    declaration = installation.policy.declaration
    seen = frozenset(
        tool.id for tool in await installation.seen.all_tools(installation.tenant.name)
    )
    published = {
        name: offered_by(config) or frozenset[str]() for name, config in declaration.servers.items()
    }
    known = {ToolId(server, tool) for server, names in published.items() for tool in names}
    bundled = {tool for tool in known if declaration.servers[tool.server].builtin}
    return Authority(
        installation.policy.snapshot,
        Names.build(seen | known | declared_tools(declaration)),
        seen | bundled,
    )


def _print_answer(subject: str, tool: str, answer: Answer) -> None:
    decision = answer.explanation.decision
    word = "may" if decision.allowed else "may not"
    say(f"{subject} {word} call {answer.tool or tool}: {decision.reason}")
    rows = [
        (verdict.layer.value, verdict.verdict.value, verdict.rule or "-", verdict.reason)
        for verdict in answer.explanation.layers
    ]
    if rows:
        print_table(("layer", "verdict", "rule", "reason"), rows, empty="")
    say(
        f"decided by {decision.layer.value}, rule {decision.rule or 'none'},"
        f" revision {decision.revision}"
    )
    for limit, used in answer.counted():
        now = "" if used is None else f": {used} used now"
        say(f"limited to {limit.rate} ({limit.rule}){now}")
    if not answer.available:
        say(NEVER_OFFERED)


def _of_arguments(found: Examined | None) -> str:
    if found is None:
        return "the arguments are not checked: no server has offered this tool so far"
    if found.problem:
        return f"the arguments do not fit: {found.problem}"
    return "the arguments fit" if found.checked else "the arguments fit: the tool has no schema"
