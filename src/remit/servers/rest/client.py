"""The client: a service's address and credential, and requests that end one way or another.

request ──▶ gate (rate limit known from before) ──▶ attempt ──▶ redirect in the service ──▶ Reply
             ▲                                         │
             └── pause, three attempts in all (R23) ◀──┴──▶ RestFault
"""

import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Final
from urllib.parse import urljoin, urlsplit

import anyio
import httpx2

from remit.servers.rest.etags import Etags
from remit.servers.rest.exchange import Answer, HttpExchange, Sending
from remit.servers.rest.faults import RestFault, is_passing, said_in, said_on
from remit.servers.rest.requests import Asked, Query, Reply
from remit.servers.rest.service import Service, parts_of
from remit.servers.rest.waits import Gates, is_limit, wait_announced, wait_asked

MOST_ATTEMPTS: Final = 3
"""Of one request, the first included (R23)."""

PAUSE: Final = 1.0
"""Seconds between two attempts (R23)."""

_MOST_REDIRECTS: Final = 3
_MARGIN: Final = 0.25
"""Seconds before the end of the call at which a request gives up, so that it can say why."""

_KEEPS_METHOD: Final = frozenset({307, 308})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


class RestClient:
    """Asks one service with one credential.

    Args:
        service: Which one.
        sleep: Waits between attempts.
        clock: Returns seconds since the epoch.
    """

    def __init__(
        self,
        service: Service,
        *,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.service = service
        self._exchange = HttpExchange(
            service.name, encrypted=urlsplit(service.base).scheme == "https"
        )
        self._sleep = sleep
        self._clock = clock
        self._gates = Gates(clock)
        self._etags = Etags()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._exchange.aclose()

    async def get(self, path: str, query: Query | None = None, *, bucket: str = "") -> Reply:
        """Ask for JSON, repeating what fails in passing.

        Raises:
            RestFault: It did not end well.
        """
        return await self.ask(
            Asked(method="GET", path=path, query=query or {}, reads=True, bucket=bucket)
        )

    async def ask(self, asked: Asked) -> Reply:
        """Make a request, again where that is safe, and return the good answer.

        Raises:
            RestFault: It did not end well.
        """
        until = min(
            anyio.current_effective_deadline() - _MARGIN, anyio.current_time() + self.service.call
        )
        made, may_have_run = 0, False
        while True:
            made += 1
            try:
                await self._pass_gate(asked, until)
                return self._reply(asked, await self._follow(asked, until))
            except RestFault as fault:
                fault.attempts = made
                # That the last attempt never left says nothing of those before it.
                may_have_run = fault.sent = fault.sent or may_have_run
                pause = max(PAUSE, fault.retry_after or 0.0)
                ends = made == MOST_ATTEMPTS or pause >= until - anyio.current_time()
                if ends or not fault.passing or not (asked.is_repeatable or not fault.sent):
                    raise
            await self._sleep(pause)

    async def _pass_gate(self, asked: Asked, until: float) -> None:
        """Wait until the service takes requests again, as it said itself."""
        wait = self._gates.wait(asked.bucket)
        if not wait:
            return
        if wait >= until - anyio.current_time():
            raise RestFault(
                service=self.service.name,
                problem=f"{self.service.name}'s rate limit is used up, so it was not asked",
                sent=False,
                reads=asked.reads,
                limited=True,
                retry_after=wait,
            )
        await self._sleep(wait)

    async def _follow(self, asked: Asked, until: float) -> Answer:
        """Make one attempt, following redirects as long as they stay within the service."""
        url, redirects = self._url(asked), 0
        while True:
            answer = await self._attempt(asked, url, until)
            if answer.status not in _REDIRECTS:
                return answer
            redirects += 1
            if redirects > _MOST_REDIRECTS:
                raise self._fault(asked, f"{self.service.name} sends requests on and on", answer)
            url = self._onward(asked, answer, url)

    async def _attempt(self, asked: Asked, url: str, until: float) -> Answer:
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "gzip",
            **self.service.headers,
            **asked.headers,
            "Authorization": self.service.credential.header(),
        }
        content = None
        if asked.body is not None:
            content = json.dumps(asked.body).encode()
            headers["Content-Type"] = "application/json"
        key = f"{headers['Accept']} {url}"
        kept = self._etags.find(key) if asked.method == "GET" else None
        if kept is not None:
            headers["If-None-Match"] = kept.tag
        remaining = max(0.0, until - anyio.current_time())
        sent = await self._exchange(
            Sending(
                method=asked.method,
                url=url,
                headers=headers,
                content=content,
                seconds=min(self.service.attempt, remaining) if asked.is_repeatable else remaining,
                most_bytes=self.service.most_bytes,
                reads=asked.reads,
            )
        )
        answer = self._without_secrets(sent)
        self._note_limits(asked, answer)
        if kept is not None and answer.status == HTTPStatus.NOT_MODIFIED:
            return kept.answer
        if asked.method == "GET" and answer.status == HTTPStatus.OK:
            self._etags.keep(key, answer)
        return answer

    def _without_secrets(self, answer: Answer) -> Answer:
        """Hide the credential where a service sends it back, before anything reads the answer."""
        credential = self.service.credential
        return replace(
            answer,
            body=credential.masked_bytes(answer.body),
            headers={name: credential.masked(value) for name, value in answer.headers.items()},
        )

    def _url(self, asked: Asked) -> str:
        query = {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in asked.query.items()
            if value is not None
        }
        url = self.service.base.rstrip("/") + asked.path
        return str(httpx2.URL(url, params=query)) if query else url

    def _onward(self, asked: Asked, answer: Answer, url: str) -> str:
        """Return where a redirect leads.

        Raises:
            RestFault: Out of the service, or by a redirect that would lose the request's body.
        """
        target = parts_of(urljoin(url, answer.headers.get("location", "")))
        name = self.service.name
        if target is None or target[:2] != urlsplit(self.service.base)[:2]:
            where = target.netloc if target is not None else "nowhere"
            problem = (
                f"{name} sends requests on to {where!r}, which does not get the credential;"
                f" is {self.service.setting} right?"
            )
            raise self._fault(asked, problem, answer)
        if asked.method != "GET" and answer.status not in _KEEPS_METHOD:
            raise self._fault(asked, f"{name} has moved this to {target.path!r}", answer)
        return target.geturl()

    def _note_limits(self, asked: Asked, answer: Answer) -> None:
        wait = wait_announced(answer.headers, self._clock())
        if wait is None and answer.status >= HTTPStatus.BAD_REQUEST:
            wait = wait_asked(answer.status, answer.headers, self._said(answer), self._clock())
        if wait:
            self._gates.close(asked.bucket, wait)

    def _reply(self, asked: Asked, answer: Answer) -> Reply:
        """Return the good answer, decoded.

        Raises:
            RestFault: It is none.
        """
        name = self.service.name
        if not HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
            reason = _reason(answer.status)
            raise self._fault(asked, f"{name} answered {answer.status}{reason}", answer)
        body = answer.body
        if asked.wants == "text":
            text = body.decode(errors="replace")
            return Reply(
                status=answer.status,
                headers=answer.headers,
                text=text,
                truncated=answer.truncated,
            )
        if answer.truncated:
            size = self.service.most_bytes
            raise self._fault(asked, f"{name}'s answer is over {size} bytes; ask for less", answer)
        try:
            data = self._decoded(body) if body.strip() else None
        except (ValueError, RecursionError) as error:
            what = "a web page" if "html" in answer.headers.get("content-type", "") else "no JSON"
            problem = (
                f"{name} answered {answer.status} with {what} where JSON is expected: is"
                f" {self.service.setting} right, and no proxy or log-in page in between?"
            )
            raise self._fault(asked, problem, answer) from error
        return Reply(status=answer.status, headers=answer.headers, data=data)

    def _fault(self, asked: Asked, problem: str, answer: Answer) -> RestFault:
        said = self._said(answer)
        limited = is_limit(answer.status, answer.headers, said)
        return RestFault(
            service=self.service.name,
            problem=problem,
            status=answer.status,
            said=said,
            headers=answer.headers,
            reads=asked.reads,
            limited=limited,
            passing=is_passing(answer.status, limited=limited),
            retry_after=wait_asked(answer.status, answer.headers, said, self._clock()),
        )

    def _said(self, answer: Answer) -> str:
        try:
            return said_in(self._decoded(answer.body))
        except (ValueError, RecursionError):
            return said_on(answer.body.decode(errors="replace"))

    def _decoded(self, body: bytes) -> object:
        """Decode JSON; half a surrogate pair, which no text on the wire can hold, becomes `?`.

        Raises:
            ValueError: It is none.
            RecursionError: It is nested too deeply.
        """
        data: object = json.loads(body)
        if b"\\" not in body:
            return data
        # A secret that was spelled with escapes shows only now.
        text = self.service.credential.masked(json.dumps(data, ensure_ascii=False))
        return json.loads(text.encode(errors="replace"))


def _reason(status: int) -> str:
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""
