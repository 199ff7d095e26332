"""An MCP request over HTTP: who sent it, where, and in which form it wants its answer."""

from collections.abc import Awaitable
from typing import Final

import msgspec

from remit.doors.asgi import Exchange, HttpRefusal
from remit.doors.credentials import Authenticate, admitted
from remit.doors.head import Headers
from remit.doors.mcp.answers import Answer, error_answer
from remit.doors.mcp.approach import Accepted, Approach
from remit.doors.mcp.envelope import NULL, Fault
from remit.doors.mcp.sse import respond_once
from remit.model.principals import Principal

OK: Final = 200


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request whose sender is known.

    Attributes:
        approach: How it came.
        authenticate: Asks again while a stream is open.
    """

    exchange: Exchange
    approach: Approach
    authenticate: Authenticate
    principal: Principal

    @property
    def scope(self) -> str | None:
        """The server of the endpoint, or None on the endpoint of all servers."""
        return self.approach.scope

    @property
    def accepted(self) -> Accepted:
        """The forms of answer that its client takes."""
        return self.approach.accepted

    def __repr__(self) -> str:
        """Name the request without its credential."""
        return f"Request(principal={self.principal!r}, scope={self.scope!r})"

    async def again(self) -> Principal:
        """Return who the credential stands for now.

        Raises:
            Refused: It opens this endpoint no longer.
        """
        return await admitted(self.authenticate, self.approach.credential, self.exchange.path)

    def respond(
        self, answer: Answer, *, status: int = OK, headers: Headers = ()
    ) -> Awaitable[None]:
        """Send one whole message, as an event only to a client that takes nothing else."""
        if status == OK and not self.approach.accepted.json:
            return respond_once(self.exchange, answer.whole, headers)
        return self.exchange.respond(status, answer.body, rest=answer.rest, headers=headers)

    async def accept(self) -> None:
        """Answer a message that needs none."""
        await self.exchange.respond(202)


async def refuse(exchange: Exchange, refusal: HttpRefusal, headers: Headers) -> None:
    """Send what HTTP alone refuses, worded so that MCP clients show it to their user."""
    fault = Fault(code=refusal.rpc_code, message=str(refusal))
    await exchange.respond(refusal.status, error_answer(NULL, fault).body, headers=headers)
