"""How nothing is made twice: marks in texts by a caller's key, and what was made just now."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from remit.servers.github.pages import next_page
from remit.servers.github.repository import Repository
from remit.servers.rest.fields import Fields, items_of, text

LOST: Final = "the connection broke before GitHub's answer came, but it is there now"
"""The note on what was found after its answer was lost."""

_RECENT: Final = timedelta(minutes=2)
"""How old what was asked for just now may look, with the errors of both clocks."""

_KEPT: Final = timedelta(days=7)
"""How long the key of a comment is looked for."""

_MOST_PAGES: Final = 10


def mark_of(key: str) -> str:
    """Return the mark that stands for a caller's key, unseen in Markdown."""
    return f"<!-- remit-key: {key} -->"


def marked(body: str, key: str | None) -> str:
    """Return a text with the mark of its key, if there is one."""
    if key is None:
        return body
    return f"{body}\n\n{mark_of(key)}" if body else mark_of(key)


def is_recent(fields: Fields, name: str) -> bool:
    """Whether something was made just now, going by the time in its field *name*."""
    try:
        made = datetime.fromisoformat(text(fields, name))
    except ValueError:
        return False
    return made.tzinfo is not None and abs(datetime.now(UTC) - made) < _RECENT


async def find_issue(
    place: Repository, sent: Mapping[str, object], key: str | None
) -> Fields | None:
    """Find the issue that has a key's mark; without a key one that was made like this just now.

    Looks at the hundred issues made last.
    """
    query = {"state": "all", "sort": "created", "direction": "desc", "per_page": 100}
    for issue in items_of((await place.get("issues", query=query)).data):
        if "pull_request" not in issue and _is_it(issue, key, sent, "title", "body"):
            return issue
    return None


async def find_comment(
    place: Repository, number: int, sent: Mapping[str, object], key: str | None
) -> Fields | None:
    """Find the comment that has a key's mark; without a key one that was made like this just now.

    Looks at the comments of the last week, or of the last minutes: at a thousand of them at most.
    """
    since = datetime.now(UTC) - (_KEPT if key is not None else _RECENT)
    query = {"since": since.strftime("%Y-%m-%dT%H:%M:%SZ"), "per_page": 100}
    page: int | None = 1
    while page is not None and page <= _MOST_PAGES:
        reply = await place.get("issues", number, "comments", query={**query, "page": page})
        for comment in items_of(reply.data):
            if _is_it(comment, key, sent, "body"):
                return comment
        page = next_page(reply, page)
    return None


def _is_it(there: Fields, key: str | None, sent: Mapping[str, object], *names: str) -> bool:
    if key is not None:
        return mark_of(key) in text(there, "body")
    # GitHub trims what it is given, and may end lines otherwise.
    same = all(text(there, name).split() == str(sent.get(name, "")).split() for name in names)
    return same and is_recent(there, "created_at")
