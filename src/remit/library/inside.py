"""The gateway itself, open inside a program, for one subject.

Requests go to the very door that `remit serve` and `remit stdio` answer at, so that lists,
refusals and records are theirs; changes that other processes make are followed (R17).
"""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Literal, cast

from remit.app.doors import build_door
from remit.app.gateway import Gateway, open_gateway
from remit.app.subjects import subjects_of
from remit.doors.mcp.answers import Answer
from remit.doors.mcp.caller import Caller
from remit.doors.mcp.conversation import Telling, Wishes
from remit.doors.mcp.envelope import asked
from remit.library.log import log_through_logging
from remit.model.principals import Principal
from remit.model.protocol import (
    CLIENT_CAPABILITIES_META_KEY,
    LATEST_MODERN_VERSION,
    PROTOCOL_VERSION_META_KEY,
)
from remit.settings import Settings

AUTHOR: Final = "toolset"
"""Who is the author of a revision that a changed file becomes when a program opens it (R18)."""

Params = Mapping[str, Any]

Told = Callable[[Params], Awaitable[None]]
"""Takes the params of a notification of progress."""

_ENVELOPE: Final[Params] = {
    PROTOCOL_VERSION_META_KEY: LATEST_MODERN_VERSION,
    CLIENT_CAPABILITIES_META_KEY: {},
}


class Inside:
    """An open gateway, as one subject meets it; lives on one event loop."""

    def __init__(self, gateway: Gateway, subject: str, server: str | None) -> None:
        self._gateway = gateway
        self._subject = subject
        self._server = server
        self._door = build_door(gateway, gateway.home)
        self._known: Principal | None = None

    async def principal(self) -> Principal:
        """Return who the subject is now: the same object while nothing about it changes.

        Raises:
            BadCall: It is no subject.
            NotFound: There is none of that name; the text names those that there are.
            Refused: It may not come in any more.
        """
        found = await subjects_of(self._gateway.installation).find(self._subject)
        known = found if self._known != found else self._known or found
        self._known = known  # permits are remembered by it
        return known

    async def ask(
        self, method: Literal["tools/list", "tools/call"], params: Params, told: Told | None = None
    ) -> dict[str, Any]:
        """Send a request and return the answer: a mapping with `result`, or with `error`.

        Args:
            method: Of MCP.
            params: Without `_meta`; everything in them can be written as JSON.
            told: Hears of progress; else none is asked for.

        Raises:
            RemitError: There is no such subject any more, as `principal` says.
        """
        meta = _ENVELOPE if told is None else {**_ENVELOPE, "progressToken": 1}
        raw = {name: json.dumps(value).encode() for name, value in params.items()}
        message = asked(b"1", method, {**raw, "_meta": json.dumps(meta).encode()})
        telling = None if told is None else Telling(_Ear(told), Wishes.of(message), is_modern=True)
        caller = Caller(
            principal=await self.principal(),
            scope=self._server,
            version=LATEST_MODERN_VERSION,
            modern=True,
            conversation=telling,
        )
        # Only `subscriptions/listen` is answered by a stream, and only notifications by nothing.
        answer = cast("Answer", await self._door.answer(message, caller))
        return cast("dict[str, Any]", json.loads(answer.whole))

    async def why_none(self) -> str:
        """Say why the subject has no tools."""
        return self._gateway.home.listing.instructions(await self.principal(), self._server)


class _Ear:
    """Where a door sends what it has to say while a call runs."""

    def __init__(self, told: Told) -> None:
        self._told = told

    async def send(self, message: bytes) -> None:
        """Hand the params on; of all notifications only progress was asked for."""
        await self._told(json.loads(message)["params"])


@asynccontextmanager
async def open_inside(
    settings: Settings, subject: str, server: str | None
) -> AsyncGenerator[Inside]:
    """Open a gateway for *subject*; returns once its servers are up or have failed.

    Args:
        settings: Where declaration, record and counters are. A changed file becomes a revision.
        subject: As `--as` of the commands has it.
        server: One server's endpoint, or None for that of all.

    Raises:
        DeclarationError: The declaration is wrong.
        Conflict: A changed file would overwrite newer revisions.
        NotFound: There is no such tenant.
        StartupError: Database or journal cannot be opened.
    """
    log_through_logging()
    async with open_gateway(settings, author=AUTHOR) as gateway:
        await gateway.home.fleet.settled()
        yield Inside(gateway, subject, server)
