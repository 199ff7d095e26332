"""Names and aliases of tools, as one table that is looked up and never guessed (R1-R3)."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Self

from remit.model.tools import ToolId

LONGEST_NAME = 64
"""Most characters of a published name (R3)."""

OTHER_NAMES: Mapping[ToolId, str] = MappingProxyType(
    {ToolId("task", "update_status"): "update_state"}
)
"""What a tool of ours is called, too: an alias in every spelling, and not a second tool (S3.37)."""

_LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
_SUFFIX_STEP = 10
_LONGEST_SUFFIX = 60


def published_name(tool: ToolId) -> str:
    """Return the name of *tool* on `/mcp`, as long as no other tool's collides with it.

    It is `{server}__{tool}` where that fits R3, else its legal characters with a hash of the
    original at the end: the same after a restart and in any declaration order.
    """
    plain = _qualified(tool)
    return _form(plain, original=_original(tool), suffix=_first_suffix(plain))


def bridged_names(tools: Iterable[ToolId]) -> dict[ToolId, str]:
    """Return the name of each of *tools* in the Python bridge: `mcp_{server}_{tool}`, or R3's form.

    Of names that collide each gets a suffix (R2).
    """
    return _told_apart(sorted(set(tools)), plain=_bridged)


def readings(spelling: str, servers: Iterable[str]) -> tuple[ToolId, ...]:
    """Return each tool that *spelling* would mean if one of *servers* offered it.

    For the question whether a caller might use what there is not; what a name means is looked up
    (R1).
    """
    return tuple(
        ToolId(server, spelling.removeprefix(prefix))
        for server in servers
        for prefix in _spellings(ToolId(server, ""))
        if spelling.startswith(prefix) and spelling != prefix
    )


class Names:
    """What every tool is called, and what every spelling means: immutable, built once.

    Which tools exist decides what it holds; the order in which they were seen does not.
    """

    __slots__ = ("_aliases", "_by_local", "_by_published", "_local", "_published")

    def __init__(
        self,
        *,
        published: Mapping[ToolId, str],
        local: Mapping[ToolId, str],
        aliases: Mapping[str, tuple[ToolId, ...]],
    ) -> None:
        self._published = published
        self._local = local
        self._aliases = aliases
        self._by_published = {name: tool for tool, name in published.items()}
        self._by_local = {(tool.server, name): tool for tool, name in local.items()}

    @classmethod
    def build(cls, tools: Iterable[ToolId]) -> Self:
        """Return the table for *tools*."""
        known = sorted(set(tools))
        by_server: dict[str, list[ToolId]] = defaultdict(list)
        for tool in known:
            by_server[tool.server].append(tool)
        local: dict[ToolId, str] = {}
        for of_server in by_server.values():
            local |= _told_apart(of_server, plain=lambda tool: tool.name)
        return cls(
            published=_told_apart(known, plain=_qualified),
            local=local,
            aliases=_aliases(known),
        )

    @property
    def tools(self) -> Collection[ToolId]:
        """Every tool of the table."""
        return self._published.keys()

    def published(self, tool: ToolId) -> str:
        """Return the name of *tool* on `/mcp`.

        Raises:
            KeyError: *tool* is not in the table.
        """
        return self._published[tool]

    def local(self, tool: ToolId) -> str:
        """Return the name of *tool* on `/mcp/{server}`: its own, or R3's form of it.

        Raises:
            KeyError: *tool* is not in the table.
        """
        return self._local[tool]

    def find(self, alias: str, scope: str | None) -> tuple[ToolId, ...]:
        """Return every tool that *alias* may mean: none, the one, or all candidates in order.

        Spellings are exact and case counts. A name that remit published for the endpoint wins
        over a convenience spelling (R2).

        Args:
            alias: Any spelling of R2.
            scope: The server of the endpoint, whose own names count there and whose tools alone
                are found; None on the endpoint of all servers.
        """
        if scope is not None:
            here = self._by_local.get((scope, alias)) or ToolId(scope, alias)
            if here in self._published:
                return (here,)
        exact = self._by_published.get(alias)
        if exact is not None and scope in (None, exact.server):
            return (exact,)
        found = self._aliases.get(alias, ())
        if not found and scope is not None:
            found = self._aliases.get(str(ToolId(scope, alias)), ())
        return found if scope is None else tuple(tool for tool in found if tool.server == scope)


def _qualified(tool: ToolId) -> str:
    return f"{tool.server}__{tool.name}"


def _bridged(tool: ToolId) -> str:
    return f"mcp_{tool.server}_{tool.name}"


def _spellings(tool: ToolId) -> tuple[str, ...]:
    # R2. `{server}__{tool}` is here as well: the published name may carry a suffix.
    return (
        _qualified(tool),
        _bridged(tool),
        f"mcp__{tool.server}__{tool.name}",
        str(tool),
    )


def _aliases(tools: Sequence[ToolId]) -> dict[str, tuple[ToolId, ...]]:
    found: dict[str, list[ToolId]] = defaultdict(list)
    for tool in tools:
        for spelling in _spellings(tool):
            found[spelling].append(tool)
    for tool, other in OTHER_NAMES.items():
        also = ToolId(tool.server, other)
        if tool in tools and also not in tools:
            for spelling in _spellings(also):
                found[spelling].append(tool)
    return {spelling: tuple(dict.fromkeys(meant)) for spelling, meant in found.items()}


def _first_suffix(plain: str) -> int:
    """Return how many digits of the hash *plain* needs even when nothing collides with it."""
    return 0 if _LEGAL.fullmatch(plain) else _SUFFIX_STEP


def _original(tool: ToolId) -> str:
    """Return a text that no other tool has.

    It is `{server}/{tool}` (and has to stay so, since names are made of it: R3), but where the
    server's name does not end at the first stroke. No server of the gateway has such a name.
    """
    if tool.server and "/" not in tool.server:
        return str(tool)
    return f"/{len(tool.server)}/{tool}"


def _form(plain: str, *, original: str, suffix: int) -> str:
    if not suffix:
        return plain
    digest = hashlib.sha256(original.encode(errors="surrogatepass")).hexdigest()[:suffix]
    return f"{_FOREIGN.sub('_', plain)[: LONGEST_NAME - 1 - suffix]}_{digest}"


def _told_apart(tools: Sequence[ToolId], *, plain: Callable[[ToolId], str]) -> dict[ToolId, str]:
    """Name every tool; all tools whose names collide get a suffix, or a longer one (R2).

    This ends: of those that collide at least one gets a longer suffix, up to a length at which only
    tools of one original would have the same, and no two have.
    """
    suffix = {tool: _first_suffix(plain(tool)) for tool in tools}
    while True:
        names = {t: _form(plain(t), original=_original(t), suffix=suffix[t]) for t in tools}
        sharing: dict[str, list[ToolId]] = defaultdict(list)
        for tool, name in names.items():
            sharing[name].append(tool)
        colliding = [tool for group in sharing.values() if len(group) > 1 for tool in group]
        if not colliding:
            return names
        for tool in colliding:
            suffix[tool] = min(suffix[tool] + _SUFFIX_STEP, _LONGEST_SUFFIX)
