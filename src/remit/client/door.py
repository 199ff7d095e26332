"""The MCP door in the era of 2026-07-28: lists and calls as steps, whatever carries them."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

from remit.client.address import Address
from remit.client.exchange import JSON, Notice, Reply, Request, Steps, no_answer
from remit.client.tools import CallResult, ToolDefinition
from remit.errors import CallRefused, ClientError, CredentialRefused, GatewayUnreachable
from remit.model.call_meta import CODE, OUTCOME, REQUEST, RETRY_AFTER, UNKNOWN_OUTCOME
from remit.model.conversation import PAUSES
from remit.model.header_values import encode_header_value
from remit.model.param_headers import (
    Path,
    find_invalid_x_mcp_header,
    mcp_param_headers,
    x_mcp_header_map,
)
from remit.model.protocol import (
    CLIENT_CAPABILITIES_META_KEY,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    LATEST_MODERN_VERSION,
    PROTOCOL_VERSION_META_KEY,
)

MOST_PAGES: Final = 1000
"""Pages of one list; a list that goes on for longer never ends."""

NOT_MADE: Final = frozenset({"INVALID_INPUT", "LIMIT_REACHED", "PERMISSION_DENIED"})
"""Codes of results by which the gateway says that it did not make the call (R22)."""

_META: Final[Mapping[str, object]] = {
    PROTOCOL_VERSION_META_KEY: LATEST_MODERN_VERSION,
    CLIENT_CAPABILITIES_META_KEY: {},
}

Json = Mapping[str, Any]
Headers = Mapping[Path, str]


class Door:
    """What one client says at the door, and what it remembers of the tools there.

    Args:
        address: Where the gateway is.
        meta: What goes into the `_meta` of each request beside what has to.
    """

    def __init__(self, address: Address, meta: Json) -> None:
        self._address = address
        self._meta = {**meta, **_META}
        self._numbers = itertools.count(1)
        # Tools whose arguments are mirrored in headers; nearly none, by endpoint.
        self._mirrored: dict[str | None, Mapping[str, Headers]] = {}

    def listing(self, server: str | None) -> Steps[list[ToolDefinition]]:
        """Return the tools of *server*, or of all servers, in the gateway's order.

        Raises:
            ClientError: There is no such list, or no end of it.
        """
        found: list[ToolDefinition] = []
        cursors: set[str] = set()
        params: dict[str, object] = {}
        for _ in range(MOST_PAGES):
            reply = yield self._request("tools/list", params, server, is_repeatable=True)
            result = self._result(reply)
            entries = result.get("tools")
            if not isinstance(entries, list):
                raise no_answer(self._address.base, reply.status)
            tools = [ToolDefinition.of(entry) for entry in cast("list[object]", entries)]
            found += [tool for tool in tools if tool is not None]
            cursor = result.get("nextCursor")
            if cursor is None:
                self._remember(server, found)
                return found
            if not isinstance(cursor, str) or cursor in cursors:
                break
            cursors.add(cursor)
            params = {"cursor": cursor}
        raise ClientError(f"{self._address.base} lists tools without an end")

    def calling(
        self, name: str, arguments: Json, server: str | None, token: int | None
    ) -> Steps[CallResult]:
        """Return what the call of a tool gives; it is sent once.

        A call that was turned away because its headers are not what the tool asks for is sent
        again, with those that its schema names (2026-07-28, basic/transports). One whose answer is
        a state and no question goes on with that state (basic/patterns/mrtr).

        Args:
            name: As the list has it.
            arguments: JSON values.
            server: Whose endpoint is meant, or None.
            token: By which progress is told, or None.

        Raises:
            CallRefused: It was not made.
            ClientError: Nobody can say what came of it.
        """
        reply = yield self._call(name, arguments, server, token)
        if _error_code(reply) == HEADER_MISMATCH:
            before = self._headers(name, arguments, server)
            yield from self.listing(server)
            if self._headers(name, arguments, server) != before:
                reply = yield self._call(name, arguments, server, token)
        result = _made(self._result(reply))
        for pause in PAUSES:
            state = state_alone(result)
            if state is None:
                break
            again = self._call(name, arguments, server, token, state)
            result = self._of_later_round((yield replace(again, after=pause)))
        if state_alone(result) is not None:
            raise ClientError(f"the tool has no answer after {len(PAUSES)} further rounds")
        if result.get("resultType", "complete") != "complete":
            raise ClientError(
                "the tool asks its caller a question, which this client cannot answer"
            )
        return CallResult.of(result)

    def _of_later_round(self, reply: Reply) -> dict[str, Any]:
        """Return the result of a call that had begun, whatever this round of it met."""
        try:
            return _made(self._result(reply))
        except CallRefused as refusal:
            text = f"the call had begun when it was refused: {refusal.reason}"
            raise ClientError(
                text, status=refusal.status, request_id=refusal.request_id
            ) from refusal
        except GatewayUnreachable as error:
            error.sent = True
            raise

    def new_token(self) -> int:
        """Return a token of progress that no other call has."""
        return next(self._numbers)

    def _call(
        self,
        name: str,
        arguments: Json,
        server: str | None,
        token: int | None,
        state: str | None = None,
    ) -> Request:
        params: dict[str, object] = {"name": name, "arguments": dict(arguments)}
        if state is not None:
            params["requestState"] = state
        try:
            mirrored = self._headers(name, arguments, server)
            headers = {"Mcp-Name": encode_header_value(name), **mirrored}
        except ValueError as error:  # half a character, which no header can carry
            raise CallRefused(f"it cannot be sent: {error}", code="INVALID_INPUT") from None
        return self._request("tools/call", params, server, headers=headers, token=token)

    def _headers(self, name: str, arguments: Json, server: str | None) -> dict[str, str]:
        wanted = self._mirrored.get(server, {}).get(name)
        return mcp_param_headers(wanted, arguments) if wanted else {}

    def _remember(self, server: str | None, tools: list[ToolDefinition]) -> None:
        asking = {
            tool.name: x_mcp_header_map(tool.input_schema)
            for tool in tools
            if find_invalid_x_mcp_header(tool.input_schema) is None
        }
        self._mirrored[server] = {name: headers for name, headers in asking.items() if headers}

    def _request(
        self,
        method: str,
        params: Json,
        server: str | None,
        *,
        headers: Mapping[str, str] | None = None,
        token: int | None = None,
        is_repeatable: bool = False,
    ) -> Request:
        number = next(self._numbers)
        meta = self._meta if token is None else {**self._meta, "progressToken": token}
        message = {
            "jsonrpc": "2.0",
            "id": number,
            "method": method,
            "params": {**params, "_meta": meta},
        }
        try:
            body = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise CallRefused(f"the arguments are no JSON: {error}", code="INVALID_INPUT") from None
        return Request(
            method="POST",
            path=self._address.mcp(server),
            headers={
                "Accept": f"{JSON}, text/event-stream",
                "Content-Type": JSON,
                "MCP-Protocol-Version": LATEST_MODERN_VERSION,
                "Mcp-Method": method,
                **(headers or {}),
            },
            body=body,
            number=number,
            is_repeatable=is_repeatable,
        )

    def _result(self, reply: Reply) -> dict[str, Any]:
        message = reply.value()
        told = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
        error = told.get("error")
        if isinstance(error, dict):
            raise self._refusal(reply, cast("dict[str, Any]", error))
        if not reply.is_good:
            raise self._refusal(reply, {})
        result = told.get("result")
        if not isinstance(result, dict):
            raise no_answer(self._address.base, reply.status)
        return cast("dict[str, Any]", result)

    def _refusal(self, reply: Reply, error: Json) -> ClientError:
        base, status, code = self._address.base, reply.status, error.get("code")
        told = str(error.get("message") or "")
        more = f": {told}" if told else ""
        data = error.get("data")
        known = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        # By it remit tells of its own refusals; without one it hands on what a server said.
        request_id = str(known.get("requestId") or known.get(REQUEST) or "")
        if status in {401, 403}:
            return CredentialRefused(f"{base} does not take the key{more}", status=status)
        if status == 413:  # noqa: PLR2004 - RFC 9110 15.5.14
            return CallRefused(told or "it is too large", code="INVALID_INPUT", status=status)
        # A gateway that stops says so in a stream that has begun, too late for a status.
        has_stopped = known.get(OUTCOME) == UNKNOWN_OUTCOME
        if status in {408, 429} or status > 500 or has_stopped:  # noqa: PLR2004 - 500 may stay
            return GatewayUnreachable(
                f"{base} cannot serve this at the moment ({status}){more}",
                sent=status > 500 or has_stopped,  # noqa: PLR2004
                status=status,
                retry_after=reply.retry_after,
            )
        if code == INVALID_PARAMS and request_id:
            return CallRefused(
                str(known.get("reason") or told),
                code="PERMISSION_DENIED" if told.startswith("Unknown ") else "INVALID_INPUT",
                status=status,
                request_id=request_id,
                layer=str(known.get("layer") or ""),
                rule=str(known.get("rule") or ""),
            )
        if not told:
            return no_answer(base, status)
        return ClientError(told, status=status, request_id=request_id)


def progress_of(notice: Notice, token: int) -> tuple[float, float | None, str] | None:
    """Return what a notice says of the progress of the call with *token*, or None."""
    params = notice.get("params")
    if notice.get("method") != "notifications/progress" or not isinstance(params, dict):
        return None
    told = cast("dict[str, Any]", params)
    done, total, text = told.get("progress"), told.get("total"), told.get("message")
    if told.get("progressToken") != token or not isinstance(done, int | float):
        return None
    return (
        done,
        total if isinstance(total, int | float) else None,
        text if isinstance(text, str) else "",
    )


def _made(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result by which the gateway does not say that it did not make the call."""
    told = result.get("_meta")
    if result.get("isError") is not True or not isinstance(told, dict):
        return result
    meta = cast("dict[str, Any]", told)
    code, after = meta.get(CODE), meta.get(RETRY_AFTER)
    if code not in NOT_MADE or REQUEST not in meta:
        return result
    raise CallRefused(
        CallResult.of(result).text,
        code=str(code),
        request_id=str(meta[REQUEST]),
        retry_after=after if isinstance(after, int | float) else None,
    )


def state_alone(result: Json) -> str | None:
    """Return the state with which a call goes on that is asked nothing; None of any other."""
    state = result.get("requestState")
    is_asked = result.get("resultType") != "input_required" or result.get("inputRequests")
    return state if isinstance(state, str) and not is_asked else None


def _error_code(reply: Reply) -> object:
    message = reply.value() if not reply.is_good else None
    error = cast("dict[str, Any]", message).get("error") if isinstance(message, dict) else None
    return cast("dict[str, Any]", error).get("code") if isinstance(error, dict) else None
