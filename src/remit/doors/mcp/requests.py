"""An MCP request over HTTP: who sent it, where, and in which form it wants its answer."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import msgspec
from mcp_types import INVALID_REQUEST

from remit.doors.asgi import JSON, Exchange, Headers, HttpRefusal
from remit.doors.credentials import Authenticate, admitted, principal_of
from remit.doors.mcp.answers import Answer, error_answer
from remit.doors.mcp.envelope import NULL, Fault
from remit.doors.mcp.sse import KIND as EVENTS
from remit.doors.mcp.sse import respond_once
from remit.model.principals import Principal

OK: Final = 200

_JSON_RANGES: Final = frozenset({JSON, b"application/*", b"*/*"})
_EVENT_RANGES: Final = frozenset({EVENTS, b"text/*", b"*/*"})


@dataclass(frozen=True, slots=True)
class Accepted:
    """The forms of answer that a client takes."""

    json: bool
    events: bool

    @staticmethod
    def of(exchange: Exchange) -> "Accepted":
        """Read the `Accept` header; a client that sends none takes anything (RFC 9110)."""
        if b"accept" in exchange.repeated:
            lines = (value for name, value in exchange.lines if name == b"accept")
            accept = b",".join(lines)
        else:
            accept = exchange.headers.get(b"accept", b"*/*")
        return _accepted(accept)


@lru_cache(256)  # clients send the same few lines for ever
def _accepted(accept: bytes) -> Accepted:
    ranges = {part.partition(b";")[0].strip().lower() for part in accept.split(b",")}
    return Accepted(json=bool(ranges & _JSON_RANGES), events=bool(ranges & _EVENT_RANGES))


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request whose sender is known.

    Attributes:
        scope: The server of the endpoint, or None on the endpoint of all servers.
        credential: What authenticated it, to ask again while a stream is open.
    """

    exchange: Exchange
    authenticate: Authenticate
    credential: str | None
    principal: Principal
    scope: str | None
    accepted: Accepted

    def __repr__(self) -> str:
        """Name the request without its credential."""
        return f"Request(principal={self.principal!r}, scope={self.scope!r})"

    async def again(self) -> Principal:
        """Return who the credential stands for now.

        Raises:
            Refused: It opens this endpoint no longer.
        """
        return await admitted(self.authenticate, self.credential, self.exchange.path)

    async def respond(self, answer: Answer, *, status: int = OK, headers: Headers = ()) -> None:
        """Send one whole message, as an event only to a client that takes nothing else."""
        if status == OK and not self.accepted.json:
            await respond_once(self.exchange, answer.body, headers)
        else:
            await self.exchange.respond(status, answer.body, headers=headers)

    async def accept(self) -> None:
        """Answer a message that needs none."""
        await self.exchange.respond(202)


async def identified(
    exchange: Exchange, authenticate: Authenticate, credential: str | None, scope: str | None
) -> Request:
    """Return the request with its sender.

    Raises:
        NotAdmitted: As `principal_of` says.
    """
    return Request(
        exchange=exchange,
        authenticate=authenticate,
        credential=credential,
        principal=await principal_of(authenticate, credential, exchange.path),
        scope=scope,
        accepted=Accepted.of(exchange),
    )


async def refuse(exchange: Exchange, refusal: HttpRefusal, headers: Headers) -> None:
    """Send what HTTP alone refuses, worded so that MCP clients show it to their user."""
    fault = Fault(code=INVALID_REQUEST, message=str(refusal))
    await exchange.respond(refusal.status, error_answer(NULL, fault).body, headers=headers)
