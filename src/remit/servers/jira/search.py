"""search_tickets: by JQL or by words."""

from typing import Final

from remit.servers.arguments import Arguments
from remit.servers.errors import ToolError
from remit.servers.jira.jql import combined, quoted, with_words
from remit.servers.jira.people import ME, find_person
from remit.servers.jira.shown import BRIEF_FIELDS, brief
from remit.servers.jira.site import Jira
from remit.servers.rest.fields import Fields, find_number, find_text, listed

_NOBODY: Final = frozenset({"unassigned", "nobody", "none"})
_NEWEST_FIRST: Final = "ORDER BY updated DESC"


async def search_tickets(jira: Jira, arguments: Arguments) -> dict[str, object]:
    """Find tickets.

    Raises:
        RestFault: Jira does not take the query.
        ToolError: Nothing to search for was given, or a person is not known.
    """
    conditions = await _conditions(jira, arguments)
    jql = combined(arguments.text("jql"), conditions, _NEWEST_FIRST)
    if not jql:
        raise ToolError("give jql, or text to search for, or project_key, status or assignee")
    most, token = arguments.number("max_results", 20), arguments.find_text("page_token")
    asked: dict[str, str | int | None] = {"jql": jql, "maxResults": most, "fields": BRIEF_FIELDS}
    if jira.is_cloud:
        page = await jira.get("search", "jql", query={**asked, "nextPageToken": token})
        following = find_text(page, "nextPageToken")
    else:
        start = _start(token)
        page = await jira.get("search", query={**asked, "startAt": start})
        following = _following(page, start)
    return {
        "tickets": [brief(jira, issue) for issue in listed(page, "issues")],
        "total": find_number(page, "total"),
        "next_page_token": following,
        "jql": jql,
    }


async def _conditions(jira: Jira, arguments: Arguments) -> list[str]:
    conditions: list[str] = []
    if arguments.find_text("project_key"):
        conditions.append(f"project = {quoted(arguments.text('project_key'))}")
    if arguments.find_text("status"):
        conditions.append(f"status = {quoted(arguments.text('status'))}")
    who = arguments.text("assignee").strip()
    if who.casefold() in ME:
        conditions.append("assignee = currentUser()")
    elif who.casefold() in _NOBODY:
        conditions.append("assignee is EMPTY")
    elif who:
        conditions.append(f"assignee = {quoted(await find_person(jira, who))}")
    if arguments.find_text("text"):
        conditions.append(with_words(arguments.text("text")))
    return conditions


def _start(token: str | None) -> int:
    if token is None:
        return 0
    if not (token.isascii() and token.isdigit()):
        raise ToolError("page_token is not one of this Jira; give the next_page_token of a result")
    return int(token)


def _following(page: Fields, start: int) -> str | None:
    seen = start + len(listed(page, "issues"))
    more = listed(page, "issues") and seen < (find_number(page, "total") or 0)
    return str(seen) if more else None
