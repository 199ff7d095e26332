"""One HTTP exchange as plain values: what is sent, and what is made of it while it arrives.

Steps are written once, as generators that give requests and are given replies; the two clients
only carry them (`asynchronous`, `synchronous`).
"""

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeVar, cast

import msgspec

from remit.errors import ClientError, GatewayUnreachable
from remit.model.event_stream import EVENT_STREAM, Events
from remit.model.http_times import retry_after
from remit.model.lines import TooLong

T = TypeVar("T")

LARGEST: Final = 64 * 1024 * 1024
"""Bytes of one answer, or of one event of a stream."""

JSON: Final = "application/json"

Notice = Mapping[str, Any]
"""A JSON-RPC message that comes before the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is sent.

    Attributes:
        path: Below the gateway's root.
        number: Id of the JSON-RPC request, by which its answer is known in a stream; else None.
        is_repeatable: Whether it may be sent again when a kept connection broke.
        after: Seconds to wait before it is sent, as a further round of a call that has begun.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = field(default=b"", repr=False)
    number: int | None = None
    is_repeatable: bool = False
    after: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back.

    Attributes:
        headers: By lower-case name.
        body: The whole body, or the event of a stream that is the answer.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def is_good(self) -> bool:
        """Whether it is no refusal."""
        return 200 <= self.status < 300  # noqa: PLR2004 - RFC 9110 15.3

    @property
    def retry_after(self) -> float | None:
        """Seconds after which one may ask again, if it says so."""
        return retry_after(self.headers.get("retry-after", ""), datetime.now(UTC))

    def value(self) -> Any:
        """Return what the body says as JSON, or None where it is none."""
        return value_of(self.body)


Steps = Generator[Request, Reply, T]


class Reading:
    """One answer while it arrives.

    Args:
        request: What it answers.
        base: The gateway's root, for what is said of it.
        status: HTTP status.
        headers: By lower-case name.

    Raises:
        ClientError: It cannot be read, or leads elsewhere.
    """

    def __init__(
        self, request: Request, *, base: str, status: int, headers: Mapping[str, str]
    ) -> None:
        self._request = request
        self._base = base
        self._status = status
        self._headers = headers
        self._body = bytearray()
        self._is_whole = False
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        is_stream = kind == EVENT_STREAM and request.number is not None
        self._events = Events(LARGEST) if is_stream else None
        if headers.get("content-encoding", "identity") != "identity":
            raise ClientError(f"{base} answers in a coding that was not asked for", status=status)
        if 300 <= status < 400:  # noqa: PLR2004 - RFC 9110 15.4
            raise ClientError(
                f"{base} leads elsewhere ({headers.get('location', '')[:200]!r}), and a key is"
                " not carried there: give the gateway's own address",
                status=status,
            )

    @property
    def is_over(self) -> bool:
        """Whether the answer is there, although more may come."""
        return self._is_whole

    def feed(self, piece: bytes) -> list[Notice]:
        """Take the next piece, and return what is told before the answer.

        Raises:
            ClientError: It is too large, or is no answer of a gateway.
        """
        if self._events is None:
            self._body += piece
            if len(self._body) > LARGEST:
                raise self._too_large()
            return []
        notices: list[Notice] = []
        for event in self._events.feed(piece):
            if isinstance(event.data, TooLong):
                raise self._too_large()
            message = value_of(event.data)
            if not isinstance(message, dict):
                raise no_answer(self._base, self._status)
            if "method" in message:
                notices.append(cast("Notice", message))
                continue
            if cast("dict[str, Any]", message).get("id") not in (self._request.number, None):
                continue  # the answer to something else
            self._body[:] = event.data
            self._is_whole = True
            break
        return notices

    def finish(self) -> Reply:
        """Return the reply.

        Raises:
            GatewayUnreachable: The stream ended before the answer came.
        """
        if self._events is not None and not self._is_whole:
            raise GatewayUnreachable(
                f"{self._base} broke off before its answer; whether the call ran is unknown",
                sent=True,
                status=self._status,
            )
        return Reply(status=self._status, headers=self._headers, body=bytes(self._body))

    def _too_large(self) -> ClientError:
        return ClientError(
            f"{self._base} answers with more than {LARGEST} bytes", status=self._status
        )


def value_of(text: bytes) -> Any:
    """Return the value of JSON *text*, or None where it is none."""
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(text)  # reads a lone surrogate, too, which servers do send
    except (ValueError, RecursionError):
        return None


def no_answer(base: str, status: int) -> ClientError:
    """Return what to raise for an answer that no gateway gives."""
    return ClientError(f"{base} answers {status}, but not as a gateway does", status=status)
