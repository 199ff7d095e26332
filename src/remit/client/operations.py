"""An operation of the HTTP API as a plain value, and how it is asked for.

Modules by noun (`keys`, `revisions`, ...) make them; `Client.ask` and `AsyncClient.ask` carry them.
"""

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Generic, TypeVar, cast

import msgspec

from remit.client.address import quoted
from remit.client.exchange import JSON, Reply, Request, Steps, no_answer, value_of
from remit.errors import CallRefused, ClientError, CredentialRefused, ProblemDetails
from remit.errors import GatewayUnreachable as Unreachable

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

V1: Final = "/api/v1"
PAGE: Final = 1000
"""Entries that are asked for at once, when a list is read to its end; the most there are."""

_PART: Final = re.compile(r"(?:body|query|path|header)\.(?=[A-Za-z_])")
"""What stands before a field's own name, where a request does not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[T_co]):
    """What to ask of the HTTP API.

    Attributes:
        id: As the OpenAPI document names it, such as `keys.create`.
        path: Whole, its names quoted.
        answer: What the answer is decoded as; `str` for a text as it is.
        query: What is None is not sent.
        body: JSON values, or None for no body.
        if_match: The `ETag` of what is to be changed, `*` for whatever there is, or empty where
            that is not asked for.
        is_of_tenant: Whether it is about one tenant, which `?tenant=` names.
        is_wrapped: Whether the answer is in the `data` of an envelope, out of which it is taken.
    """

    id: str
    method: str
    path: str
    answer: type[T_co]
    query: Mapping[str, str | int | float | bool | datetime | None] = field(
        default_factory=dict[str, str | int | float | bool | datetime | None]
    )
    body: Mapping[str, Any] | None = field(default=None, repr=False)
    if_match: str = ""
    is_of_tenant: bool = True
    is_wrapped: bool = False

    @property
    def is_reading(self) -> bool:
        """Whether it changes nothing, and so may be sent again."""
        return self.method == "GET"


class Page(msgspec.Struct, Generic[T_co], frozen=True, kw_only=True):
    """Part of a list.

    Attributes:
        next: The cursor of the next page; None on the last one.
    """

    items: tuple[T_co, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged(Generic[T_co]):
    """What was answered, with its `ETag`, which a change sends as `if_match`; empty without one."""

    value: T_co
    etag: str


def at(*parts: str | int) -> str:
    """Return a path below `/api/v1`; any name can be a part of it."""
    return "/".join((V1, *(quoted(str(part)) for part in parts)))


def request_of(operation: Operation[object], tenant: str | None) -> Request:
    """Return what is sent for *operation*.

    Raises:
        CallRefused: Something in it cannot be sent.
    """
    asked = dict(operation.query)
    if operation.is_of_tenant:
        asked["tenant"] = tenant
    query = {name: _spelled(value) for name, value in asked.items() if value is not None}
    headers = {"Accept": "*/*"}
    if operation.if_match:
        headers["If-Match"] = operation.if_match
    body = b""
    if operation.body is not None:
        headers["Content-Type"] = JSON
    try:
        "".join(query.values()).encode()
        operation.if_match.encode("ascii")
        if operation.body is not None:
            body = json.dumps(dict(operation.body), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise CallRefused(
            f"{operation.id} cannot be sent as it is: {error}", code="INVALID_INPUT"
        ) from None
    if not operation.if_match.isprintable():
        raise CallRefused("if_match is no ETag", code="INVALID_INPUT")
    return Request(
        method=operation.method,
        path=operation.path,
        query=query,
        headers=headers,
        body=body,
        is_repeatable=operation.is_reading,
    )


def asking(operation: Operation[T], base: str, tenant: str | None) -> Steps[Tagged[T]]:
    """Ask for *operation* and return what is answered.

    Raises:
        ProblemDetails: The gateway refuses.
        ClientError: The answer is none.
    """
    reply = yield request_of(operation, tenant)
    if not reply.is_good:
        raise problem_of(base, reply)
    return Tagged(value=_decoded(operation, base, reply), etag=reply.headers.get("etag", ""))


def first_page(operation: Operation[Page[T]]) -> Operation[Page[T]]:
    """Return *operation* with pages as large as may be, unless it says how large."""
    if operation.query.get("limit") is not None:
        return operation
    return dataclasses.replace(operation, query={**operation.query, "limit": PAGE})


def next_page(operation: Operation[Page[T]], page: Page[T]) -> Operation[Page[T]] | None:
    """Return what asks for the page after *page*, or None when it was the last.

    Raises:
        ClientError: The list goes round.
    """
    if page.next is None:
        return None
    if page.next == operation.query.get("cursor"):
        raise ClientError(f"the gateway gives a list without an end ({operation.id})")
    return dataclasses.replace(operation, query={**operation.query, "cursor": page.next})


def problem_of(base: str, reply: Reply) -> ClientError:
    """Return what to raise for a reply that is not good."""
    document = reply.value()
    if not isinstance(document, dict) or "detail" not in document:
        if reply.status > 500:  # noqa: PLR2004 - what stands before a gateway that is away
            return Unreachable(
                f"cannot reach {base}: the answer is {reply.status}, and not a gateway's",
                sent=True,
                status=reply.status,
                retry_after=reply.retry_after,
            )
        return no_answer(base, reply.status)
    told = cast("dict[str, Any]", document)
    detail = str(told["detail"])
    if reply.status == 401:  # noqa: PLR2004 - RFC 9110 15.5.2
        return CredentialRefused(detail, status=reply.status)
    listed = told.get("errors")
    entries = cast("list[object]", listed) if isinstance(listed, list) else []
    return ProblemDetails(
        detail,
        status=reply.status,
        code=str(told.get("code") or "INTERNAL_ERROR"),
        request_id=str(told.get("request_id") or ""),
        title=str(told.get("title") or ""),
        problems=[_complaint(cast("dict[str, Any]", e)) for e in entries if isinstance(e, dict)],
        retry_after=reply.retry_after,
    )


def _complaint(entry: Mapping[str, Any]) -> str:
    remedy = entry.get("remedy")
    where = str(entry.get("where", ""))
    part = _PART.match(where)
    name = where[part.end() :] if part else where
    told = f"{name}: {entry.get('message', '')}"
    return f"{told}; {remedy}" if remedy else told


class _Envelope(msgspec.Struct, Generic[T_co], frozen=True):
    """What `/api/projects` answers."""

    data: T_co


def _unwrapped(answer: Any) -> Any:
    return cast("Any", answer).data if isinstance(answer, _Envelope) else answer


def _decoded(operation: Operation[T], base: str, reply: Reply) -> T:
    if operation.answer is str:
        return cast("T", reply.body.decode(errors="replace"))
    kind = _Envelope[operation.answer] if operation.is_wrapped else operation.answer
    try:
        return _unwrapped(msgspec.json.decode(reply.body, type=kind))
    except (ValueError, RecursionError):
        value = value_of(reply.body)  # a lone surrogate, or what does not fit
    try:
        return _unwrapped(msgspec.convert(value, kind))
    except msgspec.ValidationError as error:
        raise ClientError(
            f"{base} answers {operation.id} in another shape than this client knows: {error}",
            status=reply.status,
        ) from None


def _spelled(value: str | float | bool | datetime) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, datetime) else str(value)
