"""What the eight tools take (tools.md), and what is added to it."""

from collections.abc import Mapping
from typing import Final

from remit.servers.shapes import Schema, count, flag, given, or_null, text, texts

_NAME: Final = 255
_LONGEST: Final = 32_767
"""Characters of a description or comment that Jira takes."""

_TICKET: Final = text(
    "Key of the ticket, such as SHOP-12.", 100, pattern=r"^[A-Za-z][A-Za-z0-9_]*-[0-9]+$"
)
_PROJECT: Final = text(
    "Key of the project, such as SHOP.", _NAME, pattern="^[A-Za-z][A-Za-z0-9_]*$"
)
_SUMMARY: Final = text("Title, in one line.", _NAME, pattern=r"^[^\r\n]*$")
_WORDS: Final = "Markdown on Jira Cloud, wiki markup on Data Center"
_DESCRIPTION: Final = text(f"Description: {_WORDS}.", _LONGEST)
_PRIORITY: Final = text("Name of the priority, such as High.", _NAME)
_LABELS: Final = texts("Labels; without spaces.", _NAME, 100)
_PERSON: Final = "e-mail address, full name, or account id (Cloud) or user name (Data Center)"
_FIELDS: Final[Schema] = {
    "type": "object",
    "maxProperties": 100,
    "description": "Other fields, by name or id, such as {'Story Points': 3, 'Due Date':"
    " '2026-12-24', 'Components': ['API']}. People, options and versions by name.",
}
_KEY: Final = text(
    "A text of your own that stands for this one request. A second call with the same key and the"
    " same text makes nothing new and returns what the first one made.",
    100,
    pattern="^[A-Za-z0-9._:/-]+$",
)

_INPUTS: Final[Mapping[str, tuple[dict[str, Schema], tuple[str, ...]]]] = {
    "create_ticket": (
        {
            "project_key": _PROJECT,
            "summary": _SUMMARY,
            "issue_type": text("Type of the ticket, such as Bug.", _NAME, default="Task"),
            "description": _DESCRIPTION,
            "priority": _PRIORITY,
            "labels": _LABELS,
            "assignee": text(f"Who is to do it: {_PERSON}, or me.", _NAME),
            "parent": {**_TICKET, "description": "Key of the ticket or epic that it belongs to."},
            "fields": _FIELDS,
            "idempotency_key": _KEY,
        },
        ("project_key", "summary"),
    ),
    "get_ticket": (
        {
            "ticket_key": _TICKET,
            "comments": flag("Whether to show the newest comments.", default=True),
            "max_chars": count(
                "Characters after which a text is cut; else 10000 of the description, 3000 of a"
                " comment.",
                None,
                100,
                100_000,
            ),
        },
        ("ticket_key",),
    ),
    "update_ticket": (
        {
            "ticket_key": _TICKET,
            "summary": _SUMMARY,
            "description": {**_DESCRIPTION, "minLength": 0},
            "priority": _PRIORITY,
            "labels": {**_LABELS, "description": "All labels that it is to have."},
            "fields": _FIELDS,
        },
        ("ticket_key",),
    ),
    "add_comment": (
        {
            "ticket_key": _TICKET,
            "body": text(f"Comment: {_WORDS}.", _LONGEST),
            "idempotency_key": _KEY,
        },
        ("ticket_key", "body"),
    ),
    "change_status": (
        {
            "ticket_key": _TICKET,
            "status": text("Name of the status that it is to have, such as Done.", _NAME),
            "resolution": text("Name of the resolution, where the way there takes one.", _NAME),
            "comment": text(f"Comment that goes with it: {_WORDS}.", _LONGEST),
        },
        ("ticket_key", "status"),
    ),
    "assign_ticket": (
        {
            "ticket_key": _TICKET,
            "assignee": {
                **or_null({"type": "string", "minLength": 1, "maxLength": _NAME}),
                "description": f"Who is to do it: {_PERSON}, or me; null for nobody.",
            },
        },
        ("ticket_key", "assignee"),
    ),
    "search_tickets": (
        {
            "jql": text("Query in JQL. Give this, or text.", 4000),
            "text": text("Words that the ticket holds anywhere.", 1000),
            "project_key": _PROJECT,
            "status": text("Only those of this status.", _NAME),
            "assignee": text(f"Only those of this person: {_PERSON}, me, or unassigned.", _NAME),
            "max_results": count("How many at most.", 20, 1, 100),
            "page_token": text("The next_page_token of the page before.", 4096),
        },
        (),
    ),
    "get_sprint": (
        {
            "board": text("Name of the board. Without it, the only scrum board.", _NAME),
            "board_id": count("Id of the board, instead of its name.", None, 1, 2**31 - 1),
            "sprint": text("Name or id of the sprint, or active.", _NAME, default="active"),
            "tickets": flag("Whether to show its tickets.", default=True),
        },
        (),
    ),
}

INPUT_SCHEMAS: Final[Mapping[str, Schema]] = {
    name: given(properties, required) for name, (properties, required) in _INPUTS.items()
}
"""Input schema by tool name."""
