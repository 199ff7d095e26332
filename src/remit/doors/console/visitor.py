"""Somebody who is signed in and has asked for a page: what it may, asks and is answered."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeVar
from urllib.parse import urlencode, urlsplit

from anyio import Event
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from remit.client.exchange import Reply
from remit.client.operations import Operation, Page, Tagged, first_page, next_page, problem_of
from remit.doors.api.inside import Inside
from remit.doors.console.cookies import PREFIX, Cookie
from remit.doors.console.forms import Form
from remit.doors.console.page import Role, roles_of
from remit.doors.console.recent import Recent
from remit.doors.console.rendering import HEADERS, Rendering
from remit.doors.console.sessions import SignedIn
from remit.errors import CallRefused, ClientError, ProblemDetails
from remit.model.principals import DEFAULT_TENANT, Principal

T = TypeVar("T")

SAID: Final = Cookie("remit_said")
"""What the page before did, said once."""
TENANT: Final = Cookie("remit_tenant")
"""Which tenant somebody looks at who may look at every one."""

OF_TENANT: Final = "of_tenant"
"""The hidden field with the tenant that a page was about."""

_MOST_SAID: Final = 500  # characters
_UNSENDABLE: Final = 422  # status of a page with what cannot be asked
_UNUSABLE: Final = 502  # status of a page whose answer from the API is none
_ODD: Final = re.compile(r"[^A-Za-z0-9._-]")  # letters that the name of a file does without


@dataclass(frozen=True, kw_only=True)
class Visitor:
    """One request of somebody who is signed in.

    Attributes:
        request: As it came.
        signed_in: Who it is, until when.
        base: The root of this gateway's own URLs, as the browser reaches it.
        stopping: Set when the gateway stops: streams have to end.
        recent: Answers that all who look at the same share.
        again: Looks again who it is, None when the session is over: streams ask now and then.
        form: What was sent with a POST, checked to come from a page of this session.
    """

    request: Request
    signed_in: SignedIn
    inside: Inside = field(repr=False)
    rendering: Rendering = field(repr=False)
    base: str
    stopping: Event = field(repr=False)
    recent: Recent = field(repr=False)
    again: Callable[[], Awaitable["Visitor | None"]] = field(repr=False)
    form: Form = field(default_factory=Form, repr=False)

    @property
    def principal(self) -> Principal:
        """Who it is."""
        return self.signed_in.principal

    @cached_property
    def roles(self) -> frozenset[Role]:
        """What it is to the console."""
        return roles_of(self.principal)

    def is_one_of(self, who: frozenset[Role]) -> bool:
        """Whether it has one of these roles."""
        return bool(self.roles & who)

    @property
    def administers(self) -> bool:
        """Whether it may change what administrators change: else pages show no such form."""
        return Role.ADMINISTRATOR in self.roles

    @property
    def crosses_tenants(self) -> bool:
        """Whether it may look at every tenant: an administrator or auditor of the installation."""
        principal = self.principal
        return principal.tenant == DEFAULT_TENANT and (principal.admin or principal.auditor)

    @cached_property
    def tenant(self) -> str:
        """Name of the tenant that is looked at."""
        chosen = TENANT.read_text(self.request.cookies, self.base) if self.crosses_tenants else ""
        return chosen or self.principal.tenant

    @property
    def is_elsewhere(self) -> bool:
        """Whether another tenant is looked at since the page with the form was loaded.

        The choice is one of the whole browser: somebody may have made it in another window.
        """
        return self.form.get(OF_TENANT, self.tenant) != self.tenant

    @property
    def said(self) -> str:
        """What the page before did, said once; mostly nothing."""
        return SAID.read_text(self.request.cookies, self.base)

    @property
    def path(self) -> Mapping[str, str]:
        """The parameters of the path."""
        return self.request.path_params

    @property
    def prefix(self) -> str:
        """What stands before `/console` in the browser's address, mostly nothing."""
        return urlsplit(self.base).path

    def asked(self, name: str, default: str = "") -> str:
        """Return a parameter of the query, without spaces around it."""
        return self.request.query_params.get(name, default).strip()

    def sent(self, name: str, default: str = "") -> str:
        """Return a field of the form, its lines ended as here, no spaces around it."""
        return self.form.get(name, default).replace("\r\n", "\n").strip()

    def all_sent(self, name: str) -> Sequence[str]:
        """Return every value of a field that may be there several times."""
        return self.form.all(name)

    def is_sent(self, name: str) -> bool:
        """Whether a box is ticked."""
        return name in self.form

    async def ask(self, operation: Operation[T]) -> T:
        """Ask the API.

        Raises:
            ProblemDetails: It refuses; a page that does not say otherwise shows that.
            ClientError: The answer is none.
        """
        return (await self.ask_tagged(operation)).value

    async def ask_tagged(self, operation: Operation[T]) -> Tagged[T]:
        """Do the same and tell the `ETag`, which a form carries until it changes what was read."""
        meant = self.tenant if self.crosses_tenants else None
        try:
            return await self.inside.ask(self.principal, operation, base=self.base, tenant=meant)
        except CallRefused as refused:  # such as a number that no JSON has
            raise ProblemDetails(
                str(refused), status=_UNSENDABLE, code=refused.code, title="That cannot be sent"
            ) from None

    async def ask_all(self, operation: Operation[Page[T]]) -> list[T]:
        """Return every entry of a list, from as many pages as it has; for short lists."""
        found: list[T] = []
        wanted: Operation[Page[T]] | None = first_page(operation)
        while wanted is not None:
            page = await self.ask(wanted)
            found.extend(page.items)
            wanted = next_page(wanted, page)
        return found

    def forward(self, operation: Operation[str], name: str) -> Response:
        """Return what gives the browser a text of the API to keep as a file of that *name*."""
        return _Forwarded(self, operation, name)

    def url(self, path: str, query: Mapping[str, object] | None = None) -> str:
        """Return where a path of the console is; a part with odd characters is quoted before."""
        asked = {k: str(v) for k, v in (query or {}).items() if v not in (None, "", False)}
        tail = f"?{urlencode(asked)}" if asked else ""
        return f"{self.prefix}{PREFIX}{path}{tail}"

    def render(self, template: str, *, status: int = 200, **context: Any) -> Response:
        """Return a page made of a template.

        Args:
            template: Its file in `templates/`.
            status: HTTP status.
            **context: What it shows; `visitor` is there always.
        """
        response = self.rendering.page(self, template, status=status, **context)
        if SAID.read(self.request.cookies, self.base):
            response.headers.append("set-cookie", SAID.gone(self.base))
        return response

    def refused(self, error: ClientError) -> Response:
        """Return the page that tells why the API does not answer as it was asked to."""
        problem = (
            error
            if isinstance(error, ProblemDetails)
            else ProblemDetails(
                str(error), status=_UNUSABLE, code="", title="The answer cannot be used"
            )
        )
        return self.render("problem.html", status=problem.status or 500, problem=problem)

    def go(
        self, path: str, *, said: str = "", query: Mapping[str, object] | None = None
    ) -> Response:
        """Return what leads the browser to another page, which says once what was done."""
        response = RedirectResponse(self.url(path, query), status_code=303)
        if said:
            cookie = SAID.set_to_text(said[:_MOST_SAID], self.base, seconds=60)
            response.headers.append("set-cookie", cookie)
        return response


class _Forwarded(Response):
    """A text of the API, sent on as it comes."""

    def __init__(self, visitor: Visitor, operation: Operation[str], name: str) -> None:
        super().__init__()
        self._visitor, self._operation, self._name = visitor, operation, name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        visitor, refusal = self._visitor, bytearray()
        status = 200

        async def send_as_file(event: Any) -> None:
            nonlocal status
            if event["type"] == "http.response.start":
                status = event["status"]
                event["headers"] = self._headers(event["headers"])
            if _is_good(status):
                await send(event)
            else:
                refusal.extend(event.get("body", b""))

        await visitor.inside.forward(
            visitor.principal,
            self._operation,
            receive,
            send_as_file,
            base=visitor.base,
            tenant=visitor.tenant if visitor.crosses_tenants else None,
        )
        if not _is_good(status):
            reply = Reply(status=status, headers={}, body=bytes(refusal))
            await visitor.refused(problem_of(visitor.base, reply))(scope, receive, send)

    def _headers(self, headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Return those of the API with those of every page, and a name for the file."""
        name = _ODD.sub("-", self._name).encode()
        kept = [pair for pair in headers if pair[0] != b"content-disposition"]
        ours = [(key.encode(), value.encode()) for key, value in HEADERS.items()]
        return [*kept, *ours, (b"content-disposition", b'attachment; filename="%b"' % name)]


def _is_good(status: int) -> bool:
    return status < 400  # noqa: PLR2004 - RFC 9110 15.5
