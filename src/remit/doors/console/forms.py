"""What a form of the console sends, and the proof that it is a form of ours.

The proof is an HMAC under a secret that only the browser holds whose form it is: another site
neither knows that secret nor can read a page with the proof in it.
"""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, quote, urlsplit

from starlette.requests import Request

from remit.doors.asgi import Event, Exchange, HttpRefusal
from remit.errors import ProblemDetails

MOST_BYTES: Final = 1024 * 1024
"""Bytes of a form that are read: a whole declaration may be one field."""

MOST_FIELDS: Final = 5000
"""Fields of a form; the largest, of a role, has one for each tool."""

_KIND: Final = "application/x-www-form-urlencoded"
_PURPOSE: Final = b"a form of remit's console"


def token_of(secret: str) -> str:
    """Return the proof that stands in the forms of whoever holds *secret*."""
    return hmac.new(secret.encode(), _PURPOSE, hashlib.sha256).hexdigest()


def is_token_of(secret: str, token: str) -> bool:
    """Whether *token* is that proof; compared in constant time, and never for an empty secret."""
    return bool(secret) and hmac.compare_digest(token_of(secret).encode(), token.encode())


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form that was sent, in their order."""

    pairs: Sequence[tuple[str, str]] = ()

    def __contains__(self, name: object) -> bool:
        """Whether there is a field of that name: of a box to tick, whether it is."""
        return any(name == each for each, _ in self.pairs)

    def get(self, name: str, default: str = "") -> str:
        """Return the last value of a field."""
        return next((value for each, value in reversed(self.pairs) if each == name), default)

    def all(self, name: str) -> Sequence[str]:
        """Return every value of a field."""
        return [value for each, value in self.pairs if each == name]


def page_of(request: Request, base: str) -> str:
    """Return the page that a request is of, with its query, as `safe_next` takes it.

    Of a form that was sent that is the page that it stands on, which the browser names; empty where
    that is none of this gateway's.

    Args:
        request: As it came.
        base: The root of this gateway's own URLs, as the browser reaches it.
    """
    root = urlsplit(base)
    if request.method == "GET":
        path = request.scope.get("raw_path", b"").decode("latin-1") or quote(request.url.path)
        return _with_query(path.removeprefix(root.path), request.url.query)
    try:
        sender = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return ""
    if (sender.scheme, sender.netloc) != (root.scheme, root.netloc):
        return ""
    return _with_query(sender.path.removeprefix(root.path), sender.query)


def _with_query(path: str, query: str) -> str:
    return f"{path}?{query}" if query else path


def status_of(problem: ProblemDetails | None) -> int:
    """Return the HTTP status of a page that shows a form again, or for the first time."""
    return 200 if problem is None else problem.status or 400


async def form_of(request: Request) -> Form:
    """Return the form that was sent.

    Raises:
        HttpRefusal: It is no form (415), not to be read (400), too large (413) or slow (408).
        ClientGone: It never ended.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _KIND:
        raise HttpRefusal(415, f"send a form as {_KIND}")
    body = await Exchange(request.scope, request.receive, _answer_nothing).body(MOST_BYTES)
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            max_num_fields=MOST_FIELDS,
            errors="strict",
        )
    except ValueError:
        raise HttpRefusal(400, "the form cannot be read") from None
    return Form(tuple(pairs))


async def _answer_nothing(event: Event) -> None:
    raise TypeError(f"reading a form answers nothing: {event['type']}")
