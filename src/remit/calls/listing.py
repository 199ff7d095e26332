"""What a caller sees, by the same `decide()` that answers its calls (R10)."""

from collections.abc import Sequence
from typing import Protocol, cast

from remit.calls.directory import CatalogueSource, Directory, PolicySource
from remit.calls.item_listing import ItemListing
from remit.model.principals import Principal
from remit.model.servers import ServerStatus
from remit.model.tools import Tool, ToolId, estimated_tokens
from remit.policy.callers import standing_of
from remit.policy.engine import decide
from remit.policy.reach import named_servers, reaches_any_server
from remit.policy.snapshot import PolicySnapshot, list_order
from remit.policy.standing import Standing
from remit.upstreams.catalogue import Catalogue
from remit.upstreams.wire import Malformed, joined, json_bytes, members, value_of

MOST_CACHED = 4096
"""Views kept per catalogue and policy, by what callers are; beyond it the cache starts anew."""

MOST_BYTES = 16 * 2**20
"""Bytes of lists that are kept; beyond it they are made anew."""


class StatusSource(Protocol):
    """Where the state of the servers comes from."""

    def statuses(self) -> Sequence[ServerStatus]:
        """Return every declared server's state, in order."""
        ...


class Listing:
    """The tools of each caller, with the bytes of their list ready to send.

    Bytes are kept per (effective tool set, scope, era), so that callers in the same roles share
    them; a new catalogue or policy starts the cache anew.

    Attributes:
        items: What there is beside tools.
    """

    def __init__(
        self,
        *,
        directory: Directory,
        catalogues: CatalogueSource,
        policies: PolicySource,
        statuses: StatusSource,
    ) -> None:
        self._directory = directory
        self._catalogues = catalogues
        self._policies = policies
        self._statuses = statuses
        self.items = ItemListing(directory=directory, catalogues=catalogues, policies=policies)
        self._current: tuple[Catalogue, PolicySnapshot] | None = None
        self._views: dict[tuple[Standing, str | None], tuple[Tool, ...]] = {}
        self._alike: dict[tuple[ToolId, ...], tuple[Tool, ...]] = {}
        self._bytes: dict[tuple[int, str | None, bool], bytes] = {}
        self._size = 0
        self._costs: dict[tuple[ToolId, str | None], tuple[Tool, int]] = {}
        self._ordered: tuple[Tool, ...] = ()

    def visible(self, principal: Principal, scope: str | None) -> tuple[Tool, ...]:
        """Return the tools on offer that *principal* may call, sorted by server and name.

        Those of the `data` server come in their canonical order (S2.9).

        Args:
            principal: Who asks.
            scope: One server's name, or None for all.
        """
        snapshot = self._refresh()
        standing = standing_of(snapshot, principal)
        key = (standing, scope)
        view = self._views.get(key)
        if view is None:
            offering = self._catalogues.catalogue.by_server if scope is None else (scope,)
            reached = {server for server in offering if standing.may_reach(server)}
            view = tuple(
                tool
                for tool in self._ordered
                if tool.id.server in reached and decide(snapshot, principal, tool.id).allowed
            )
            view = self._alike.setdefault(tuple(tool.id for tool in view), view)
            self._views[key] = view
        return view

    def offered(self, server: str) -> tuple[Tool, ...]:
        """Return the tools that *server* offers now, whoever may call them, in the same order."""
        self._refresh()
        return tuple(tool for tool in self._ordered if tool.id.server == server)

    def published_name(self, tool: ToolId, scope: str | None) -> str:
        """Return the name of *tool* on the endpoint of *scope* (R2)."""
        names = self._directory.names
        return names.published(tool) if scope is None else names.local(tool)

    def tools_json(self, principal: Principal, scope: str | None, *, legacy: bool) -> bytes:
        """Return the JSON array of `tools/list` for one caller, endpoint and protocol era."""
        view = self.visible(principal, scope)
        key = (id(view), scope, legacy)  # which is its own: it is kept as long as its bytes
        listed = self._bytes.get(key)
        if listed is None:
            entries = [
                published_entry(tool, self.published_name(tool.id, scope), legacy=legacy)
                for tool in view
            ]
            listed = b"[" + b",".join(entries) + b"]"
            self._size += len(listed)
            if self._size > MOST_BYTES:
                self._bytes, self._size = {}, len(listed)
            self._bytes[key] = listed
        return listed

    def token_cost(self, tool: Tool, scope: str | None = None) -> int:
        """Estimate the tokens of one published tool; those on offer are estimated once."""
        self._refresh()
        known = self._costs.get((tool.id, scope))
        if known is None or known[0] is not tool:
            entry = published_entry(tool, self.published_name(tool.id, scope), legacy=False)
            known = self._costs[tool.id, scope] = tool, estimated_tokens(entry)
        return known[1]

    def instructions(self, principal: Principal, scope: str | None) -> str:
        """Say what a short or empty list lacks, so that it is never unexplained (R14).

        Names only servers that the caller's own rules name.
        """
        lines: list[str] = []
        missing = self._missing(principal, scope)
        if missing:
            lines.append(f"Not connected at the moment: {', '.join(missing)}.")
        if not self.visible(principal, scope):
            who = _hats(principal)
            if missing:
                lines.append("The list of tools is empty until a server above is back.")
            elif self._may_come(principal, scope):
                lines.append(
                    "The list of tools is empty at the moment: not every server is connected, "
                    f"and none that is offers a tool that {who} may use."
                )
            else:
                lines.append(f"The list of tools is empty by policy: {who} may use none here.")
        return " ".join(lines)

    def _missing(self, principal: Principal, scope: str | None) -> list[str]:
        """Return the servers that the caller's rules name and that offer nothing now."""
        offering = self._catalogues.catalogue.by_server
        named = named_servers(self._policies.snapshot, principal)
        missing = [server for server in named if server not in offering]
        if scope is None or scope not in missing:
            return missing if scope is None else []
        return [status.name for status in self._statuses.statuses() if status.name == scope]

    def _may_come(self, principal: Principal, scope: str | None) -> bool:
        """Whether a server that is away may offer what a pattern over all servers allows."""
        if not reaches_any_server(self._policies.snapshot, principal):
            return False
        return any(
            status.state.may_come and scope in (None, status.name)
            for status in self._statuses.statuses()
        )

    def _refresh(self) -> PolicySnapshot:
        """Forget what does not hold any more; return the rules that do."""
        catalogue, snapshot = self._catalogues.catalogue, self._policies.snapshot
        current = self._current
        if (
            current is None
            or current[0] is not catalogue
            or current[1] is not snapshot
            or len(self._views) > MOST_CACHED
        ):
            self._current = (catalogue, snapshot)
            self._views = {}
            self._alike = {}
            self._bytes, self._size = {}, 0
            self._costs = {}
            tools = catalogue.tools
            self._ordered = tuple(tools[tool] for tool in sorted(tools, key=list_order))
        return snapshot


def _hats(principal: Principal) -> str:
    """Say what the caller is, for a sentence about what it may not."""
    hats = [f"role {', '.join(principal.roles)}"] if principal.roles else []
    if principal.service:
        hats.append("a service key")
    if principal.agent_type is not None:
        hats.append(f"agent type {principal.agent_type.value}")
    if principal.user_roles:
        hats.append(f"user role {', '.join(role.value for role in principal.user_roles)}")
    return ", ".join(hats) or "a caller without role"


def published_entry(tool: Tool, name: str, *, legacy: bool) -> bytes:
    """Return a tool's own JSON under its published *name*, everything else as it came.

    An older caller would refuse the whole list for one output schema that is not an object's,
    so that schema is left out for it, in that tool alone.
    """
    try:
        parts = members(tool.wire)
    except Malformed:  # never the reason for the absence of other tools
        parts = {
            "description": json_bytes(tool.description),
            "inputSchema": b'{"type":"object"}',
        }
    parts["name"] = json_bytes(name)
    if legacy and "outputSchema" in parts and not _is_object_schema(parts["outputSchema"]):
        del parts["outputSchema"]
    return joined(parts)


def _is_object_schema(schema: bytes) -> bool:
    try:
        decoded = value_of(schema)
    except Malformed:
        return False
    return isinstance(decoded, dict) and cast("dict[str, object]", decoded).get("type") == "object"
