"""create_issue, get_issue, add_issue_comment and list_issues."""

from typing import Final

from remit.servers.arguments import Arguments
from remit.servers.github.doubles import LOST, find_comment, find_issue, marked
from remit.servers.github.fields import is_open_or_closed, login, names, state_of
from remit.servers.github.pages import next_page
from remit.servers.github.repository import Repository
from remit.servers.notes import Notes, excerpt
from remit.servers.rest.fields import Fields, fields_of, find_text, inner, items_of, number, text

_COMMENTS_PER_PAGE: Final = 30
_THERE: Final = "made by an earlier call with the same idempotency_key, left as it is"


async def create_issue(place: Repository, arguments: Arguments) -> dict[str, object]:
    """Open an issue, unless a call with the same key has.

    Raises:
        RestFault: GitHub does not open it.
    """
    key, notes = arguments.find_text("idempotency_key"), Notes()
    sent: dict[str, object] = {
        "title": arguments.text("title"),
        "body": marked(arguments.text("body"), key),
    }
    for name in ("labels", "assignees"):
        if arguments.has(name):
            sent[name] = list(arguments.texts(name))
    there = None if key is None else await find_issue(place, sent, key)
    if there is not None:
        notes.add(_THERE)
        return {**_issue(there, notes), "created": False, "notes": notes.said()}
    made = await place.change_once(
        lambda: place.change("POST", "issues", body=sent),
        lambda: find_issue(place, sent, key),
        is_open_or_closed,
    )
    if made.how == "lost":
        notes.add(LOST)
    for name in ("labels", "assignees"):
        missing = set(arguments.texts(name)) - set(names(made.fields, name, _NAMED_BY[name]))
        if missing:  # GitHub drops without a word what the token may not set
            notes.add(f"GitHub did not take these {name}: {', '.join(sorted(missing))}")
    return {**_issue(made.fields, notes), "created": True, "notes": notes.said()}


async def get_issue(place: Repository, arguments: Arguments) -> dict[str, object]:
    """Show an issue, with its comments when they are asked for.

    Raises:
        RestFault: GitHub does not tell.
    """
    issue_number = arguments.number("issue_number", 0)
    place.look_at(issue_number)
    notes = Notes(arguments.number("max_chars", 0))
    issue = fields_of((await place.get("issues", issue_number)).data)
    shown = _issue(issue, notes)
    if shown["is_pull_request"]:
        notes.add("this is a pull request: get_pull_request shows more of it")
    if arguments.flag("comments"):
        page = arguments.number("page", 1)
        query = {"page": page, "per_page": _COMMENTS_PER_PAGE}
        reply = await place.get("issues", issue_number, "comments", query=query)
        shown["comments"] = [_comment(one, notes) for one in items_of(reply.data)]
        shown["next_page"] = next_page(reply, page)
    return {**shown, "notes": notes.said()}


async def add_issue_comment(place: Repository, arguments: Arguments) -> dict[str, object]:
    """Comment on an issue or pull request, unless a call with the same key has.

    Raises:
        RestFault: GitHub does not take it.
    """
    issue_number = arguments.number("issue_number", 0)
    place.look_at(issue_number)
    key, notes = arguments.find_text("idempotency_key"), Notes()
    sent = {"body": marked(arguments.text("body"), key)}
    there = None if key is None else await find_comment(place, issue_number, sent, key)
    created = there is None
    if there is None:
        made = await place.change_once(
            lambda: place.change("POST", "issues", issue_number, "comments", body=sent),
            lambda: find_comment(place, issue_number, sent, key),
            lambda there: number(there, "id") > 0,
        )
        there = made.fields
        if made.how == "lost":
            notes.add(LOST)
    else:
        notes.add(_THERE)
    return {
        "issue_number": issue_number,
        **_comment(there, notes),
        "created": created,
        "notes": notes.said(),
    }


async def list_issues(place: Repository, arguments: Arguments) -> dict[str, object]:
    """List issues, newest first, a page at a time.

    Raises:
        RestFault: GitHub does not tell.
    """
    page, labels = arguments.number("page", 1), arguments.texts("labels")
    reply = await place.get(
        "issues",
        query={
            "state": arguments.text("state", "open"),
            "labels": ",".join(labels) or None,
            "assignee": arguments.find_text("assignee"),
            "since": arguments.find_text("since"),
            "page": page,
            "per_page": arguments.number("per_page", 30),
        },
    )
    notes, found = Notes(), items_of(reply.data)
    # To GitHub every pull request is an issue as well.
    issues = [one for one in found if "pull_request" not in one]
    if len(issues) < len(found):
        notes.add(f"{len(found) - len(issues)} pull requests on this page are left out")
    return {
        "issues": [{**_brief(one), "excerpt": excerpt(text(one, "body"))} for one in issues],
        "page": page,
        "next_page": next_page(reply, page),
        "notes": notes.said(),
    }


_NAMED_BY: Final = {"labels": "name", "assignees": "login"}


def _brief(issue: Fields) -> dict[str, object]:
    return {
        "number": number(issue, "number"),
        "title": text(issue, "title"),
        "state": state_of(issue),
        "author": login(issue),
        "labels": names(issue, "labels", "name"),
        "assignees": names(issue, "assignees", "login"),
        "comment_count": number(issue, "comments"),
        "url": text(issue, "html_url"),
        "created_at": text(issue, "created_at"),
        "updated_at": text(issue, "updated_at"),
    }


def _issue(issue: Fields, notes: Notes) -> dict[str, object]:
    return {
        **_brief(issue),
        "body": notes.cut(text(issue, "body"), "body"),
        "state_reason": find_text(issue, "state_reason"),
        "milestone": find_text(inner(issue, "milestone"), "title"),
        "closed_at": find_text(issue, "closed_at"),
        "is_pull_request": "pull_request" in issue,
    }


def _comment(comment: Fields, notes: Notes) -> dict[str, object]:
    return {
        "id": number(comment, "id"),
        "author": login(comment),
        "body": notes.cut(text(comment, "body"), "the body of a comment"),
        "url": text(comment, "html_url"),
        "created_at": text(comment, "created_at"),
        "updated_at": text(comment, "updated_at"),
    }
