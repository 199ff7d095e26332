"""Somebody who is signed in at the console, for tests that need no browser."""

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from typing import Any

import httpx2

from remit.client.transport import TRUSTS_NOBODY

CONSOLE = "/console"
SIGN_IN = f"{CONSOLE}/sign-in"

_CSRF = re.compile(r'name="csrf" value="([^"]*)"')


@dataclass(frozen=True, kw_only=True)
class Visit:
    """A session of the console; redirects are not followed.

    Attributes:
        http: Has the cookie of the session.
        csrf: What a form has to send beside its fields.
    """

    http: httpx2.Client = field(repr=False)
    csrf: str = field(repr=False)

    def get(self, path: str, **query: Any) -> httpx2.Response:
        """Ask for a page, its path below `/console`."""
        return self.http.get(f"{CONSOLE}{path}", params=query or None)

    def page(self, path: str, **query: Any) -> str:
        """Return the HTML of a page that is there."""
        reply = self.get(path, **query)
        assert reply.status_code == 200, (path, reply.status_code, reply.text)
        return reply.text

    def post(
        self, path: str, fields: Mapping[str, Any] | None = None, **more: Any
    ) -> httpx2.Response:
        """Send a form of a page; a field with a list as its value is sent several times."""
        return self.http.post(
            f"{CONSOLE}{path}", data={"csrf": self.csrf, **(fields or {}), **more}
        )

    def do(
        self, path: str, fields: Mapping[str, Any] | None = None, **more: Any
    ) -> httpx2.Response:
        """Send a form that is taken, and return the page that the browser is led to."""
        reply = self.post(path, fields, **more)
        assert reply.status_code == 303, (path, reply.status_code, reply.text)
        followed = self.http.get(reply.headers["location"])
        assert followed.status_code == 200, (path, followed.status_code, followed.text)
        return followed


@contextmanager
def sign_in(base: str, key: str) -> Generator[Visit]:
    """Sign in with a key by the form, and forget the session at the end."""
    with httpx2.Client(base_url=base, timeout=60, verify=TRUSTS_NOBODY) as http:
        form = http.get(SIGN_IN)
        done = http.post(SIGN_IN, data={"csrf": csrf_of(form.text), "next": "", "key": key})
        assert done.status_code == 303, (done.status_code, done.text)
        page = http.get(done.headers["location"], follow_redirects=True)
        yield Visit(http=http, csrf=csrf_of(page.text))


def csrf_of(page: str) -> str:
    """Return the token in the forms of a page."""
    found = _CSRF.search(page)
    assert found is not None, page
    return unescape(found[1])
