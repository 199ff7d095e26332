"""`POST /mcp/execute`: one call as plain JSON, on the same path as every other (S3.1-S3.5, R26).

    host and origin → endpoint → credential → body → who acts → Pipeline.run → envelope

It is not MCP: no session, no list, one tool a request, and codes of its own (R14, R22).
"""

import re
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

import anyio
import msgspec
import structlog

from remit.calls.acting import Acting
from remit.calls.current import begin
from remit.calls.ids import new_id
from remit.calls.pipeline import Calls
from remit.doors.asgi import JSON, ClientGone, Exchange, HttpRefusal, later
from remit.doors.credentials import (
    Authenticate,
    NotAdmitted,
    admitted,
    credential_of,
    of_another_tenant,
    principal_of,
)
from remit.doors.execute.answers import (
    Answer,
    Failure,
    failure,
    internal,
    result_of,
    success,
    told_of,
)
from remit.doors.execute.request import Asked, meta_of, read_request
from remit.doors.guard import Guard
from remit.doors.mcp.answers import STOPPED
from remit.doors.mcp.disconnects import Disconnects
from remit.doors.oauth import ProtectedResources
from remit.doors.refusals import Refusals
from remit.errors import AgentNotFound, BadCall, CallDenied, RemitError, StorageUnavailable
from remit.identity.clock import utc_now
from remit.model.calls import Call
from remit.model.endpoints import ROOT, UUID
from remit.model.principals import Principal

log = structlog.get_logger(__name__)

LARGEST_BODY: Final = 10 * 1024 * 1024
"""Bytes of a request that are read (S3.3)."""

_PATH: Final = re.compile(rf"{ROOT}(?:/(?P<tenant>{UUID}))?/execute/?")


def is_execute(path: str) -> bool:
    """Whether *path* is the JSON door's."""
    return path.rstrip("/").endswith("/execute") and _PATH.fullmatch(path) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteDoor:
    """What one tenant's callers reach.

    Attributes:
        uuid: What stands for the tenant in a path, lower case.
        explains: Whether a role of the caller is set to `denials: explain` (R14).
        is_ours: Whether a name means a tool of remit's own, whose codes are taken.
    """

    uuid: str
    pipeline: Calls
    acting: Acting
    explains: Callable[[Principal], bool]
    is_ours: Callable[[str], bool]


class ExecuteEndpoint:
    """Serves `/mcp/execute` of the credential's tenant, whose UUID may stand before `execute`.

    Args:
        doors: Returns the door of the tenant of that name, or None where it is not served.
        authenticate: Who a credential stands for.
        guard: Checks host and origin.
        resources: Says to whom a refused caller turns for a token.
        refusals: Counts whom it turns away.
    """

    def __init__(
        self,
        *,
        doors: Callable[[str], ExecuteDoor | None],
        authenticate: Authenticate,
        guard: Guard,
        resources: ProtectedResources,
        refusals: Refusals,
    ) -> None:
        self._find = doors
        self._doors: dict[str, ExecuteDoor] = {}
        self._authenticate = authenticate
        self._guard = guard
        self._resources = resources
        self._refusals = refusals
        self._disconnects = Disconnects()
        self._is_stopping = False

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Notice clients that leave while entered."""
        async with self._disconnects.running():
            yield

    def stop(self) -> None:
        """Take note that calls which are cancelled from now on are cut off by us."""
        self._is_stopping = True

    async def __call__(self, exchange: Exchange) -> None:
        """Answer one request."""
        try:
            await self._serve(exchange)
        except HttpRefusal as refusal:
            await self._refuse(exchange, refusal)
        except ClientGone:
            return
        except anyio.get_cancelled_exc_class():
            if exchange.started or not self._is_stopping:
                raise
            await self._refuse(exchange, HttpRefusal(503, STOPPED))
        except StorageUnavailable:
            log.exception("credential or agent cannot be looked up")
            await self._refuse(exchange, later(5))
        except Exception:
            log.exception("request failed", path=exchange.path)
            if exchange.started:
                raise
            await self._send(exchange, failure(internal(), utc_now()))

    async def _refuse(self, exchange: Exchange, refusal: HttpRefusal) -> None:
        self._refusals.note(refusal)
        code = "INVALID_INPUT" if refusal.status < 500 else "INTERNAL_ERROR"  # noqa: PLR2004 - ours
        if isinstance(refusal, NotAdmitted):
            code = "PERMISSION_DENIED"
        told = Failure(
            code=code,
            message=str(refusal),
            status=refusal.status,
            headers=self._resources.headers(exchange, refusal),
        )
        await self._send(exchange, failure(told, utc_now()))

    async def _send(self, exchange: Exchange, answer: Answer) -> None:
        await exchange.respond(answer.status, answer.body, rest=answer.rest, headers=answer.headers)

    async def _serve(self, exchange: Exchange) -> None:
        self._guard.check(exchange)
        principal = await principal_of(
            self._authenticate, credential_of(exchange.head), exchange.path
        )
        door = self._door_of(exchange.path, principal)
        if exchange.method != "POST":
            raise HttpRefusal(405, "tools are called with POST", [(b"allow", b"POST")])
        kind = exchange.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != JSON:
            raise HttpRefusal(415, "send the body as application/json")
        body = await exchange.body(LARGEST_BODY)
        try:
            asked, meta = read_request(body), meta_of(exchange)
        except BadCall as wrong:
            told = Failure(code=wrong.code, message=str(wrong))
            await self._send(exchange, failure(told, utc_now()))
            return
        call = Call(
            id=new_id(),
            principal=principal,
            requested=asked.tool,
            scope=None,
            arguments=asked.arguments,
            meta=meta,
            started=time.monotonic(),
            again=partial(
                admitted, self._authenticate, credential_of(exchange.head), exchange.path
            ),
        )
        answer: bytes | Failure | None = None
        with self._disconnects.watch(exchange):
            answer = await _answer(door, call, asked)
        if answer is not None:
            now = utc_now()
            sent = failure(answer, now) if isinstance(answer, Failure) else success(answer, now)
            await self._send(exchange, sent)

    def _door_of(self, path: str, principal: Principal) -> ExecuteDoor:
        door = self._doors.get(principal.tenant) or self._find(principal.tenant)
        if door is None:
            raise later(1)
        self._doors[principal.tenant] = door
        found = _PATH.fullmatch(path)
        tenant: str | None = found["tenant"] if found else None
        if tenant is not None and tenant.lower() != door.uuid:
            raise of_another_tenant()
        return door


async def _answer(door: ExecuteDoor, call: Call, asked: Asked) -> bytes | Failure:
    """Make the call; whatever goes wrong with it becomes an answer."""
    current = begin(call.id, call.principal)
    try:
        return await _made(door, call, asked)
    except StorageUnavailable:
        raise
    except RemitError as error:
        return told_of(error, call, explains=False, is_absent=False)
    except Exception:
        log.exception("request failed", call_id=call.id)
        return internal(call.id)
    finally:
        current.is_over = True


async def _made(door: ExecuteDoor, call: Call, asked: Asked) -> bytes | Failure:
    try:
        agent = await door.acting.agent_of(call.principal, asked.agent, call.requested)
    except (AgentNotFound, BadCall, CallDenied) as refusal:
        await door.pipeline.refuse(call, refusal)
        details = {"requestId": call.id}
        return Failure(code=refusal.code, message=str(refusal), details=details)
    if agent is not None:
        call = msgspec.structs.replace(call, agent=agent)
    try:
        outcome = await door.pipeline.run(call)
    except CallDenied as denial:
        return told_of(
            denial,
            call,
            explains=door.explains(call.principal),
            is_absent=not denial.layer and door.acting.may_name(call),
        )
    return result_of(outcome.result, call.id, is_ours=door.is_ours(call.requested))
