"""The eight tools as a client sees them."""

from typing import Final

from remit.servers.jira.comments import add_comment
from remit.servers.jira.inputs import INPUT_SCHEMAS
from remit.servers.jira.outputs import OUTPUT_SCHEMAS
from remit.servers.jira.search import search_tickets
from remit.servers.jira.sprints import get_sprint
from remit.servers.jira.status import change_status
from remit.servers.jira.tickets import assign_ticket, create_ticket, get_ticket, update_ticket
from remit.servers.toolbox import Hints, ToolMaker

_READS: Final = Hints(read_only=True, idempotent=True, open_world=True)
_ADDS: Final = Hints(open_world=True)
# What is overwritten is gone, but for the ticket's history.
_SETS: Final = Hints(destructive=True, idempotent=True, open_world=True)


_tool = ToolMaker(INPUT_SCHEMAS, OUTPUT_SCHEMAS)

TOOLS: Final = (
    _tool(
        "create_ticket",
        "Create a ticket",
        "Create a ticket. With an idempotency_key a second call creates no second one.",
        _ADDS,
        create_ticket,
    ),
    _tool(
        "get_ticket",
        "Ticket",
        "Show a ticket: fields, description, links and the newest comments.",
        _READS,
        get_ticket,
    ),
    _tool(
        "update_ticket",
        "Update a ticket",
        "Set fields of a ticket; what is not named stays. Not the status: use change_status.",
        _SETS,
        update_ticket,
    ),
    _tool(
        "add_comment",
        "Comment",
        "Comment on a ticket. With an idempotency_key a second call adds no second comment.",
        _ADDS,
        add_comment,
    ),
    _tool(
        "change_status",
        "Change the status",
        "Move a ticket to a status that its workflow allows; if it does not, the error lists those"
        " that it allows.",
        Hints(open_world=True),
        change_status,
    ),
    _tool(
        "assign_ticket",
        "Assign",
        "Give a ticket to a person, or with null to nobody.",
        _SETS,
        assign_ticket,
    ),
    _tool(
        "search_tickets",
        "Search",
        "Find tickets by JQL, or by words, project, status and assignee; those changed last first.",
        _READS,
        search_tickets,
    ),
    _tool(
        "get_sprint",
        "Sprint",
        "Show the active sprint of a board, or another one, with its tickets.",
        _READS,
        get_sprint,
    ),
)
"""In the order in which they are listed."""
