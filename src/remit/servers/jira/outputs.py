"""The shapes of the eight tools' structured results."""

from collections.abc import Mapping
from typing import Final

from remit.servers.shapes import (
    COUNT,
    COUNT_OR_NULL,
    FLAG,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    list_of,
    or_null,
    record,
)

_NOTES: Final[Schema] = {
    **list_of(TEXT),
    "description": "What is left out or remarkable.",
}
_PERSON: Final = or_null(record(id=TEXT, name=TEXT, email=TEXT_OR_NULL))
_BRIEF: Final[Mapping[str, Schema]] = {
    "key": TEXT,
    "summary": TEXT,
    "type": TEXT_OR_NULL,
    "status": TEXT,
    "status_category": TEXT_OR_NULL,
    "priority": TEXT_OR_NULL,
    "assignee": _PERSON,
    "labels": list_of(TEXT),
    "updated": TEXT_OR_NULL,
    "url": TEXT,
}
_COMMENT: Final = record(id=TEXT, author=_PERSON, created=TEXT_OR_NULL, body=TEXT)
_RELATED: Final[Mapping[str, Schema]] = {"key": TEXT, "summary": TEXT, "status": TEXT_OR_NULL}

OUTPUT_SCHEMAS: Final[Mapping[str, Schema]] = {
    "create_ticket": record(key=TEXT, url=TEXT, created=FLAG, notes=_NOTES),
    "get_ticket": record(
        ("comments", "comment_count"),
        **_BRIEF,
        description=TEXT,
        reporter=_PERSON,
        created=TEXT_OR_NULL,
        resolution=TEXT_OR_NULL,
        due=TEXT_OR_NULL,
        parent=or_null(record(**_RELATED)),
        sprints=list_of(TEXT),
        subtasks=list_of(record(**_RELATED)),
        links=list_of(record(relation=TEXT, **_RELATED)),
        attachments=list_of(TEXT),
        comments=list_of(_COMMENT),
        comment_count=COUNT,
        notes=_NOTES,
    ),
    "update_ticket": record(key=TEXT, url=TEXT, changed_fields=list_of(TEXT)),
    "add_comment": record(key=TEXT, url=TEXT, comment=_COMMENT, created=FLAG, notes=_NOTES),
    "change_status": record(
        key=TEXT,
        url=TEXT,
        previous_status=TEXT,
        status=TEXT,
        changed=FLAG,
        resolution=TEXT_OR_NULL,
        comment_id=TEXT_OR_NULL,
        notes=_NOTES,
    ),
    "assign_ticket": record(key=TEXT, url=TEXT, assignee=_PERSON, previous_assignee=_PERSON),
    "search_tickets": record(
        tickets=list_of(record(**_BRIEF)),
        total={**COUNT_OR_NULL, "description": "null where Jira does not count"},
        next_page_token={**TEXT_OR_NULL, "description": "null on the last page"},
        jql={**TEXT, "description": "the query as Jira got it"},
    ),
    "get_sprint": record(
        ("tickets", "ticket_count", "by_status"),
        board=or_null(record(id=COUNT_OR_NULL, name=TEXT, type=TEXT_OR_NULL, project=TEXT_OR_NULL)),
        sprint=record(
            id=COUNT_OR_NULL,
            name=TEXT,
            state=TEXT,
            goal=TEXT_OR_NULL,
            start=TEXT_OR_NULL,
            end=TEXT_OR_NULL,
            completed=TEXT_OR_NULL,
        ),
        tickets=list_of(record(**_BRIEF)),
        ticket_count=COUNT,
        by_status={"type": "object", "additionalProperties": COUNT},
        notes=_NOTES,
    ),
}
"""Output schema by tool name."""
