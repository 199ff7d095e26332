"""Whether a server can be reached and what it offers, found beside its connection in use."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import anyio
from anyio import to_thread

from remit.errors import UpstreamError
from remit.model.servers import ServerConfig, ServerTrial
from remit.model.tools import estimated_tokens
from remit.upstreams.clock import clock_skew
from remit.upstreams.connection import Connection
from remit.upstreams.environment import MissingVariable, resolve
from remit.upstreams.memory import memory_by_group
from remit.upstreams.offer import Offer
from remit.upstreams.session import Session, Signals
from remit.upstreams.surroundings import Surroundings

Open = Callable[
    [Signals, Callable[[Session], Awaitable[None]]], AbstractAsyncContextManager[Connection]
]
"""Opens a connection and uses it first for what it is given."""


async def try_out(
    config: ServerConfig,
    around: Surroundings,
    open_connection: Open,
    read_offer: Callable[[Session], Awaitable[Offer]],
) -> ServerTrial:
    """Connect, list the tools, and leave again; the texts of the answer are not redacted yet."""
    began = anyio.current_time()
    trial = await _trial(config, around, open_connection, read_offer)
    ms = (anyio.current_time() - began) * 1000
    return replace(trial, ms=ms, skew=await _skew(config, around))


async def _skew(config: ServerConfig, around: Surroundings) -> float | None:
    try:
        url = resolve(config, around.environ).url
    except MissingVariable:
        return None
    return await clock_skew(url, around.trust) if url else None


async def _trial(
    config: ServerConfig,
    around: Surroundings,
    open_connection: Open,
    read_offer: Callable[[Session], Awaitable[Offer]],
) -> ServerTrial:
    if not config.allow_unclaimed:
        refusal = around.unclaimed(config)
        if refusal is not None:
            return ServerTrial(reason=refusal)
    found: list[Offer] = []
    signals = Signals()

    async def read(session: Session) -> None:
        found.append(await read_offer(session))

    try:
        async with around.slots, open_connection(signals, read) as connection:
            process = signals.process
            memory = None
            if process is not None:
                memory = (await to_thread.run_sync(memory_by_group)).get(process)
            return ServerTrial(
                protocol=connection.session.era.version,
                tools=tuple(tool.id.name for tool in found[0].tools),
                notes=found[0].notes,
                tokens=sum(estimated_tokens(tool.wire) for tool in found[0].tools),
                memory=memory,
            )
    except (MissingVariable, UpstreamError) as error:
        return ServerTrial(reason=str(error))
