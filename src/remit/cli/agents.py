"""`remit agents`: the supervised workers that keys can be bound to."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from remit.admin.agents import check_agent, get_agent, notes_on, register
from remit.app.installation import Installation, open_installation
from remit.calls.ids import new_id
from remit.cli.changes import making
from remit.cli.lines import print_json, say
from remit.cli.output import ConfigFlag, JsonFlag, TenantFlag, print_entries, run
from remit.cli.remote import KeyFlag, UrlFlag, reach
from remit.cli.remote_values import agent_of
from remit.client import agents
from remit.identity.clock import utc_now
from remit.model.agents import Agent
from remit.settings import Settings

agents_app = typer.Typer(help="Register, change and list agents.", no_args_is_help=True)

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The id the agent is known by.")]

EpicFlag = Annotated[
    str | None, typer.Option("--epic", metavar="EPIC", help="The epic that it works on.")
]

SessionFlag = Annotated[
    str | None,
    typer.Option("--tmux-session", metavar="NAME", help="The tmux session that it runs in."),
]


@agents_app.command()
def create(
    agent_id: IdArgument,
    *,
    type_name: Annotated[
        str,
        typer.Option("--type", metavar="TYPE", help="SUPERVISOR, ORCHESTRATOR or WORKER."),
    ],
    role: Annotated[
        str | None,
        typer.Option("--role", metavar="ROLE", help="The squad role that it also acts in."),
    ] = None,
    epic: EpicFlag = None,
    tmux_session: SessionFlag = None,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Register an agent; `remit keys create NAME --agent ID` then gives it a key."""
    if (remote := reach(url, key, tenant)) is not None:
        wanted = agents.create(
            agent_id, type=type_name, role=role, epic=epic, tmux_session=tmux_session
        )
        shown = remote.ask(wanted)
        agent, notes = agent_of(shown), shown.notes
    else:
        asked = {"role": role, "epic": epic, "tmux_session": tmux_session}
        agent, notes = run(
            lambda: _create(Settings.read(config, tenant=tenant), agent_id, type_name, asked)
        )
    _show(agent, "is registered", as_json, notes)


@agents_app.command()
def change(
    agent_id: IdArgument,
    *,
    type_name: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Its new type.")
    ] = None,
    role: Annotated[
        str | None, typer.Option("--role", metavar="ROLE", help="Its new role; '' for none.")
    ] = None,
    epic: EpicFlag = None,
    tmux_session: SessionFlag = None,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Change an agent; its keys follow within 2 seconds. What is not given stays."""
    said = {"type": type_name, "role": role, "epic": epic, "tmux_session": tmux_session}
    given = {name: value for name, value in said.items() if value is not None}
    if (remote := reach(url, key, tenant)) is not None:
        patch = {name: value or None for name, value in given.items()}
        shown = remote.ask(agents.change(agent_id, patch, if_match="*"))
        agent, notes = agent_of(shown), shown.notes
    else:
        agent, notes = run(lambda: _change(Settings.read(config, tenant=tenant), agent_id, given))
    _show(agent, "is changed", as_json, notes)


@agents_app.command()
def crashed(
    agent_id: IdArgument,
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Say that a worker's program has ended: what it worked on is PENDING, for another one."""
    task = run(lambda: _crashed(Settings.read(config, tenant=tenant), agent_id))
    if as_json:
        print_json({"id": agent_id, "task": task or None})
    else:
        say(f"task {task!r} is taken back" if task else f"agent {agent_id!r} was at no work")


@agents_app.command("list")
def list_agents(
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show every agent."""
    if (remote := reach(url, key, tenant)) is not None:
        found = [agent_of(one) for one in remote.all_items(agents.list_all())]
    else:
        found = run(lambda: _all(Settings.read(config, tenant=tenant)))
    entries = [_entry(agent) for agent in found]
    print_entries(
        entries,
        ("id", "type", "role", "epic", "created"),
        empty="no agents: make one with `remit agents create`",
        as_json=as_json,
    )


async def _create(
    settings: Settings, agent_id: str, type_name: str, asked: Mapping[str, str | None]
) -> tuple[Agent, Sequence[str]]:
    async with (
        open_installation(settings, author="", may_begin=True) as installation,
        making(installation, "agents.create", {"id": agent_id, "type": type_name, **asked}),
    ):
        agent = check_agent(
            agent_id,
            tenant=installation.tenant.name,
            type_name=type_name,
            now=utc_now(),
            role=asked.get("role") or "",
            epic=asked.get("epic") or "",
            tmux_session=asked.get("tmux_session") or "",
            roles=installation.policy.declaration.roles,
        )
        await register(installation.agents, agent)
        return agent, await _notes(installation, agent)


async def _change(
    settings: Settings, agent_id: str, given: Mapping[str, str]
) -> tuple[Agent, Sequence[str]]:
    asked = {name: value or None for name, value in given.items()}
    async with (
        open_installation(settings, author="") as installation,
        making(installation, "agents.change", {"id": agent_id, **asked}),
    ):
        old = await get_agent(installation.agents, installation.tenant.name, agent_id)
        agent = check_agent(
            agent_id,
            tenant=installation.tenant.name,
            type_name=given.get("type", old.type.value),
            now=old.created,
            role=given.get("role", old.role),
            epic=given.get("epic", old.epic),
            tmux_session=given.get("tmux_session", old.tmux_session),
            roles=installation.policy.declaration.roles,
        )
        await installation.agents.change(agent, seen=old)
        return agent, await _notes(installation, agent)


async def _notes(installation: Installation, agent: Agent) -> Sequence[str]:
    # Deferred: most commands here need no crew.
    from remit.storage.crew import Crew  # noqa: PLC0415 - see above
    from remit.storage.notices import Notices  # noqa: PLC0415 - see above

    return await notes_on(Crew(installation.database, Notices(installation.database)), agent)


async def _crashed(settings: Settings, agent_id: str) -> str:
    # Deferred: most commands here need no crew.
    from remit.crew.health import Health  # noqa: PLC0415 - see above
    from remit.storage.crew import Crew  # noqa: PLC0415 - see above
    from remit.storage.notices import Notices  # noqa: PLC0415 - see above

    async with (
        open_installation(settings, author="") as installation,
        making(installation, "agents.crashed", {"id": agent_id}),
    ):
        notices = Notices(installation.database)
        health = Health(
            Crew(installation.database, notices),
            notices,
            clock=utc_now,
            new_id=new_id,
        )
        return await health.crashed(installation.tenant.name, agent_id)


async def _all(settings: Settings) -> list[Agent]:
    async with open_installation(settings, author="") as installation:
        return list(await installation.agents.all_agents(installation.tenant.name))


def _show(agent: Agent, what: str, as_json: bool, notes: Sequence[str]) -> None:
    for note in notes:
        say(f"note: {note}", err=True)
    if as_json:
        print_json(_entry(agent))
    else:
        also = f", {agent.role}" if agent.role else ""
        say(f"agent {agent.id!r} ({agent.type.value}{also}) {what}")


def _entry(agent: Agent) -> dict[str, object]:
    return {
        "id": agent.id,
        "type": agent.type.value,
        "role": agent.role or None,
        "epic": agent.epic or None,
        "tmux_session": agent.tmux_session or None,
        "created": agent.created.isoformat(timespec="seconds"),
    }
