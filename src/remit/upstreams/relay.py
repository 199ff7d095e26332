"""The port of `http.py` for streamable HTTP servers: the way that nearly every call takes.

    prepare ──▶ head as bytes, once (relay_bytes.py)
    send ──▶ a connection (relay_pool.py) ──▶ one write ──▶ an answer (relay_answer.py),
             which its connection fills (relay_connection.py)

A request that was written is never written again: whether a server has run it cannot be known.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from remit.model.servers import ServerConfig
from remit.upstreams.http import (
    MOST_REDIRECTS,
    STREAMS,
    USER_AGENT,
    HttpExchange,
    is_same_origin,
    place,
    redirected,
    too_many_redirects,
    unusable,
)
from remit.upstreams.relay_answer import RelayAnswer
from remit.upstreams.relay_bytes import RequestHead, Target
from remit.upstreams.relay_pool import RelayPool
from remit.upstreams.trust import Trust

_REDIRECTING: Final = HTTPStatus.MULTIPLE_CHOICES.value
_NO_FIELDS: Mapping[str, str] = MappingProxyType({})


@asynccontextmanager
async def open_relay(
    config: ServerConfig, url: str, headers: Mapping[str, str], *, trust: Trust
) -> AsyncGenerator[HttpExchange]:
    """Give an exchange with the server at *url*; *headers* go with every request.

    Raises:
        UpstreamUnavailable: The URL or a header makes no sense.
    """
    try:
        target = Target.parse(url)
    except ValueError as error:
        raise unusable() from error
    pool = RelayPool(target, place(url), most=config.max_concurrency + STREAMS, trust=trust)
    try:
        yield Relay(pool, url, headers, max_message=config.max_message)
    finally:
        await pool.close()


class Relay:
    """An exchange over a pool of connections."""

    def __init__(
        self, pool: RelayPool, url: str, headers: Mapping[str, str], *, max_message: int
    ) -> None:
        self._pool = pool
        self._url = url
        self._headers = {"User-Agent": USER_AGENT, **headers}
        self._max_message = max_message

    def prepare(self, method: str, headers: Mapping[str, str], *, url: str = "") -> "RelayRequest":
        """Return a request."""
        target = url or self._url
        if not is_same_origin(target, self._url):
            raise unusable()
        fields = (self._headers, headers)
        return RelayRequest(self._pool, method, target, fields, max_message=self._max_message)


class RelayRequest:
    """A request to be sent over the pool."""

    def __init__(
        self,
        pool: RelayPool,
        method: str,
        url: str,
        fields: Sequence[Mapping[str, str]],
        *,
        max_message: int,
    ) -> None:
        self._pool = pool
        self._method = method
        self._url = url
        self._fields = fields
        self._max_message = max_message
        self._head = self._head_for(url)

    async def send(self, body: bytes = b"", headers: Mapping[str, str] = _NO_FIELDS) -> RelayAnswer:
        """Send it, following redirects that stay on the same origin."""
        head, url = self._head, self._url
        for _ in range(MOST_REDIRECTS):
            request = self._written(head, headers, body)
            connection = self._pool.at_hand() or await self._pool.take()
            answer = connection.start(request, self._max_message)
            try:
                while not answer.status:
                    await answer.news()
            finally:
                if not answer.status:
                    answer.close()
            if answer.status < _REDIRECTING:
                return answer
            is_final = False
            try:
                target = redirected(answer.status, answer.headers.get("location", ""), url)
                is_final = target is None
            finally:
                if not is_final:
                    answer.close()
            if target is None:
                return answer
            head, url = self._head_for(target), target
        raise too_many_redirects()

    def _written(self, head: RequestHead, headers: Mapping[str, str], body: bytes) -> bytes:
        try:
            fields = head.with_fields(headers) if headers else head.fixed
        except ValueError as error:
            raise unusable() from error
        if body or self._method == "POST":
            return b"%sContent-Length: %d\r\n\r\n%s" % (fields, len(body), body)
        return fields + b"\r\n"

    def _head_for(self, url: str) -> RequestHead:
        try:
            return RequestHead(self._method, Target.parse(url), self._fields)
        except ValueError as error:
            raise unusable() from error
