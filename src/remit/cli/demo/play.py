"""What happens in the demo, step by step."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from remit.admin.authority import Authority
from remit.admin.keys import make_key
from remit.app.gateway import Gateway
from remit.cli.demo.clients import HANDSHAKE, LATEST, DemoClient, Reply, open_client
from remit.cli.demo.scene import ASSISTANT, Scene, remote_log
from remit.cli.explain import open_authority
from remit.model.decisions import Verdict
from remit.model.events import AuditQuery
from remit.model.principals import DEFAULT_TENANT, Principal, PrincipalKind

BRANCH = "feature/gift-wrap"
NEW_FILE = "gift_wrap.py"
CAST = ("backend_developer", "designer", ASSISTANT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where the demo plays and what it shows on."""

    gateway: Gateway
    scene: Scene
    url: str
    console: Console

    def heading(self, text: str) -> None:
        """Begin a new part."""
        self.console.print(f"\n[bold cyan]{escape(text)}[/]")

    def step(self, who: str, tool: str, reply: Reply) -> None:
        """Show one call and what came of it."""
        mark = (
            "[red]refused[/]"
            if reply.refused
            else ("[yellow]failed[/]" if reply.failed else "[green]ok[/]")
        )
        first = " ".join(reply.text.split())
        line = f"  {who:<18} {tool:<23} {mark}  [dim]{escape(first)}[/]"
        self.console.print(line, no_wrap=True, overflow="ellipsis")


async def play(stage: Stage) -> None:
    """Act the whole demo once."""
    _show_servers(stage)
    keys = await _make_keys(stage)
    await _show_lists(stage, keys)
    await _develop(stage, keys["backend_developer"])
    await _ask(stage, keys[ASSISTANT])
    await _refuse(stage, keys["designer"])
    await _show_audit(stage)
    _show_configuration(stage, keys["backend_developer"])


def _show_servers(stage: Stage) -> None:
    statuses = stage.gateway.home.fleet.statuses()
    stage.heading(
        f"{len(statuses)} servers behind one door; one of them cannot start, the others do not mind"
    )
    table = _table("server", "how", "state", "tools", "speaks", "why")
    for status in statuses:
        colour = "green" if status.state.is_up else "red"
        table.add_row(
            status.name,
            status.transport.value,
            f"[{colour}]{status.state.in_words}[/]",
            str(status.tools),
            status.protocol or "-",
            escape(status.reason) or "-",
        )
    stage.console.print(table)


async def _make_keys(stage: Stage) -> dict[str, str]:
    installation = stage.gateway.installation
    made: dict[str, str] = {}
    for role in CAST:
        key = await make_key(
            installation.keys,
            role,
            tenant=DEFAULT_TENANT,
            now=datetime.now(UTC),
            role=role,
            roles=installation.policy.declaration.roles,
        )
        made[role] = key.text
    return made


async def _show_lists(stage: Stage, keys: Mapping[str, str]) -> None:
    stage.heading("Each caller sees exactly the tools of its role (tools/list over HTTP)")
    for role, mode in zip(CAST, (LATEST, HANDSHAKE, LATEST), strict=True):
        async with open_client(stage.url, keys[role], mode=mode) as client:
            names = await client.tools()
            shown = ", ".join(names) or f"[dim]nothing. {escape(client.instructions)}[/]"
            stage.console.print(f"  [bold]{role}[/] [dim]speaks MCP {client.protocol}[/]")
            stage.console.print(Padding(shown, (0, 0, 0, 4)))


async def _develop(stage: Stage, key: str) -> None:
    stage.heading("backend_developer works: a branch, a commit, a push")
    async with open_client(stage.url, key, mode=LATEST) as client:
        await _step(stage, client, "git__git_checkout", {"branch_name": BRANCH, "create": True})
        (stage.scene.work / NEW_FILE).write_text(
            "def wrap(parcel):\n    return ('paper', parcel)\n"
        )
        commit = {"message": "Wrap parcels as gifts", "paths": [NEW_FILE]}
        await _step(stage, client, "git__git_commit", commit)
        await _step(stage, client, "git__git_push", {})
    landed = remote_log(stage.scene, BRANCH)
    stage.console.print(f"  the bare remote now has [bold]{escape(landed)}[/] on {BRANCH}")


async def _ask(stage: Stage, key: str) -> None:
    stage.heading("assistant asks servers that other people wrote, over the older protocol era")
    async with open_client(stage.url, key, mode=HANDSHAKE) as client:
        tokyo = {"timezone": "Asia/Tokyo"}
        await _step(stage, client, "time__get_current_time", tokyo, role=ASSISTANT)
        log = {"repo_path": str(stage.scene.work), "max_count": 1}
        await _step(stage, client, "published_git__git_log", log, role=ASSISTANT)


async def _refuse(stage: Stage, key: str) -> None:
    stage.heading("designer tries to commit, and everybody can see why not")
    async with open_client(stage.url, key, mode=HANDSHAKE) as client:
        await _step(stage, client, "git__git_commit", {"message": "a new logo"}, role="designer")
        await _step(stage, client, "git__no_such_tool", {}, role="designer")
    authority = await open_authority(stage.gateway.installation)
    stage.console.print(
        "  [dim]the same words for both: what is hidden looks like what is not there[/]\n"
    )
    _show_explanation(stage, authority)


def _show_explanation(stage: Stage, authority: Authority) -> None:
    designer = Principal(kind=PrincipalKind.ROLE, name="designer", roles=("designer",))
    answer = authority.explain(designer, "git/git_commit")
    stage.console.print("  [dim]$ remit explain --as role:designer git/git_commit[/]")
    for verdict in answer.explanation.layers:
        colour = {"allow": "green", "deny": "red"}.get(verdict.verdict.value, "dim")
        said = verdict.rule if verdict.verdict is Verdict.ALLOW and verdict.rule else verdict.reason
        stage.console.print(
            f"    {verdict.layer.value:<8} [{colour}]{verdict.verdict.value:<6}[/] {escape(said)}"
        )
    roles = authority.who_can("git/git_commit").roles
    stage.console.print("  [dim]$ remit who-can git/git_commit[/]")
    stage.console.print(f"    {', '.join(roles)}")


async def _show_audit(stage: Stage) -> None:
    stage.heading("What did they do? One row a call, refused ones too (remit audit search)")
    events = await stage.gateway.audit.search(AuditQuery(tenant=DEFAULT_TENANT, limit=20))
    for event in reversed(events):
        colour = "green" if event.decision == "allow" else "red"
        tool = f"{event.server}/{event.tool}" if event.server else event.tool
        stage.console.print(
            f"  {event.principal:<21} {escape(tool):<22} [{colour}]{event.decision:<5}[/]"
            f" {event.outcome:<5} {event.ms:>7.1f} ms",
            no_wrap=True,
        )
        why = escape(event.rule or event.error or "")
        stage.console.print(f"    [dim]{why}[/]", no_wrap=True)
    stage.console.print(f"  [dim]all decided under revision {events[0].revision} of the policy[/]")


def _show_configuration(stage: Stage, key: str) -> None:
    entry = {
        "mcpServers": {
            "remit": {
                "type": "http",
                "url": stage.url,
                "headers": {"Authorization": f"Bearer {key}"},
            }
        }
    }
    stage.heading("Paste this into an MCP client to be backend_developer, while the demo serves")
    # Unwrapped, so that what is copied is JSON.
    stage.console.print(escape(json.dumps(entry, indent=2)), soft_wrap=True)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, header_style="dim", overflow="fold")
    return table


async def _step(
    stage: Stage,
    client: DemoClient,
    tool: str,
    arguments: Mapping[str, object],
    *,
    role: str = "backend_developer",
) -> None:
    stage.step(role, tool, await client.call(tool, arguments))
