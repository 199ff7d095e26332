"""The one error of the REST client, and how a service's own words are found in what it sent."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, cast

from remit.servers.notes import excerpt

LONGEST_SAID: Final = 1000
"""Characters of a service's own words that are passed on."""

_TRANSIENT: Final = frozenset({408, 429, 500, 502, 503, 504})
_REFUSALS: Final = range(300, 500)
_TITLE: Final = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_WORDS: Final = (
    "message",
    "errorMessages",
    "warningMessages",
    "errors",
    "error",
    "error_description",
)


@dataclass(slots=True, kw_only=True, eq=False)
class RestFault(Exception):
    """A request that did not end well, after the attempts that were safe (R23).

    Attributes:
        service: Whose API it is, such as "GitHub".
        problem: What went wrong, in words, without what the service said.
        status: The HTTP status of the answer; None when there was no whole answer.
        said: What the service itself said, trimmed; empty when it said nothing readable.
        headers: Of the answer, names in lower case.
        sent: False only when the request provably never left.
        reads: Whether the request changes nothing.
        limited: Whether a rate limit is what stands in the way.
        passing: Whether the same request may go well a little later.
        retry_after: Seconds after which the service will listen again, when it told.
        attempts: How many were made.
    """

    service: str
    problem: str
    status: int | None = None
    said: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    sent: bool = True
    reads: bool = True
    limited: bool = False
    passing: bool = False
    retry_after: float | None = None
    attempts: int = 1

    @property
    def is_outcome_unknown(self) -> bool:
        """Whether a change was asked for that may or may not have been made."""
        refused = self.status in _REFUSALS and self.status != HTTPStatus.REQUEST_TIMEOUT
        return self.sent and not self.reads and not refused

    def __str__(self) -> str:
        """Say all of it in one line, for people and models."""
        parts = [f"{self.problem}: {self.said}" if self.said else self.problem]
        if self.attempts > 1:
            parts.append(f"attempted {self.attempts} times")
        if self.is_outcome_unknown:
            parts.append("whether it was done is unknown, so look before you try again")
        if self.retry_after is not None:
            parts.append(f"try again in {self.retry_after:.0f} s")
        return "; ".join(parts)


def is_passing(status: int, *, limited: bool) -> bool:
    """Whether an answer of that status may be another one a little later."""
    return limited or status in _TRANSIENT


def said_in(body: object) -> str:
    """Return what a service says in an error's decoded JSON, in one line, trimmed.

    GitHub has `message` and `errors` as a list of texts or objects; Jira `errorMessages` and
    `errors` by field.
    """
    return excerpt("; ".join(dict.fromkeys(_phrases(body))), LONGEST_SAID)


def said_on(page: str) -> str:
    """Return the title of an HTML page, or the first line of what is none."""
    title = _TITLE.search(page)
    if title is not None:
        return excerpt(title[1], LONGEST_SAID)
    return "" if "<" in page[:200] else excerpt(page, LONGEST_SAID)


def _phrases(body: object) -> Iterator[str]:
    if isinstance(body, str):
        if body.strip():
            yield body.strip()
    elif isinstance(body, list):
        for item in cast("list[object]", body):
            yield from _phrases(item)
    elif isinstance(body, dict):
        yield from _phrases_of(cast("dict[str, object]", body))


def _phrases_of(body: Mapping[str, object]) -> Iterator[str]:
    known = [body[name] for name in _WORDS if name in body]
    if "code" in body and "field" in body:  # an entry of GitHub's errors
        about = " ".join(str(body[name]) for name in ("resource", "field", "code") if name in body)
        detail = body.get("message")
        yield f"{about} ({detail})" if isinstance(detail, str) and detail else about
        return
    if known:
        for value in known:
            yield from _phrases(value)
        return
    for name, value in body.items():  # Jira's errors by field
        if isinstance(value, str) and value:
            yield f"{name}: {value}"
