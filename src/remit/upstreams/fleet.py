"""All servers behind remit: started together, failing one by one.

open_fleet ──▶ one task a server (upstream.py) ──▶ catalogue, swapped whole at every change
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import replace

import anyio

from remit.errors import NotFound, UpstreamError, UpstreamUnavailable
from remit.model.contents import Contents
from remit.model.conversation import Extras
from remit.model.principals import Principal
from remit.model.servers import ServerConfig, ServerStatus, ServerTrial
from remit.model.tools import ToolId
from remit.upstreams.background import open_background
from remit.upstreams.catalogue import Catalogue
from remit.upstreams.session import BuiltinServer, Confirm, MakeBuiltin
from remit.upstreams.surroundings import Pace, Surroundings
from remit.upstreams.updates import Following
from remit.upstreams.upstream import Upstream
from remit.upstreams.warden import Warden, open_warden

__all__ = ["BuiltinServer", "Fleet", "MakeBuiltin", "Pace", "open_fleet"]

MOST_CONNECTING = 10
"""Servers that are being connected to at once."""


class Fleet:
    """The servers and what they offer together.

    Attributes:
        upstreams: By name, in the order of the declaration.
        catalogue: What is offered now: a value that does not change, replaced when something does.
    """

    def __init__(self, servers: Mapping[str, ServerConfig], around: Surroundings) -> None:
        self._around = around
        self.catalogue = Catalogue()
        self._swapped = anyio.Event()
        self._servers: Mapping[str, ServerConfig] = {}
        self.upstreams: Mapping[str, Upstream] = {}
        self._following: set[Following] = set()
        self.reconfigure(servers)

    def reconfigure(self, servers: Mapping[str, ServerConfig]) -> None:
        """Start what is new, retire what is gone, restart what is reached in another way.

        The others keep their connections. Calls under way on a server that is retired may end.

        Args:
            servers: By name, in the order of the declaration.
        """
        self._take(servers)

    def _take(self, servers: Mapping[str, ServerConfig], anew: str = "") -> None:
        before, kept = self.upstreams, dict[str, Upstream]()
        for name, config in servers.items():
            upstream, known = before.get(name), self._servers.get(name)
            stays = known is not None and _reach(known) == _reach(config) and name != anew
            if upstream is None or not stays:
                shown = upstream.shown if upstream is not None and config.enabled else None
                upstream = Upstream(config, self._around, on_change=self._swap, before=shown)
                self._around.tasks.start_soon(upstream.run)
            else:
                upstream.take(config)
            kept[name] = upstream
        gone = [upstream for name, upstream in before.items() if kept.get(name) is not upstream]
        moved = bool(before) and list(before) != list(kept)
        self._servers, self.upstreams = dict(servers), kept
        for upstream in gone:
            self._around.tasks.start_soon(upstream.retire)
        self._follow_on({upstream.name for upstream in gone})
        if gone or moved:
            self._swap()

    async def settled(self, names: Collection[str] | None = None) -> None:
        """Wait until the first attempt at each server has ended, one way or another.

        Args:
            names: Of which; None for all.
        """
        for name, upstream in self.upstreams.items():
            if names is None or name in names:
                await upstream.settled.wait()

    async def changed(self, version: int) -> Catalogue:
        """Wait for a catalogue newer than *version*, and return it."""
        while self.catalogue.version <= version:
            await self._swapped.wait()
        return self.catalogue

    def restart(self, name: str) -> None:
        """Connect to a server anew; calls under way may end on the old connection.

        Raises:
            NotFound: There is none of that name.
        """
        if name not in self.upstreams:
            raise NotFound(f"there is no server {name[:80]!r}")
        self._take(self._servers, anew=name)

    async def try_out(self, name: str) -> ServerTrial:
        """Connect to a server beside what is connected, list its tools, and leave it again.

        Raises:
            NotFound: There is none of that name.
        """
        upstream = self.upstreams.get(name)
        if upstream is None:
            raise NotFound(f"there is no server {name[:80]!r}")
        return await upstream.try_out()

    def follow(self, item: ToolId, principal: Principal, told: Callable[[str], None]) -> Following:
        """Begin to follow a resource until that is closed.

        Args:
            item: The resource.
            principal: Whose connection tells of it where callers do not share one.
            told: Called with the server's own URI of each update.

        Raises:
            UpstreamError: Its server tells of no updates.
        """
        following = Following(item, principal, told, self._following.discard)
        following.move(self._reached(item.server))
        self._following.add(following)
        return following

    def _follow_on(self, renewed: Collection[str]) -> None:
        """Follow what was followed on servers that are connected to anew."""
        for following in list(self._following):
            if following.item.server in renewed:
                with suppress(UpstreamError):  # gone, so that it tells of nothing
                    following.move(self.upstreams.get(following.item.server))

    def _reached(self, server: str) -> Upstream:
        try:
            return self.upstreams[server]
        except KeyError:
            raise UpstreamUnavailable(f"there is no server {server!r}") from None

    def statuses(self) -> Sequence[ServerStatus]:
        """Return where every server stands, in the order of the declaration."""
        return [upstream.status() for upstream in self.upstreams.values()]

    def status(self, name: str) -> ServerStatus | None:
        """Return where one server stands, or None where there is none of that name."""
        upstream = self.upstreams.get(name)
        return None if upstream is None else upstream.status()

    def invoke(
        self,
        tool: ToolId,
        *,
        arguments: bytes,
        meta: bytes,
        principal: Principal,
        timeout: float,
        method: str = "tools/call",
        extras: Extras | None = None,
        confirm: Confirm | None = None,
    ) -> Awaitable[bytes]:
        """Run a tool, or ask *method* about something else that a server has.

        Returns:
            What gives the raw JSON of the `result`, byte for byte as the server sent it.

        Args:
            tool: As the catalogue has it; or a prompt, or a resource that need not be listed.
            arguments: Raw JSON object.
            meta: The caller's `_meta` as a raw JSON object, or empty.
            principal: Whose connection is used where callers do not share one (R27).
            timeout: Seconds, counted from now.
            method: What is asked about it.
            extras: What goes with it beside, if anything does.
            confirm: Called where it had to wait, just before it is sent; what that raises ends it.

        Raises:
            UpstreamUnavailable: The server cannot be reached, or went away.
            UpstreamTimeout: It did not answer in time.
            UpstreamProtocolError: It answered with an error, or with nonsense.
            UpstreamError: The arguments cannot be put into its own words (R30).
        """
        return self._reached(tool.server).invoke(
            tool,
            arguments=arguments,
            meta=meta,
            principal=principal,
            timeout=timeout,
            method=method,
            extras=extras,
            confirm=confirm,
        )

    def _swap(self) -> None:
        shown = {name: upstream.shown for name, upstream in self.upstreams.items()}
        offers = {name: offer.tools for name, offer in shown.items() if offer is not None}
        contents = {
            name: offer.contents
            for name, offer in shown.items()
            if offer is not None and offer.contents != Contents()
        }
        self.catalogue = Catalogue.build(self.catalogue.version + 1, offers, contents)
        self._swapped.set()
        self._swapped = anyio.Event()


@asynccontextmanager
async def open_fleet(
    servers: Mapping[str, ServerConfig],
    *,
    builtins: Mapping[str, MakeBuiltin],
    environ: Mapping[str, str],
    unclaimed: Callable[[ServerConfig], str | None],
    pace: Pace | None = None,
    warden: Warden | None = None,
) -> AsyncGenerator[Fleet]:
    """Give the fleet of *servers* at once, before any of them is up; leave none running behind.

    Args:
        servers: By name, in the order of the declaration.
        builtins: Name of a bundled server to what makes one.
        environ: Where `${NAME}` in an entry is looked up.
        unclaimed: Why a server's command may not be started, since nobody has claimed its
            package (R30); None when it may.
        pace: How often things are tried.
        warden: Watches over the child processes of several fleets; without it of this one alone.
    """
    watching = open_warden() if warden is None else nullcontext(warden)
    async with watching as watch, open_background() as tasks:
        around = Surroundings(
            builtins=builtins,
            environ=environ,
            unclaimed=unclaimed,
            slots=anyio.Semaphore(MOST_CONNECTING),
            tasks=tasks,
            warden=watch,
            pace=pace or Pace(),
        )
        yield Fleet(servers, around)


def _reach(config: ServerConfig) -> ServerConfig:
    """Return what decides how a server is reached; the rest may change while it is connected."""
    return replace(config, description="", default_access="allow", timeout=0.0, tools={})
