"""Who can call this tool? Everybody by kind, and whoever can only by two hats together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from remit.client import authority
from remit.client.authority import WhoCan
from remit.doors.console.access_choices import command_of, tools_known_to
from remit.doors.console.forms import status_of
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails

MOST_NAMES: Final = 200
"""Names of a kind that the page shows: of keys there may be thousands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Everybody of one kind who can call a tool.

    Attributes:
        note: What there is to know of them.
        names: Each with its subject; empty for a pair, which is two.
    """

    title: str
    note: str
    names: Sequence[tuple[str, str]]


async def who_can(visitor: Visitor) -> Response:
    """Show everybody who can call a tool."""
    tool = visitor.asked("tool")
    found: Sequence[Group] | None = None
    available = True
    problem: ProblemDetails | None = None
    if tool:
        try:
            able = await visitor.ask(authority.who_can(tool))
            found, available = groups_of(able), able.available
        except ProblemDetails as refused:
            problem = refused
    tools = await tools_known_to(visitor)
    return visitor.render(
        "access_who_can.html",
        status=status_of(problem),
        tab="who-can",
        tool=tool,
        found=found,
        available=available,
        most_names=MOST_NAMES,
        problem=problem,
        command=command_of(visitor, "who-can", tool),
        tools=tools,
    )


def groups_of(found: WhoCan) -> Sequence[Group]:
    """Return everybody by kind; a user that needs a second hat stands with it alone."""
    in_two = {pair.partition(" + ")[0] for pair in found.hats}
    services = set(found.service_keys)
    groups = (
        _group("Roles", "Whoever has one of these roles.", "role", found.roles),
        _group(
            "Users",
            "A grant opens it to them, whatever their token says.",
            "user",
            [name for name in found.users if f"user:{name}" not in in_two],
        ),
        _group("Keys", "", "key", [name for name in found.keys if name not in services]),
        _group("Service keys", "Keys of the data server's programs.", "key", found.service_keys),
        _group("Agents", "", "agent", found.agents),
        _group("User roles", "Whoever's token names one of them.", "user-role", found.user_roles),
        _group("Agent types", "Agents of such a type.", "agent-type", found.agent_types),
        Group(
            title="Only both together",
            note="Whoever is both of a pair can; whoever is only one of it cannot.",
            names=[(pair, "") for pair in found.hats],
        ),
    )
    return [group for group in groups if group.names]


def _group(title: str, note: str, kind: str, names: Sequence[str]) -> Group:
    return Group(title=title, note=note, names=[(name, f"{kind}:{name}") for name in names])
