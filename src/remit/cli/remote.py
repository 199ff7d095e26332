"""`--url` and `--key`: the same commands, asked of a running gateway over `/api/v1`."""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Final, NoReturn, cast
from urllib.parse import quote, urlsplit

import httpx2
import typer

from remit.cli.output import EXIT_NO, EXIT_UNREACHABLE, EXIT_USAGE, fail

KEY_VARIABLE: Final = "REMIT_KEY"
PATIENCE: Final = 60.0
"""Seconds an answer may take; looking through the whole record takes longest."""

PAGE: Final = 1000
"""Entries that are asked for at once."""

UrlFlag = Annotated[
    str | None,
    typer.Option(
        "--url", metavar="URL", help="Ask a running gateway, such as http://127.0.0.1:8400."
    ),
]
KeyFlag = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="KEY",
        help=f"The key for --url; better in ${KEY_VARIABLE}, which no list of processes shows.",
    ),
]

Json = Any

_SPELLED: Final = {"subject": "as"}
"""Parameters whose names are no names in Python."""


class Remote:
    """A running gateway; what it refuses ends the command with its own words."""

    def __init__(self, base: str, key: str, tenant: str | None) -> None:
        self.base = base
        self._tenant = tenant
        self._headers = {"Authorization": f"Bearer {key}"}

    def get(self, path: str, **query: object) -> Json:
        """Read what is at a path below `/api/v1`."""
        return self.send("GET", path, query=query).json()

    def all_items(self, path: str, most: int | None = None, **query: object) -> list[Json]:
        """Read a list to its end, or to *most* entries."""
        found: list[Json] = []
        cursor: str | None = None
        while most is None or len(found) < most:
            limit = PAGE if most is None else min(PAGE, most - len(found))
            page = self.get(path, **query, limit=limit, cursor=cursor)
            found += page["items"]
            cursor = page["next"]
            if cursor is None:
                break
        return found

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: Json = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx2.Response:
        """Send a request below `/api/v1` and return the answer, which is good."""
        with _reaching(self.base):
            reply = httpx2.request(
                method,
                f"{self.base}/api/v1{path}",
                params=self._query(path, query or {}),
                json=body,
                headers={**self._headers, **(headers or {})},
                timeout=PATIENCE,
            )
        if not reply.is_success:
            refuse(reply)
        return reply

    @contextmanager
    def stream(self, path: str, **query: object) -> Generator[httpx2.Response]:
        """Read what is long, in parts."""
        with (
            _reaching(self.base),
            httpx2.stream(
                "GET",
                f"{self.base}/api/v1{path}",
                params=self._query(path, query),
                headers=self._headers,
                timeout=PATIENCE,
            ) as reply,
        ):
            if not reply.is_success:
                reply.read()
                refuse(reply)
            yield reply

    def post_mcp(self, body: Json, headers: Mapping[str, str]) -> httpx2.Response:
        """Send a JSON-RPC request to the endpoint of all servers."""
        path = "/mcp" if self._tenant is None else f"/mcp/{segment(self._tenant)}"
        with _reaching(self.base):
            reply = httpx2.post(
                f"{self.base}{path}",
                json=body,
                headers={**self._headers, **headers},
                timeout=PATIENCE,
            )
        if reply.headers.get("content-type") == "application/problem+json":
            refuse(reply)
        return reply

    def _query(self, path: str, query: Mapping[str, object]) -> dict[str, str]:
        given: dict[str, object] = dict(query)
        if self._tenant is not None and not path.startswith(("/me", "/tenants")):
            given["tenant"] = self._tenant
        return {
            _SPELLED.get(name, name): str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in given.items()
            if value is not None
        }


def reach(url: str | None, key: str | None, tenant: str | None) -> Remote | None:
    """Return the gateway that the flags name, or None; leave with status 2 when they do not do."""
    if url is None:
        if key is not None:
            fail("--key goes with --url", EXIT_USAGE)
        return None
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        fail(f"--url is no address of a gateway: {url[:200]!r}", EXIT_USAGE)
    held = key or os.environ.get(KEY_VARIABLE)
    if not held or not held.isascii() or not held.isprintable():
        fail(f"--url needs a key: set {KEY_VARIABLE}, or give --key", EXIT_USAGE)
    return Remote(url.rstrip("/"), held, tenant)


def segment(name: str) -> str:
    """Return a name as part of a path."""
    return quote(name, safe="")


def refuse(reply: httpx2.Response) -> NoReturn:
    """Leave with what the gateway said; status 3 when it cannot do anything at the moment."""
    try:
        document = cast("dict[str, Any]", reply.json())
        told = str(document["detail"])
        more = [
            f"{one['where']}: {one['message']}" + (f"; {one['remedy']}" if one["remedy"] else "")
            for one in document.get("errors", ())
        ]
    except (ValueError, KeyError, TypeError):
        told, more = f"the answer is {reply.status_code}, and no answer of a gateway", []
    status = EXIT_UNREACHABLE if reply.is_server_error else EXIT_NO
    fail("\n".join(more or [told]), status)


@contextmanager
def _reaching(base: str) -> Generator[None]:
    try:
        yield
    except (httpx2.TransportError, httpx2.InvalidURL) as error:
        why = str(error) or type(error).__name__
        fail(f"cannot reach {base}: {why}", EXIT_UNREACHABLE)
