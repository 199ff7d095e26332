"""`Client`: a gateway over HTTP, for programs that wait."""

import codecs
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

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
from remit.client.tools import CallResult, ToolDefinition
from remit.client.transport import (
    BROKEN,
    LIMITS,
    NO_CONNECTION,
    NO_PROXY,
    TIMEOUT,
    closed,
    too_slow,
    trust_for,
    unreachable,
)

T = TypeVar("T")

Hear = Callable[[Notice], object]


class _Limit:
    """The time that something may take from now on.

    Attributes:
        seconds: All of it.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._until = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until it is over."""
        return self._until - time.monotonic()


class Client:
    """One caller of a gateway; several threads may use it at the same time, and forked processes.

    Args:
        url: The gateway's root, such as `http://127.0.0.1:8400`.
        key: Its API key or token; `$REMIT_KEY` if None.
        tenant: Whose things are asked for: its id (a UUID) or, for the HTTP API, its name;
            None for the tenant of the key.
        timeout: Seconds that one answer or one list may take; it is noticed when a piece of the
            answer arrives, or after so many seconds without one.
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
        self._closing = threading.Event()
        self._http = self._new_http()
        self._process = os.getpid()

    def __repr__(self) -> str:
        """Name the gateway, and never the key."""
        return f"Client({self._address.base!r})"

    def __enter__(self) -> Self:
        """Open nothing yet: connections are made when they are needed."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close all connections."""
        self.close()

    def close(self) -> None:
        """Close all connections.

        What another thread still waits for ends with a `ClientError`, when its time is over at the
        latest: nothing wakes a thread that reads from a socket.
        """
        self._closing.set()
        self._http.close()

    def _new_http(self) -> httpx2.Client:
        return httpx2.Client(
            headers=self._address.headers,
            timeout=self._timeout,
            limits=LIMITS,
            follow_redirects=False,
            mounts=NO_PROXY if self._address.is_loopback else None,
            verify=trust_for(self._address),
        )

    def _own_http(self) -> httpx2.Client:
        """Return this process's connections: on one that a fork shares, answers are mixed up."""
        if self._process != os.getpid():
            self._http = self._new_http()
            self._process = os.getpid()
        return self._http

    def list_tools(self, *, server: str | None = None) -> list[ToolDefinition]:
        """Return the tools that the caller may use now, of one server or of all.

        Raises:
            ClientError: They cannot be had.
        """
        return self._take(self._door.listing(server))

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        server: str | None = None,
        progress: Callable[[float, float | None, str], object] | None = None,
        timeout: float | None = None,
    ) -> CallResult:
        """Call a tool, once.

        Args:
            name: As `list_tools` has it for the same *server*.
            arguments: JSON values.
            server: Whose endpoint is meant; None for that of all servers.
            timeout: Seconds for this call; those of the client if None.
            progress: Told how far the call is, where its server says so; what it raises ends the
                call.

        Raises:
            CallRefused: The gateway did not make the call.
            GatewayUnreachable: It cannot be reached; `sent` says whether the call may have run.
            ClientError: Nobody can say what came of it.
        """
        token = None if progress is None else self._door.new_token()

        def hear(notice: Notice) -> None:
            said = None if token is None else progress_of(notice, token)
            if said is not None and progress is not None:
                progress(*said)

        calling = self._door.calling(name, arguments or {}, server, token)
        return self._take(calling, hear, timeout)

    def ask(self, operation: Operation[T]) -> T:
        """Ask for something of the HTTP API.

        Raises:
            ProblemDetails: The gateway refuses.
            ClientError: There is no answer of use.
        """
        return self.ask_tagged(operation).value

    def ask_tagged(self, operation: Operation[T]) -> Tagged[T]:
        """Do the same and tell the `ETag`, which a change of what was read asks for."""
        return self._take(asking(operation, self._address.base, self._address.tenant))

    def pages(self, operation: Operation[Page[T]]) -> Generator[T]:
        """Give every entry of a list, from as many pages as it has.

        Raises:
            ClientError: A page cannot be had; what was given before holds.
        """
        wanted: Operation[Page[T]] | None = first_page(operation)
        while wanted is not None:
            page = self.ask(wanted)
            yield from page.items
            wanted = next_page(wanted, page)

    @contextmanager
    def stream(self, operation: Operation[str]) -> Generator[Iterator[str]]:
        """Give the parts of a text of any length, as they come.

        Raises:
            ClientError: There is none, or it breaks off.
        """
        if self._closing.is_set():
            raise closed()
        request = request_of(operation, self._address.tenant)
        limit = _Limit(self._timeout)
        with self._failing(limit), self._open(request, limit.seconds) as response:
            reading = self._reading(request, response)
            if not response.is_success:
                self._read(response, reading, limit, None)
                raise problem_of(self._address.base, reading.finish())
            yield _parts(response)

    def _take(self, steps: Steps[T], hear: Hear | None = None, seconds: float | None = None) -> T:
        if self._closing.is_set():
            raise closed()
        limit = _Limit(self._timeout if seconds is None else seconds)
        try:
            request = next(steps)
            while True:
                request = steps.send(self._send(request, limit, hear))
        except StopIteration as end:
            return end.value
        finally:
            steps.close()

    def _send(self, request: Request, limit: _Limit, hear: Hear | None) -> Reply:
        if request.after and self._closing.wait(min(request.after, max(0.0, limit.left))):
            raise closed()
        with self._failing(limit, has_begun=request.after > 0):
            try:
                return self._exchange(request, limit, hear)
            except BROKEN:
                if self._closing.is_set() or not request.is_repeatable:
                    raise
                return self._exchange(request, limit, hear)

    @contextmanager
    def _failing(self, limit: _Limit, *, has_begun: bool = False) -> Generator[None]:
        try:
            yield
        except httpx2.TransportError as error:
            if self._closing.is_set():
                raise closed() from error
            if isinstance(error, httpx2.ReadTimeout):
                raise too_slow(self._address.base, limit.seconds, sent=True) from error
            if isinstance(error, NO_CONNECTION):
                raise too_slow(self._address.base, limit.seconds, sent=has_begun) from error
            raise unreachable(self._address.base, error, has_begun=has_begun) from error

    def _exchange(self, request: Request, limit: _Limit, hear: Hear | None) -> Reply:
        if limit.left <= 0:
            raise too_slow(self._address.base, limit.seconds, sent=request.after > 0)
        with self._open(request, limit.left) as response:
            reading = self._reading(request, response)
            self._read(response, reading, limit, hear)
            return reading.finish()

    def _read(
        self, response: httpx2.Response, reading: Reading, limit: _Limit, hear: Hear | None
    ) -> None:
        for piece in response.iter_raw():
            for notice in reading.feed(piece):
                if hear is not None:
                    hear(notice)
            if reading.is_over:
                break
            if limit.left <= 0:
                raise too_slow(self._address.base, limit.seconds, sent=True)

    def _open(self, request: Request, timeout: float) -> AbstractContextManager[httpx2.Response]:
        return self._own_http().stream(
            request.method,
            self._address.base + request.path,
            params=request.query or None,
            content=request.body or None,
            headers=request.headers,
            timeout=timeout,
        )

    def _reading(self, request: Request, response: httpx2.Response) -> Reading:
        return Reading(
            request,
            base=self._address.base,
            status=response.status_code,
            headers=response.headers,
        )


def _parts(response: httpx2.Response) -> Generator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for piece in response.iter_raw():
        yield decoder.decode(piece)
