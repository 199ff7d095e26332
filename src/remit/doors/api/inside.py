"""The routes of the API, asked in this process for somebody who is known already.

The console is one more client of the API: what it shows and does goes through the same routes,
rules and records as everybody's requests, without a socket in between (issue "The console").
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import unquote, urlencode

import structlog
from anyio import sleep_forever

from remit.calls.current import begin
from remit.calls.ids import new_id
from remit.client.exchange import Reading, Reply, Request
from remit.client.operations import Operation, Tagged, asking, request_of
from remit.doors.api.access import refused_change
from remit.doors.api.needs import Services
from remit.doors.asgi import App, Event, Receive, Scope, Send, replay
from remit.errors import Refused
from remit.model.principals import Principal

T = TypeVar("T")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """Asks the API on behalf of somebody.

    Attributes:
        routes: The routes, behind no edge.
        services: What the routes ask.
    """

    routes: App = field(repr=False)
    services: Services = field(repr=False)

    async def ask(
        self, principal: Principal, operation: Operation[T], *, base: str, tenant: str | None
    ) -> Tagged[T]:
        """Return what the API answers, and its `ETag`.

        Args:
            principal: Who asks; the routes decide what it may.
            operation: What is asked, from a module of `remit.client`.
            base: The root of this gateway's own URLs, as the caller reaches it.
            tenant: Which tenant is meant; None for the principal's own.

        Raises:
            ProblemDetails: The API refuses.
            ClientError: The answer is none.
        """
        steps = asking(operation, base, tenant)
        request = next(steps)
        try:
            steps.send(await self._reply(principal, request, base))
        except StopIteration as end:
            return end.value
        raise AssertionError("an operation is one request")  # pragma: no cover

    async def forward(
        self,
        principal: Principal,
        operation: Operation[str],
        receive: Receive,
        send: Send,
        *,
        base: str,
        tenant: str | None,
    ) -> None:
        """Send what the API answers as it comes, for texts of any length.

        Args:
            principal: Who asks.
            operation: What is asked.
            receive: Tells when whoever reads the answer is gone, so that nothing more is made.
            send: Takes the answer.
            base: As for `ask`.
            tenant: As for `ask`.
        """
        await self._serve(principal, request_of(operation, tenant), base, receive, send)

    async def refuse(self, principal: Principal, operation: str, otherwise: str) -> Refused:
        """Put on record, as a route does, what somebody tried to change who may not.

        For whom a page is not meant; so no route is asked.

        Args:
            principal: Who tried.
            operation: At what, such as `keys.create`.
            otherwise: Why it may not, in the words of `access.py`.

        Raises:
            AuditUnavailable: It can be written nowhere.
        """
        return await refused_change(
            self.services,
            principal,
            operation=operation,
            request_id=new_id(),
            otherwise=otherwise,
        )

    async def _reply(self, principal: Principal, request: Request, base: str) -> Reply:
        status, headers = 0, dict[str, str]()
        body = bytearray()

        async def keep(event: Event) -> None:
            nonlocal status
            if event["type"] == "http.response.start":
                status = event["status"]
                headers.update({n.decode(): v.decode("latin-1") for n, v in event["headers"]})
            else:
                body.extend(event.get("body", b""))

        await self._serve(principal, request, base, _never, keep)
        reading = Reading(request, base=base, status=status, headers=headers)
        reading.feed(bytes(body))
        return reading.finish()

    async def _serve(
        self, principal: Principal, request: Request, base: str, receive: Receive, send: Send
    ) -> None:
        scope = _scope_of(request)
        scope["remit.principal"] = principal
        scope["remit.services"] = self.services
        scope["remit.base"] = base
        scope["remit.request_id"] = new_id()
        scope["remit.current"] = begin(scope["remit.request_id"], principal)
        started = False

        async def send_and_note(event: Event) -> None:
            nonlocal started
            started = True
            await send(event)

        try:
            await self.routes(scope, replay(request.body, receive), send_and_note)
        except Exception:
            log.exception("request failed", path=request.path)
            if not started:
                raise
        finally:
            scope["remit.current"].is_over = True


def _scope_of(request: Request) -> Scope:
    headers = {"host": "console", **request.headers}
    if request.body:
        headers["content-length"] = str(len(request.body))
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote(request.path),
        "raw_path": request.path.encode(),
        "query_string": urlencode(request.query).encode(),
        "root_path": "",
        "headers": _as_lines(headers),
        "client": None,
        "server": None,
    }


def _as_lines(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]


async def _never() -> Event:
    """Wait: whoever asks in this process stays until there is an answer, or is cancelled."""
    await sleep_forever()
    raise AssertionError("nothing wakes it")  # pragma: no cover
