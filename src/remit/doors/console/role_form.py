"""A role as a form has it, and the change of the declaration that the form means. Pure.

Every member of a role's entry is in the form, and only members that differ are sent, each in the
order that it has: so what nobody touched stays as it is, down to tools that no server offers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from remit.client.roles import Role
from remit.doors.console.visitor import Visitor

DENIALS: Final = (
    ("quiet", "quiet: as if there were no such tool"),
    ("explain", "explain: with the reason, the rule and whom to ask"),
)
"""What `denials` may be (R14)."""

_LISTS: Final = ("mcp_servers", "allow", "deny")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a form says of a role.

    Attributes:
        servers: Those that it names.
        whole: Those of which it may use every tool: for each a pattern `server/*` of `allow`.
        tools: Tools that it names, as `server/tool`.
        allow: Other patterns, a line each.
        deny: Patterns, a line each.
    """

    name: str = ""
    description: str = ""
    denials: str = "quiet"
    servers: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    allow: str = ""
    deny: str = ""

    @classmethod
    def of(cls, role: Role, servers: Iterable[str]) -> "Draft":
        """Return what the form shows of a declared role; *servers* have a box for all tools."""
        whole = {server for server in servers if whole_of(server) in role.allow}
        boxes = {whole_of(server) for server in whole}
        return cls(
            name=role.name,
            description=role.description,
            denials=role.denials,
            servers=frozenset(role.mcp_servers),
            whole=frozenset(whole),
            tools=frozenset(f"{server}/{t}" for server, names in role.tools.items() for t in names),
            allow="\n".join(pattern for pattern in role.allow if pattern not in boxes),
            deny="\n".join(role.deny),
        )

    @classmethod
    def sent(cls, visitor: Visitor) -> "Draft":
        """Return what was sent."""
        return cls(
            name=visitor.sent("name"),
            description=visitor.sent("description"),
            denials=visitor.sent("denials", "quiet"),
            servers=frozenset(visitor.all_sent("server")),
            whole=frozenset(visitor.all_sent("whole")),
            tools=frozenset(visitor.all_sent("tool")),
            allow=visitor.sent("allow"),
            deny=visitor.sent("deny"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChoice:
    """A box to tick.

    Attributes:
        tool: As `server/tool`.
        is_offered: Whether its server is known to offer it.
    """

    tool: str
    name: str
    is_offered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerChoice:
    """A server with its boxes.

    Attributes:
        description: Empty where it has none.
        problem: Why nothing of it can be used now, or empty.
    """

    name: str
    description: str = ""
    problem: str = ""
    tools: Sequence[ToolChoice] = field(default_factory=tuple[ToolChoice, ...])

    def ticked(self, draft: Draft) -> int:
        """Return how many of its tools are ticked."""
        return sum(choice.tool in draft.tools for choice in self.tools)

    def is_used(self, draft: Draft) -> bool:
        """Whether anything of it is ticked."""
        return self.name in draft.servers | draft.whole or bool(self.ticked(draft))


def whole_of(server: str) -> str:
    """Return the pattern of every tool of a server."""
    return f"{server}/*"


def entry_of(draft: Draft, old: Role) -> dict[str, Any]:
    """Return the whole entry that a form means, in place of what *old* says."""
    tools: dict[str, list[str]] = {}
    for tool in sorted(draft.tools):
        server, _, name = tool.partition("/")
        tools.setdefault(server, []).append(name)
    kept = {server: _in_order(old.tools[server], tools.pop(server, ())) for server in old.tools}
    patterns = [*draft.allow.splitlines(), *map(whole_of, sorted(draft.whole))]
    return {
        "description": draft.description,
        "denials": draft.denials,
        "mcp_servers": _in_order(old.mcp_servers, sorted(draft.servers)),
        "tools": {
            server: names
            for server, names in (kept | tools).items()
            if names or not old.tools.get(server, ("",))
        },
        "allow": _in_order(old.allow, _lines(patterns)),
        "deny": _in_order(old.deny, _lines(draft.deny.splitlines())),
    }


def patch_of(draft: Draft, old: Role) -> dict[str, Any]:
    """Return what a form changes of a declared role, as RFC 7396 has it."""
    new = entry_of(draft, old)
    patch: dict[str, Any] = {
        key: new[key] for key in ("description", "denials") if new[key] != getattr(old, key)
    }
    patch |= {key: new[key] for key in _LISTS if new[key] != list(getattr(old, key))}
    tools: Mapping[str, list[str]] = new["tools"]
    changed: dict[str, list[str] | None] = {
        server: names
        for server, names in tools.items()
        if server not in old.tools or names != list(old.tools[server])
    }
    changed |= {server: None for server in old.tools if server not in tools}
    return patch | ({"tools": changed} if changed else {})


def new_entry(draft: Draft) -> dict[str, Any]:
    """Return the entry of a role that is not declared yet, without what is empty or usual."""
    entry = entry_of(draft, NOTHING)
    return {key: value for key, value in entry.items() if value and value != "quiet"}


NOTHING: Final = Role(
    name="", description="", mcp_servers=(), tools={}, allow=(), deny=(), denials="quiet"
)
"""A role that says nothing."""


def _lines(lines: Iterable[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip()]


def _in_order(old: Sequence[str], wanted: Iterable[str]) -> list[str]:
    """Return what is *wanted*, once each, what was there before in its old order first."""
    once = dict.fromkeys(wanted)
    return [*(one for one in old if one in once), *(one for one in once if one not in old)]
