"""get_sprint: the sprint of a board, and what is in it."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from remit.servers.arguments import Arguments
from remit.servers.errors import ToolError
from remit.servers.jira.shown import BRIEF_FIELDS, brief
from remit.servers.jira.site import Jira
from remit.servers.notes import Notes
from remit.servers.rest.fields import Fields, find_number, find_text, inner, listed, text

_PAGE: Final = 50
_MOST_PAGES: Final = 10
_MOST_TICKETS: Final = 100
_MOST_NAMED: Final = 15


async def get_sprint(jira: Jira, arguments: Arguments) -> dict[str, object]:
    """Show a sprint and its tickets.

    Raises:
        RestFault: Jira does not show it.
        ToolError: No board or sprint is meant, or several; the message lists them.
    """
    wanted, notes = arguments.text("sprint", "active").strip(), Notes()
    by_id = wanted.isascii() and wanted.isdigit()
    board: Fields | None = None
    if not by_id or arguments.has("board") or arguments.has("board_id"):
        board = await _board(jira, arguments)
    if by_id:
        sprint = await jira.get_agile("sprint", wanted)
    else:
        sprint = await _sprint(jira, board or {}, wanted)
    shown: dict[str, object] = {
        "board": _shown_board(board) if board else None,
        "sprint": _shown_sprint(sprint),
    }
    if arguments.flag("tickets", default=True):
        shown |= await _tickets(jira, text(sprint, "id"), notes)
    return {**shown, "notes": notes.said()}


async def _board(jira: Jira, arguments: Arguments) -> Fields:
    if arguments.has("board_id"):
        return await jira.get_agile("board", arguments.number("board_id", 0))
    name = arguments.text("board").strip()
    boards = await _all(jira, "board", name=name or None, type=None if name else "scrum")
    if not name:
        return _only(boards, "board", "give board or board_id")
    exact = [one for one in boards if text(one, "name").casefold() == name.casefold()]
    partly = [one for one in boards if name.casefold() in text(one, "name").casefold()]
    if not partly:
        known = await _all(jira, "board")
        raise ToolError(f"Jira has no board {name!r}{_listing(known)}")
    return _only(exact or partly, "board", f"{name!r} may be any of them; give board_id")


async def _sprint(jira: Jira, board: Fields, wanted: str) -> Fields:
    path = ("board", text(board, "id"), "sprint")
    if wanted.casefold() == "active":
        found = await _all(jira, *path, state="active")
        if not found:
            coming = await _all(jira, *path, state="future")
            raise ToolError(f"{text(board, 'name')!r} has no active sprint{_listing(coming)}")
        return _only(found, "active sprint", "give the name or id of one as sprint")
    sprints = await _all(jira, *path)
    exact = [one for one in sprints if text(one, "name").casefold() == wanted.casefold()]
    partly = [one for one in sprints if wanted.casefold() in text(one, "name").casefold()]
    if not partly:
        newest = sorted(sprints, key=lambda one: find_number(one, "id") or 0, reverse=True)
        raise ToolError(f"{text(board, 'name')!r} has no sprint {wanted!r}{_listing(newest)}")
    return _only(exact or partly, "sprint", f"{wanted!r} may be any of them; give an id")


def _only(found: Sequence[Fields], what: str, advice: str) -> Fields:
    if len(found) != 1:
        count = f"{len(found)} {what}s" if found else f"no {what}"
        raise ToolError(f"there is {count}, {advice}{_listing(found)}")
    return found[0]


def _listing(found: Sequence[Fields]) -> str:
    if not found:
        return ""
    named = [f"{text(one, 'name')!r} (id {text(one, 'id')})" for one in found[:_MOST_NAMED]]
    more = f" and {len(found) - len(named)} more" if len(found) > len(named) else ""
    return f"; there are: {', '.join(named)}{more}"


async def _all(jira: Jira, *path: str, **query: str | None) -> list[Fields]:
    """Return every page of a list, up to a bound."""
    found: list[Fields] = []
    for _ in range(_MOST_PAGES):
        asked = {**query, "startAt": len(found), "maxResults": _PAGE}
        page = await jira.get_agile(*path, query=asked)
        values = listed(page, "values")
        found += values
        if page.get("isLast") is not False or not values:
            break
    return found


async def _tickets(jira: Jira, sprint: str, notes: Notes) -> dict[str, object]:
    found: list[Fields] = []
    total = 1
    while len(found) < min(total, _MOST_TICKETS):
        query = {"startAt": len(found), "maxResults": _PAGE, "fields": BRIEF_FIELDS}
        page = await jira.get_agile("sprint", sprint, "issue", query=query)
        issues, total = listed(page, "issues"), find_number(page, "total") or 0
        found += issues
        if not issues:
            break
    if total > len(found):
        notes.add(f"only {len(found)} of {total} tickets are shown; search_tickets finds the rest")
    tickets = [brief(jira, issue) for issue in found]
    return {
        "tickets": tickets,
        "ticket_count": total,
        "by_status": dict(Counter(str(one["status"]) for one in tickets)),
    }


def _shown_board(board: Fields) -> dict[str, object]:
    return {
        "id": find_number(board, "id"),
        "name": text(board, "name"),
        "type": find_text(board, "type"),
        "project": find_text(inner(board, "location"), "projectKey"),
    }


def _shown_sprint(sprint: Fields) -> dict[str, object]:
    return {
        "id": find_number(sprint, "id"),
        "name": text(sprint, "name"),
        "state": text(sprint, "state"),
        "goal": find_text(sprint, "goal") or None,
        "start": find_text(sprint, "startDate"),
        "end": find_text(sprint, "endDate"),
        "completed": find_text(sprint, "completeDate"),
    }
