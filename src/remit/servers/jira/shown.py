"""Tickets as results show them: the fields that matter, long texts cut with a note."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from remit.servers.jira.fields import EPIC_LINK, SPRINT
from remit.servers.jira.site import Jira
from remit.servers.notes import Notes
from remit.servers.rest.fields import Fields, find_number, find_text, inner, listed, text, texts

BRIEF_FIELDS: Final = "summary,status,issuetype,priority,assignee,labels,updated"
"""What `brief` reads."""

LONGEST_DESCRIPTION: Final = 10_000
LONGEST_COMMENT: Final = 3_000
_MORE: Final = "get_ticket with a greater max_chars gives more"
MOST_COMMENTS: Final = 20
MOST_LISTED: Final = 50
"""Subtasks, links and attachments of one ticket."""

_DETAIL_FIELDS: Final = (
    f"{BRIEF_FIELDS},reporter,created,resolution,duedate,parent,description,subtasks,issuelinks"
    ",attachment"
)
_SPRINT_NAME: Final = re.compile(r"[\[,]name=([^,\]]*)")


def brief(jira: Jira, issue: Fields) -> dict[str, object]:
    """Return a ticket as lists show it."""
    fields = inner(issue, "fields")
    return {
        "key": text(issue, "key"),
        "summary": text(fields, "summary"),
        "type": find_text(fields, "issuetype", "name"),
        "status": text(fields, "status", "name"),
        "status_category": find_text(fields, "status", "statusCategory", "name"),
        "priority": find_text(fields, "priority", "name"),
        "assignee": jira.person(inner(fields, "assignee")),
        "labels": texts(fields, "labels"),
        "updated": find_text(fields, "updated"),
        "url": jira.url(text(issue, "key")),
    }


async def detailed(jira: Jira, key: str, notes: Notes) -> dict[str, object]:
    """Return a ticket with everything but its comments.

    Raises:
        RestFault: Jira does not show it.
    """
    table = await jira.field_table()
    special = [field.id for field in map(table.find_custom, (SPRINT, EPIC_LINK)) if field]
    asked = ",".join([_DETAIL_FIELDS, *special])
    issue = await jira.get("issue", key, query={"fields": asked})
    fields = inner(issue, "fields")
    sprints, epic = table.find_custom(SPRINT), table.find_custom(EPIC_LINK)
    description = await jira.read(fields.get("description"))
    return {
        **brief(jira, issue),
        "description": notes.cut(
            description, "the description", longest=LONGEST_DESCRIPTION, more=_MORE
        ),
        "reporter": jira.person(inner(fields, "reporter")),
        "created": find_text(fields, "created"),
        "resolution": find_text(fields, "resolution", "name"),
        "due": find_text(fields, "duedate"),
        "parent": _parent(fields, epic.id if epic else ""),
        "sprints": _sprints(fields, sprints.id) if sprints else [],
        "subtasks": [_related(one) for one in _some(listed(fields, "subtasks"), "subtasks", notes)],
        "links": [_link(one) for one in _some(listed(fields, "issuelinks"), "links", notes)],
        "attachments": [
            text(one, "filename")
            for one in _some(listed(fields, "attachment"), "attachments", notes)
        ],
    }


async def comment_of(jira: Jira, comment: Fields, notes: Notes) -> dict[str, object]:
    """Return a comment."""
    words = await jira.read(comment.get("body"))
    return {
        "id": text(comment, "id"),
        "author": jira.person(inner(comment, "author")),
        "created": find_text(comment, "created"),
        "body": notes.cut(
            words, f"comment {text(comment, 'id')}", longest=LONGEST_COMMENT, more=_MORE
        ),
    }


async def newest_comments(jira: Jira, key: str, notes: Notes) -> dict[str, object]:
    """Return the newest comments of a ticket, oldest first, and how many there are.

    Raises:
        RestFault: Jira does not show them.
    """
    query = {"orderBy": "-created", "maxResults": MOST_COMMENTS}
    page = await jira.get("issue", key, "comment", query=query)
    found = sorted(listed(page, "comments"), key=lambda one: text(one, "created"))
    total = find_number(page, "total") or len(found)
    if total > len(found):
        notes.add(f"only the newest {len(found)} of {total} comments are shown")
    comments = [await comment_of(jira, one, notes) for one in found]
    return {"comments": comments, "comment_count": total}


def _some(items: Sequence[Fields], what: str, notes: Notes) -> Sequence[Fields]:
    if len(items) > MOST_LISTED:
        notes.add(f"only {MOST_LISTED} of {len(items)} {what} are shown")
    return items[:MOST_LISTED]


def _related(issue: Fields) -> dict[str, object]:
    return {
        "key": text(issue, "key"),
        "summary": text(issue, "fields", "summary"),
        "status": find_text(issue, "fields", "status", "name"),
    }


def _link(link: Fields) -> dict[str, object]:
    way = "outward" if inner(link, "outwardIssue") else "inward"
    return {"relation": text(link, "type", way), **_related(inner(link, f"{way}Issue"))}


def _parent(fields: Fields, epic: str) -> Mapping[str, object] | None:
    parent = inner(fields, "parent")
    if parent:
        return _related(parent)
    key = find_text(fields, epic) if epic else None
    return {"key": key, "summary": "", "status": None} if key else None


def _sprints(fields: Fields, field: str) -> list[str]:
    """Return the names of sprints; Data Center may write them as one long text each."""
    written = (_SPRINT_NAME.search(one) for one in texts(fields, field))
    named = [text(one, "name") for one in listed(fields, field)]
    return named + [found.group(1) for found in written if found]
