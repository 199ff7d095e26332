"""How nothing is made twice: a mark that Jira keeps beside a ticket or comment, unseen.

Jira has no idempotency keys. Each ticket and comment is made with a property that holds the
caller's key, or one of our own; a second call with that key, and a call whose answer was lost,
look for it first. A request that may have been done is never sent again (R23).
"""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final, Literal
from uuid import uuid4

import anyio

from remit.servers.errors import ToolError
from remit.servers.jira.jql import quoted
from remit.servers.jira.site import Jira
from remit.servers.rest.faults import RestFault
from remit.servers.rest.fields import (
    Fields,
    StrangeShapeError,
    find_text,
    inner,
    listed,
    text,
)

EARLIER: Final = "made by an earlier call with the same idempotency_key, left as it is"
LOST: Final = "the connection broke before Jira's answer came, but it is there now"

_UNKNOWN: Final = "whether it was done is unknown, so look before you try again"
_PROPERTY: Final = "remit.request"
_MOST_LOOKED_AT: Final = 50
_MOST_ASKED: Final = 10
_LOOKS: Final = 2
"""Jira's search finds a new ticket a moment after it was made."""

_WRITE: Final = 15.0
"""Seconds for a write that cannot be repeated; what is left of the call is for looking."""


class Mark:
    """What a ticket or comment of one request is known by.

    Args:
        key: The caller's; None makes one.
    """

    def __init__(self, key: str | None) -> None:
        self._value = key or uuid4().hex

    def properties(self) -> list[dict[str, object]]:
        """Return what is sent along."""
        return [{"key": _PROPERTY, "value": {"key": self._value}}]

    async def find_ticket(self, jira: Jira, project: str, summary: str) -> Fields | None:
        """Return the ticket that has this mark, of those of the last week with that summary.

        Raises:
            RestFault: Jira does not say.
        """
        known = jira.made_lately.find(self._request(project, summary))
        if known is not None:
            return {"key": known}
        query = f"project = {quoted(project)} AND created >= -7d ORDER BY created DESC"
        path = ("search", "jql") if jira.is_cloud else ("search",)
        asked = {"jql": query, "maxResults": _MOST_LOOKED_AT, "fields": "summary"}
        issues = listed(await jira.get(*path, query=asked), "issues")
        same = [one for one in issues if _same(text(one, "fields", "summary"), summary)]
        for issue in same[:_MOST_ASKED]:
            if await self._is_on(jira, "issue", text(issue, "key")):
                return issue
        return None

    def note_ticket(self, jira: Jira, project: str, summary: str, key: str) -> None:
        """Remember the ticket that was made, as long as Jira's search may not find it."""
        jira.made_lately.add(self._request(project, summary), key)

    async def find_comment(self, jira: Jira, key: str, body: object) -> Fields | None:
        """Return the comment that has this mark, of the newest with that body.

        Raises:
            RestFault: Jira does not say.
        """
        asked = {"orderBy": "-created", "maxResults": _MOST_LOOKED_AT}
        comments = listed(await jira.get("issue", key, "comment", query=asked), "comments")
        words = await jira.read(body)
        asked_about = 0
        for comment in comments:
            if asked_about < _MOST_ASKED and _same(await jira.read(comment.get("body")), words):
                asked_about += 1
                if await self._is_on(jira, "comment", text(comment, "id")):
                    return comment
        return None

    def _request(self, project: str, summary: str) -> tuple[str, ...]:
        return (self._value, project, *summary.split())

    async def _is_on(self, jira: Jira, kind: str, identity: str) -> bool:
        try:
            found = await jira.get(kind, identity, "properties", _PROPERTY)
        except RestFault as fault:
            if fault.status != HTTPStatus.NOT_FOUND:
                raise
            return False
        return find_text(inner(found, "value"), "key") == self._value


async def make_once(
    jira: Jira,
    make: Callable[[], Awaitable[Fields]],
    find: Callable[[], Awaitable[Fields | None]],
    name: Literal["id", "key"],
) -> tuple[Fields, Literal["made", "lost"]]:
    """Make something, and look whether it is there when no answer comes that gives its *name*.

    Raises:
        RestFault: It was not made, or it is not known whether it was.
        ToolError: It is not known whether it was made.
    """
    fault: Exception = ToolError(f"Jira did not answer in time; {_UNKNOWN}")
    try:
        with anyio.move_on_after(_WRITE):
            made = await make()
            if text(made, name):
                return made, "made"
            fault = ToolError(f"Jira did not say what it made; {_UNKNOWN}")
    except RestFault as lost:
        if not lost.is_outcome_unknown:
            raise
        fault = lost
    there = await _look(jira, find)
    if there is None:
        raise fault
    return there, "lost"


async def _look(jira: Jira, find: Callable[[], Awaitable[Fields | None]]) -> Fields | None:
    for look in range(_LOOKS):
        if look:
            await anyio.sleep(jira.pause)
        try:
            there = await find()
        except (RestFault, StrangeShapeError, ToolError):
            return None  # that it is unknown remains true
        if there is not None:
            return there
    return None


def _same(one: str, other: str) -> bool:
    return one.split() == other.split()
