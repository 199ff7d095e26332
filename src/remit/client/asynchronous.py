"""`AsyncClient`: a gateway over HTTP, for programs that await."""

import codecs
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from inspect import isawaitable
from types import TracebackType
from typing import Any, Self, TypeVar

import anyio
import anyio.lowlevel
import httpx2

from remit.client.address import Address
from remit.client.door import Door, progress_of
from remit.client.exchange import Notice, Reading, Reply, Request, Steps
from remit.client.operations import (
    Operation,
    Page,
    Tagged,
    asking,
    first_page,
    next_page,
    problem_of,
    request_of,
)
from remit.client.tools import CallResult, Progress, ToolDefinition
from remit.client.transport import (
    BROKEN,
    LIMITS,
    NO_PROXY,
    TIMEOUT,
    Sending,
    closed,
    in_another_loop,
    too_slow,
    trust_for,
    unreachable,
)

T = TypeVar("T")

Hear = Callable[[Notice], Awaitable[None]]


class AsyncClient:
    """One caller of a gateway; its tasks may call at the same time, all in one event loop.

    A caller that is cancelled cancels its call at the gateway.

    Args:
        url: The gateway's root, such as `http://127.0.0.1:8400`.
        key: Its API key or token; `$REMIT_KEY` if None.
        tenant: Whose things are asked for: its id (a UUID) or, for the HTTP API, its name;
            None for the tenant of the key.
        timeout: Seconds that one answer or one list may take, from first to last byte.
        meta: What goes into the `_meta` of each request beside what has to, such as the
            `remit/member` that acts.

    Raises:
        ClientError: The address is none, or there is no key.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        tenant: str | None = None,
        timeout: float = TIMEOUT,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self._address = Address.parse(url, key=key, tenant=tenant)
        self._timeout = timeout
        self._door = Door(self._address, meta or {})
        self._running: set[anyio.CancelScope] = set()
        self._is_closed = False
        self._loop: object = None
        self._http = httpx2.AsyncClient(
            headers=self._address.headers,
            timeout=None,
            limits=LIMITS,
            follow_redirects=False,
            mounts=NO_PROXY if self._address.is_loopback else None,
            verify=trust_for(self._address),
        )

    def __repr__(self) -> str:
        """Name the gateway, and never the key."""
        return f"AsyncClient({self._address.base!r})"

    async def __aenter__(self) -> Self:
        """Open nothing yet: connections are made when they are needed."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close all connections."""
        await self.aclose()

    async def aclose(self) -> None:
        """End what still runs, with a `ClientError` for each, and close all connections.

        Raises:
            ClientError: It was used in another event loop.
        """
        self._stay_in_loop()
        self._is_closed = True
        for scope in tuple(self._running):
            scope.cancel()
        await self._http.aclose()

    async def list_tools(self, *, server: str | None = None) -> list[ToolDefinition]:
        """Return the tools that the caller may use now, of one server or of all.

        Raises:
            ClientError: They cannot be had.
        """
        return await self._take(self._door.listing(server))

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        server: str | None = None,
        progress: Progress | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - it bounds what the client's would
    ) -> CallResult:
        """Call a tool, once.

        Args:
            name: As `list_tools` has it for the same *server*.
            arguments: JSON values.
            server: Whose endpoint is meant; None for that of all servers.
            timeout: Seconds for this call; those of the client if None.
            progress: Told how far the call is, where its server says so.

        Raises:
            CallRefused: The gateway did not make the call.
            GatewayUnreachable: It cannot be reached; `sent` says whether the call may have run.
            ClientError: Nobody can say what came of it.
        """
        token = None if progress is None else self._door.new_token()

        async def hear(notice: Notice) -> None:
            said = None if token is None else progress_of(notice, token)
            if said is not None and progress is not None:
                taking = progress(*said)
                if isawaitable(taking):
                    await taking

        calling = self._door.calling(name, arguments or {}, server, token)
        return await self._take(calling, hear, timeout)

    async def ask(self, operation: Operation[T]) -> T:
        """Ask for something of the HTTP API.

        Raises:
            ProblemDetails: The gateway refuses.
            ClientError: There is no answer of use.
        """
        return (await self.ask_tagged(operation)).value

    async def ask_tagged(self, operation: Operation[T]) -> Tagged[T]:
        """Do the same and tell the `ETag`, which a change of what was read asks for."""
        return await self._take(asking(operation, self._address.base, self._address.tenant))

    async def pages(self, operation: Operation[Page[T]]) -> AsyncGenerator[T]:
        """Give every entry of a list, from as many pages as it has.

        Raises:
            ClientError: A page cannot be had; what was given before holds.
        """
        wanted: Operation[Page[T]] | None = first_page(operation)
        while wanted is not None:
            page = await self.ask(wanted)
            for item in page.items:
                yield item
            wanted = next_page(wanted, page)

    @asynccontextmanager
    async def stream(self, operation: Operation[str]) -> AsyncGenerator[AsyncIterator[str]]:
        """Give the parts of a text of any length, as they come.

        Raises:
            ClientError: There is none, or it breaks off.
        """
        request = request_of(operation, self._address.tenant)
        sending = Sending()
        opening = self._open(request, sending)
        try:
            response = await self._within(opening.__aenter__, sending)
            try:
                reading = self._reading(request, response)
                if not response.is_success:
                    await self._within(partial(self._read, response, reading, None), sending)
                    raise problem_of(self._address.base, reading.finish())
                yield self._parts(response, sending)
            finally:
                await opening.__aexit__(None, None, None)
        except httpx2.TransportError as error:
            raise unreachable(self._address.base, error) from error

    async def _parts(self, response: httpx2.Response, sending: Sending) -> AsyncGenerator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        pieces = response.aiter_raw()
        while piece := await self._within(partial(anext, pieces, b""), sending):
            yield decoder.decode(piece)

    async def _take(
        self, steps: Steps[T], hear: Hear | None = None, seconds: float | None = None
    ) -> T:
        sending = Sending()
        try:
            return await self._within(partial(self._carry, steps, hear, sending), sending, seconds)
        finally:
            steps.close()

    async def _within(
        self, act: Callable[[], Awaitable[T]], sending: Sending, seconds: float | None = None
    ) -> T:
        """Act within the time limit, unless the client is closed meanwhile."""
        if self._is_closed:
            raise closed()
        self._stay_in_loop()
        limit = self._timeout if seconds is None else seconds
        scope = anyio.CancelScope(deadline=anyio.current_time() + limit)
        self._running.add(scope)
        try:
            with scope:
                return await act()
        finally:
            self._running.discard(scope)
        if self._is_closed:
            raise closed()
        raise too_slow(self._address.base, limit, sent=sending.has_begun)

    def _stay_in_loop(self) -> None:
        """Keep to the event loop of the first use: connections cannot be used in any other."""
        here = anyio.lowlevel.current_token()
        if self._loop is not None and self._loop != here:
            raise in_another_loop()
        self._loop = here

    async def _carry(self, steps: Steps[T], hear: Hear | None, sending: Sending) -> T:
        try:
            request = next(steps)
            while True:
                request = steps.send(await self._send(request, hear, sending))
        except StopIteration as end:
            return end.value

    async def _send(self, request: Request, hear: Hear | None, sending: Sending) -> Reply:
        if request.after:
            await anyio.sleep(request.after)
        try:
            try:
                return await self._exchange(request, hear, sending)
            except BROKEN:
                if not request.is_repeatable:
                    raise
                return await self._exchange(request, hear, sending)
        except httpx2.TransportError as error:
            has_begun = request.after > 0
            raise unreachable(self._address.base, error, has_begun=has_begun) from error

    async def _exchange(self, request: Request, hear: Hear | None, sending: Sending) -> Reply:
        async with self._open(request, sending) as response:
            reading = self._reading(request, response)
            await self._read(response, reading, hear)
            return reading.finish()

    async def _read(self, response: httpx2.Response, reading: Reading, hear: Hear | None) -> None:
        async for piece in response.aiter_raw():
            for notice in reading.feed(piece):
                if hear is not None:
                    await hear(notice)
            if reading.is_over:
                break

    def _open(
        self, request: Request, sending: Sending
    ) -> AbstractAsyncContextManager[httpx2.Response]:
        return self._http.stream(
            request.method,
            self._address.base + request.path,
            params=request.query or None,
            content=request.body or None,
            headers=request.headers,
            extensions={"trace": sending.take_note},
        )

    def _reading(self, request: Request, response: httpx2.Response) -> Reading:
        return Reading(
            request,
            base=self._address.base,
            status=response.status_code,
            headers=response.headers,
        )
