"""get_pull_request: a pull request, with as many of its parts as are asked for."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from remit.servers.arguments import Arguments
from remit.servers.errors import ToolError
from remit.servers.github.fields import login, names, state_of
from remit.servers.github.pages import next_page
from remit.servers.github.repository import Repository
from remit.servers.notes import Notes, excerpt
from remit.servers.rest.faults import RestFault
from remit.servers.rest.fields import (
    Fields,
    fields_of,
    find_flag,
    find_text,
    flag,
    inner,
    items_of,
    number,
    text,
)
from remit.servers.rest.requests import Reply

_PER_PAGE: Final = 50
_DIFF: Final = "application/vnd.github.diff"
_CLOSED_DOORS: Final = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})


async def get_pull_request(place: Repository, arguments: Arguments) -> dict[str, object]:
    """Show a pull request.

    Raises:
        RestFault: GitHub does not tell.
    """
    pull_number = arguments.number("pull_number", 0)
    place.look_at(pull_number)
    notes = Notes(arguments.number("max_chars", 0))
    pull = fields_of((await place.get("pulls", pull_number)).data)
    parts = _Parts(
        place=place,
        number=pull_number,
        head=text(inner(pull, "head"), "sha"),
        notes=notes,
        page=arguments.number("page", 1),
        diff_from=arguments.number("diff_from", 0),
    )
    shown = shown_pull(pull, notes)
    # In their own order, whatever order they are asked for in.
    for part in (part for part in _READERS if part in arguments.texts("include")):
        shown[part] = await _READERS[part](parts)
    return {**shown, "next_page": parts.next_page, "notes": notes.said()}


def shown_pull(pull: Fields, notes: Notes) -> dict[str, object]:
    """Return what is shown of a pull request, from GitHub's full object of it."""
    merged = flag(pull, "merged")
    return {
        "number": number(pull, "number"),
        "title": text(pull, "title"),
        "state": state_of(pull),
        "merged": merged,
        "draft": flag(pull, "draft"),
        "author": login(pull),
        "body": notes.cut(text(pull, "body"), "body"),
        "head": text(inner(pull, "head"), "label") or text(inner(pull, "head"), "ref"),
        "head_sha": text(inner(pull, "head"), "sha"),
        "base": text(inner(pull, "base"), "ref"),
        "mergeable": find_flag(pull, "mergeable"),
        "mergeable_state": text(pull, "mergeable_state"),
        # Before a merge GitHub names a commit that it only tried out.
        "merge_commit": find_text(pull, "merge_commit_sha") if merged else None,
        "merged_by": login(pull, "merged_by"),
        "requested_reviewers": [
            *names(pull, "requested_reviewers", "login"),
            *names(pull, "requested_teams", "slug"),
        ],
        "assignees": names(pull, "assignees", "login"),
        "labels": names(pull, "labels", "name"),
        "comments": number(pull, "comments"),
        "commit_count": number(pull, "commits"),
        "additions": number(pull, "additions"),
        "deletions": number(pull, "deletions"),
        "changed_files": number(pull, "changed_files"),
        "url": text(pull, "html_url"),
        "created_at": text(pull, "created_at"),
        "updated_at": text(pull, "updated_at"),
        "merged_at": find_text(pull, "merged_at"),
    }


def shown_review(review: Fields, notes: Notes) -> dict[str, object]:
    """Return what is shown of a review."""
    return {
        "id": number(review, "id"),
        "author": login(review),
        "state": text(review, "state"),
        "body": notes.cut(text(review, "body"), "the body of a review"),
        "commit": find_text(review, "commit_id"),
        "submitted_at": find_text(review, "submitted_at"),
        "url": text(review, "html_url"),
    }


@dataclass(slots=True, kw_only=True)
class _Parts:
    """The parts of one pull request, read one after the other.

    Attributes:
        page: Which one of each list.
        next_page: The one after, when some list has one.
    """

    place: Repository
    number: int
    head: str
    notes: Notes
    page: int
    diff_from: int
    next_page: int | None = None

    async def listed(self, *segments: str | int) -> Reply:
        """Return a page of a list below the repository."""
        query = {"page": self.page, "per_page": _PER_PAGE}
        reply = await self.place.get(*segments, query=query)
        self.next_page = next_page(reply, self.page) or self.next_page
        return reply


async def _files(parts: _Parts) -> list[dict[str, object]]:
    reply = await parts.listed("pulls", parts.number, "files")
    return [_file(fields) for fields in items_of(reply.data)]


def _file(fields: Fields) -> dict[str, object]:
    shown: dict[str, object] = {
        "path": text(fields, "filename"),
        "status": text(fields, "status"),
        "additions": number(fields, "additions"),
        "deletions": number(fields, "deletions"),
    }
    before = find_text(fields, "previous_filename")
    return shown if before is None else {**shown, "previous_path": before}


async def _commits(parts: _Parts) -> list[dict[str, object]]:
    reply = await parts.listed("pulls", parts.number, "commits")
    return [_commit(fields) for fields in items_of(reply.data)]


def _commit(fields: Fields) -> dict[str, object]:
    commit = inner(fields, "commit")
    author = inner(commit, "author")
    return {
        "sha": text(fields, "sha"),
        "author": login(fields, "author") or find_text(author, "name"),
        "authored_at": find_text(author, "date"),
        "message": excerpt(text(commit, "message")),
    }


async def _reviews(parts: _Parts) -> list[dict[str, object]]:
    reply = await parts.listed("pulls", parts.number, "reviews")
    return [shown_review(fields, parts.notes) for fields in items_of(reply.data)]


async def _checks(parts: _Parts) -> list[dict[str, object]]:
    """Return check runs and, in the same words, the older commit statuses."""
    runs = await _readable(parts, "check runs", "check_runs", "check-runs")
    statuses = await _readable(parts, "commit statuses", "statuses", "status")
    return [
        *(
            {
                "name": text(run, "name"),
                "status": text(run, "status"),
                "conclusion": find_text(run, "conclusion"),
                "url": find_text(run, "html_url"),
            }
            for run in runs
        ),
        *(
            {
                "name": text(status, "context"),
                "status": "pending" if text(status, "state") == "pending" else "completed",
                "conclusion": None
                if text(status, "state") == "pending"
                else find_text(status, "state"),
                "url": find_text(status, "target_url"),
            }
            for status in statuses
        ),
    ]


async def _readable(parts: _Parts, what: str, name: str, segment: str) -> list[Fields]:
    """Return a list about the head, empty and noted when the token may not see it."""
    try:
        reply = await parts.listed("commits", parts.head, segment)
    except RestFault as fault:
        if fault.limited or fault.status not in _CLOSED_DOORS:
            raise
        parts.notes.add(f"the {what} cannot be read: {fault}")
        return []
    return items_of(fields_of(reply.data).get(name))


async def _diff(parts: _Parts) -> str:
    try:
        reply = await parts.place.ask_text("pulls", parts.number, accept=_DIFF)
    except RestFault as fault:
        if fault.status != HTTPStatus.NOT_ACCEPTABLE:
            raise
        parts.notes.add(f"there is no diff: {fault}; include files instead")
        return ""
    if "json" in reply.headers.get("content-type", ""):
        raise ToolError("GitHub sent no diff; include files instead")
    if reply.truncated:
        parts.notes.add(f"the diff is longer than the {len(reply.text)} characters read of it")
    first = parts.diff_from
    if first:
        parts.notes.add(f"the diff begins at its character {first} of {len(reply.text)}")
    more = "include files for an overview, or a greater max_chars, or diff_from for what follows"
    return parts.notes.cut(reply.text[first:], "diff", more=more)


_READERS: Final[Mapping[str, Callable[[_Parts], Awaitable[object]]]] = {
    "files": _files,
    "commits": _commits,
    "reviews": _reviews,
    "checks": _checks,
    "diff": _diff,
}
