"""A toolset's tools from a running gateway, over HTTP."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio

from remit.bridges.answers import DENIED, broken, denied, failed
from remit.client import AsyncClient, me
from remit.client.tools import CallResult, ToolDefinition
from remit.errors import CallRefused, ClientError, CredentialRefused, GatewayUnreachable
from remit.library.beside import Beside
from remit.model.call_meta import CODE, REQUEST

LONGEST_CALL: Final = 630.0
"""Seconds a call may take: a gateway answers after 600 at the latest (R24)."""

LONGEST_LIST: Final = 60.0
"""Seconds a list may take."""


class RemoteSource:
    """What the holder of a key may use, by a client that is opened when it is first asked.

    Attributes:
        caller: The gateway; whose key it is only that knows.
    """

    def __init__(
        self,
        url: str,
        key: str | None,
        server: str | None,
        tenant: str | None,
        *,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.caller = f"the holder of the key at {url}"
        self._url = url
        self._server = server

        @asynccontextmanager
        async def opened() -> AsyncGenerator[AsyncClient]:
            client = AsyncClient(url, key=key, tenant=tenant, timeout=LONGEST_CALL, meta=meta)
            async with client:
                yield client

        self._client = Beside(opened, name="remit toolset")

    async def tools(self) -> tuple[ToolDefinition, ...]:
        """Return the tools as of now.

        Raises:
            ClientError: As `Toolset.tools` says.
        """
        return await self._client.use(self._listed)

    async def why_none(self) -> str:
        """Say who has none, and why, as far as the gateway tells its caller."""
        return await self._client.use(self._explained)

    async def begin(
        self,
        name: str,
        arguments: Mapping[str, Any],
        told: Callable[[float, float | None, str], None] | None,
    ) -> "asyncio.Future[CallResult]":
        """Return a call that is under way; cancelling it cancels the call at the gateway.

        Raises:
            ClientError: There is no key, or the URL is none.
        """

        async def call(client: AsyncClient) -> CallResult:
            try:
                return await client.call_tool(name, arguments, server=self._server, progress=told)
            except CallRefused as refusal:
                return _read(name, refusal)
            except (GatewayUnreachable, CredentialRefused):
                raise
            except ClientError as error:
                return broken(name, str(error), error.request_id)

        return await self._client.begin(call)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def _listed(self, client: AsyncClient) -> tuple[ToolDefinition, ...]:
        try:
            with anyio.fail_after(LONGEST_LIST):
                return tuple(await client.list_tools(server=self._server))
        except TimeoutError:
            raise GatewayUnreachable(
                f"{self._url} did not list its tools within {LONGEST_LIST:g} s", sent=True
            ) from None

    async def _explained(self, client: AsyncClient) -> str:
        try:
            holder = await client.ask(me.get())
            found = await client.ask(me.tools(server=self._server, limit=1))
        except ClientError as error:  # the list itself is no worse for it
            return f"the gateway does not say why: {error}"
        return f"{holder.subject}: {found.note}"


def _read(name: str, refusal: CallRefused) -> CallResult:
    if refusal.code == DENIED:
        reason = refusal.reason if refusal.rule else ""
        return denied(name, refusal.request_id, reason, refusal.rule)
    return failed(refusal.reason, {CODE: refusal.code, REQUEST: refusal.request_id})
