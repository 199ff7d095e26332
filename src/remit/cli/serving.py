"""Serving the doors over HTTP, for `remit serve` and `remit demo`."""

import gc
import ipaddress
import os
import resource
import signal
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio
from anyio.abc import TaskStatus

from remit.app.doors import Place, build_http_doors
from remit.app.gateway import Gateway
from remit.doors.server import HttpServer, build_http_server
from remit.errors import StartupError

GRACE = 5
"""Seconds that requests under way have to end at a stop, and the servers as well."""

YOUNG: Final = 5_000
"""New objects for which garbage is looked for: more than some hundred calls under way are made of,
which Python's 700 would look at again and again. A call that is over leaves nothing to be found."""


MOST_DESCRIPTORS: Final = 65_536
"""What is enough for any number of callers; some programs, as servers are, walk over as many as
they may have when they start, and a hard limit may be a thousand million."""


def take_descriptors() -> None:
    """Raise the soft limit of open files, for us and the processes that we start.

    It is 1024 by custom, for programs that use `select`; every caller and every pipe is one, and
    connections beyond it are closed without a word.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft < wanted:
        with suppress(OSError, ValueError):  # some systems do not let it be raised so far
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def bind(host: str, port: int, *, shared: bool = False, listens: bool = True) -> socket.socket:
    """Return a listening socket.

    Args:
        host: Name or address.
        port: 0 takes a free one.
        shared: Whether other processes that share it may listen on the same port; the kernel
            spreads connections over them.
        listens: Without it the port is only kept, for those who share it.

    Raises:
        StartupError: The address is taken, or is not ours; the text says what to do.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # By the protocol's number asyncio knows that it may send at once what does not fill a packet;
    # else the second half of an answer waits 40 ms for a client's acknowledgement of the first.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listener.bind((host, port))
        if listens:
            listener.listen(2048)
    except OSError as error:
        listener.close()
        why = os.strerror(error.errno) if error.errno else str(error)
        raise StartupError(
            f"cannot listen on {host}:{port}: {why}; choose another --port, or --host"
        ) from error
    listener.setblocking(False)
    return listener


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach *host*."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def url_of(listener: socket.socket) -> str:
    """Return the base URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def build_server(
    gateway: Gateway, listener: socket.socket, place: Place | None = None
) -> HttpServer:
    """Return the HTTP server for *gateway*; whoever runs it owns *listener*.

    Args:
        gateway: Open.
        listener: Where it will serve.
        place: Among the workers, if there are several.
    """
    loopback = is_loopback(listener.getsockname()[0])
    doors = build_http_doors(gateway, loopback=loopback, place=place)

    def stop() -> None:
        gateway.warden.hurry()
        doors.stop()

    def cut_off() -> None:
        gateway.tenants.is_cutting_off = True

    return build_http_server(doors.app, on_stop=stop, on_cut=cut_off, grace=GRACE)


async def serve_until_cancelled(server: HttpServer, listener: socket.socket) -> None:
    """Serve; when cancelled, end the requests under way first, within `GRACE`."""
    # What the start made stays for good; looking at all of it again would stop every call for a
    # tenth of a second each time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_serve_whole, server, listener, tasks.cancel_scope)
        try:
            await anyio.sleep_forever()
        finally:
            server.should_exit = True


async def _serve_whole(
    server: HttpServer, listener: socket.socket, everything: anyio.CancelScope
) -> None:
    with anyio.CancelScope(shield=True):
        await server.serve_beside(listener)
    everything.cancel()


def outlive_hangups() -> None:
    """Let a SIGHUP that comes while we start end nothing: the declaration is read anyway.

    Nothing is inherited: a child that is started meanwhile ends by one as it always did.
    """
    signal.signal(signal.SIGHUP, lambda _number, _frame: None)


async def reload_on_hangup(
    gateway: Gateway, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """Read the declaration again at every SIGHUP; started once a SIGHUP ends nothing any more."""
    with anyio.open_signal_receiver(signal.SIGHUP) as hangups:
        task_status.started()
        async for _ in hangups:
            await gateway.reload()


@asynccontextmanager
async def open_server(gateway: Gateway, listener: socket.socket) -> AsyncGenerator[str]:
    """Serve while entered, beside whatever else goes on; gives the base URL."""
    server = build_server(gateway, listener)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve_beside, listener)
        try:
            yield url_of(listener)
        finally:
            server.should_exit = True
