"""Which tools roles open, read from the API's matrix a page at a time, and what is odd about it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from remit.client import authority, servers
from remit.client.authority import MatrixDecision, MatrixTool, Wanted
from remit.client.roles import Role
from remit.client.servers import Server
from remit.doors.console.role_form import ServerChoice, ToolChoice
from remit.doors.console.visitor import Visitor
from remit.model.contents import Kind
from remit.model.tools import ToolId
from remit.policy.patterns import Pattern

MOST: Final = 100
"""Rows and columns that the API's matrix gives at once."""


class Decided(NamedTuple):
    """A tool, and what is decided on it for one role; None for no role at all."""

    tool: MatrixTool
    decision: MatrixDecision | None

    @property
    def is_open(self) -> bool:
        """Whether the role may call it."""
        return self.decision is not None and self.decision.allowed

    @property
    def layer(self) -> str:
        """The layer that decided."""
        return self.decision.layer if self.decision is not None else ""


async def tools_for(visitor: Visitor, role: str = "") -> Sequence[Decided]:
    """Return every tool that is declared or known to be offered, with the verdict on a role."""
    row = await _row_of(visitor, role)
    wanted = Wanted(caller=role or None)
    found: list[Decided] = []
    total = 1
    while len(found) < total:
        part = await visitor.ask(
            authority.matrix(
                wanted,
                callers_limit=1,
                callers_offset=row,
                tools_limit=MOST,
                tools_offset=len(found),
            )
        )
        is_its = bool(part.callers) and part.callers[0].name == role
        found += [
            Decided(tool, part.at(0, column) if is_its else None)
            for column, tool in enumerate(part.tools)
        ]
        total = part.tools_total if part.tools else 0
    return found


async def seen_by(visitor: Visitor, role: str) -> int:
    """Return how many tools a role sees."""
    return len(await visitor.ask_all(authority.tools(f"role:{role}")))


async def declared_servers(visitor: Visitor) -> Mapping[str, Server]:
    """Return every declared server by its name."""
    return {server.name: server for server in await visitor.ask_all(servers.list_all())}


def choices(
    declared: Mapping[str, Server], tools: Sequence[Decided], role: Role
) -> Sequence[ServerChoice]:
    """Return the boxes of a role's form: of what is declared, and of whatever the role names."""
    boxes: dict[str, dict[str, ToolChoice]] = {name: {} for name in declared}
    for tool, _ in tools:
        if tool.available:
            _, _, name = tool.tool.partition("/")
            boxes.setdefault(tool.server, {})[name] = ToolChoice(
                tool=tool.tool, name=name, is_offered=True
            )
    for server in role.mcp_servers:
        boxes.setdefault(server, {})
    for server, names in role.tools.items():
        for name in names:
            unknown = ToolChoice(tool=f"{server}/{name}", name=name, is_offered=False)
            boxes.setdefault(server, {}).setdefault(name, unknown)
    return [
        ServerChoice(
            name=server,
            description=declared[server].description if server in declared else "",
            problem=_problem_of(declared.get(server)),
            tools=[named[name] for name in sorted(named)],
        )
        for server, named in boxes.items()
    ]


def oddities(role: Role, declared: Collection[str], offered: Collection[str]) -> Sequence[str]:
    """Return what somebody should look at in a role, each with what to do (R8, R16).

    Args:
        role: What it says.
        declared: Names of servers.
        offered: Tools that servers are known to offer, as `server/tool`.
    """
    found: list[str] = []
    if not role.tools and not role.allow:
        found.append(
            "It allows nothing: it has neither tools nor allow. Tick a tool, or remove it."
        )
    found += [
        f"Its list for server {server} is empty, which allows nothing."
        for server, names in role.tools.items()
        if not names
    ]
    found += [
        f"It names server {server}, which is not declared."
        for server in dict.fromkeys((*role.mcp_servers, *role.tools))
        if server not in declared
    ]
    reached = {pattern.partition("/")[0] for pattern in role.allow} | role.tools.keys()
    if not any("*" in server or server.startswith("mcp__") for server in reached):
        found += [
            f"It names server {server} and none of its tools, which gives it nothing."
            for server in role.mcp_servers
            if server not in reached
        ]
    with_offer = {tool.partition("/")[0] for tool in offered}
    found += [
        f"It names {server}/{name}, which server {server} does not offer."
        for server, names in role.tools.items()
        for name in names
        if server in with_offer and f"{server}/{name}" not in offered and "*" not in name
    ]
    return [*found, *_idle_patterns(role, declared, offered)]


def _idle_patterns(role: Role, declared: Collection[str], offered: Collection[str]) -> list[str]:
    """Name patterns that fit nothing, where all that they could fit is known."""
    tools = [ToolId(server, name) for server, _, name in (tool.partition("/") for tool in offered)]
    with_offer = {tool.server for tool in tools}
    found: list[str] = []
    for key, patterns in (("allow", role.allow), ("deny", role.deny)):
        for pattern in map(Pattern.parse, patterns):
            server, said = pattern.literal_server, f"Its {key} pattern {pattern.text}"
            meant = set(declared) if server is None else {server}
            if not meant <= set(declared):
                found.append(f"{said} names server {server}, which is not declared.")
            elif not meant <= with_offer or pattern.kind is not Kind.TOOL:
                continue
            elif not any(map(pattern.matches, tools)):
                found.append(f"{said} fits no tool that is on offer.")
    return found


async def _row_of(visitor: Visitor, role: str) -> int:
    """Return the place of a role among those whose names hold its name."""
    offset, total = 0, 1 if role else 0
    while offset < total:
        part = await visitor.ask(
            authority.matrix(
                Wanted(caller=role), callers_limit=MOST, callers_offset=offset, tools_limit=1
            )
        )
        names = [caller.name for caller in part.callers]
        if role in names:
            return offset + names.index(role)
        offset, total = offset + MOST, part.callers_total
    return 0


def _problem_of(server: Server | None) -> str:
    if server is None:
        return "not declared"
    return "" if server.enabled else "switched off"
