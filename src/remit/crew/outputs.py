"""What the crew's tools give, with its schemas: camelCase, times in ISO 8601, null for nothing."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from remit.model.crew import (
    AgentState,
    Comment,
    Epic,
    EpicState,
    Mail,
    Member,
    Task,
    TaskState,
)
from remit.model.principals import AgentType
from remit.servers.shapes import (
    COUNT,
    FLAG,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    list_of,
    one_of,
    or_null,
    record,
)

Result = dict[str, object]

AGENT_TYPES: Final = one_of(*AgentType)
AGENT_STATES: Final = one_of(*AgentState)
TASK_STATES: Final = one_of(*TaskState)
EPIC_STATES: Final = one_of(*EpicState)

MAIL: Final = record(
    id=TEXT,
    fromAgentId=TEXT_OR_NULL,
    fromAgentType=or_null(AGENT_TYPES),
    subject=TEXT,
    body=TEXT,
    isRead=FLAG,
    createdAt=TEXT,
    readAt=TEXT_OR_NULL,
)
INBOX: Final = record(count=COUNT, unreadCount=COUNT, mails=list_of(MAIL))
SENT: Final = record(mailId=TEXT, timestamp=TEXT)
AGENT: Final = record(
    id=TEXT,
    type=AGENT_TYPES,
    state=AGENT_STATES,
    currentEpicId=TEXT_OR_NULL,
    currentTaskId=TEXT_OR_NULL,
    tmuxSessionName=TEXT_OR_NULL,
    lastActiveAt=TEXT_OR_NULL,
    createdAt=TEXT,
    updatedAt=TEXT,
)
OWN_TASK: Final = record(
    id=TEXT,
    title=TEXT,
    description=TEXT,
    state=TASK_STATES,
    epicId=TEXT,
    worktreePath=TEXT_OR_NULL,
    branchName=TEXT_OR_NULL,
    prUrl=TEXT_OR_NULL,
    createdAt=TEXT,
    updatedAt=TEXT,
)
_TASK: Final[dict[str, Schema]] = {
    "id": TEXT,
    "title": TEXT,
    "description": TEXT,
    "state": TASK_STATES,
    "epicId": TEXT,
    "assignedAgentId": TEXT_OR_NULL,
    "worktreePath": TEXT_OR_NULL,
    "branchName": TEXT_OR_NULL,
    "prUrl": TEXT_OR_NULL,
    "attempts": COUNT,
    "failureReason": TEXT_OR_NULL,
    "submittedAt": TEXT_OR_NULL,
    "completedAt": TEXT_OR_NULL,
    "createdAt": TEXT,
    "updatedAt": TEXT,
}
COMMENT: Final = record(id=TEXT, author=TEXT, body=TEXT, createdAt=TEXT)
TASK: Final = record(**_TASK, commentCount=COUNT, comments=list_of(COMMENT))
TASKS: Final = record(count=COUNT, tasks=list_of(record(**_TASK)), next=TEXT_OR_NULL)
TASK_MOVED: Final = record(taskId=TEXT, state=TASK_STATES, updatedAt=TEXT)
EPIC: Final = record(
    id=TEXT,
    linearIssueId=TEXT_OR_NULL,
    linearIssueUrl=TEXT_OR_NULL,
    title=TEXT,
    description=TEXT,
    state=EPIC_STATES,
    createdAt=TEXT,
    updatedAt=TEXT,
    completedAt=TEXT_OR_NULL,
)


def iso(moment: datetime) -> str:
    """Return a time as it is written in results: to the millisecond, UTC."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_or_null(moment: datetime | None) -> str | None:
    """Return a time that may not have come."""
    return None if moment is None else iso(moment)


def mail_result(mail: Mail) -> Result:
    """Return a mail as its receiver sees it."""
    return {
        "id": mail.id,
        "fromAgentId": mail.from_agent or None,
        "fromAgentType": None if mail.from_type is None else mail.from_type.value,
        "subject": mail.subject,
        "body": mail.body,
        "isRead": mail.read is not None,
        "createdAt": iso(mail.created),
        "readAt": iso_or_null(mail.read),
    }


def agent_result(member: Member) -> Result:
    """Return an agent as it sees itself."""
    return {
        "id": member.id,
        "type": member.type.value,
        "state": member.state.value,
        "currentEpicId": member.epic or None,
        "currentTaskId": member.task or None,
        "tmuxSessionName": member.tmux_session or None,
        "lastActiveAt": iso_or_null(member.last_active),
        "createdAt": iso(member.created),
        "updatedAt": iso(member.updated),
    }


def own_task_result(task: Task) -> Result:
    """Return a task as its worker sees it (S3.18)."""
    return {
        "id": task.id,
        "title": task.title,
        "description": task.description,
        "state": task.state.value,
        "epicId": task.epic,
        "worktreePath": task.worktree_path or None,
        "branchName": task.branch_name or None,
        "prUrl": task.pr_url or None,
        "createdAt": iso(task.created),
        "updatedAt": iso(task.updated),
    }


def task_result(task: Task) -> Result:
    """Return all of a task."""
    return {
        **own_task_result(task),
        "assignedAgentId": task.assigned or None,
        "attempts": task.attempts,
        "failureReason": task.failure_reason or None,
        "submittedAt": iso_or_null(task.submitted),
        "completedAt": iso_or_null(task.completed),
    }


def tasks_result(tasks: Sequence[Task], *, is_more: bool) -> Result:
    """Return several tasks, and after which one to go on where there are more."""
    return {
        "count": len(tasks),
        "tasks": [task_result(task) for task in tasks],
        "next": tasks[-1].id if is_more else None,
    }


def moved_result(task: Task) -> Result:
    """Return where a task stands now."""
    return {"taskId": task.id, "state": task.state.value, "updatedAt": iso(task.updated)}


def comment_result(comment: Comment) -> Result:
    """Return a comment."""
    return {
        "id": comment.id,
        "author": comment.author,
        "body": comment.body,
        "createdAt": iso(comment.created),
    }


def epic_result(epic: Epic) -> Result:
    """Return all of an epic (S3.19)."""
    return {
        "id": epic.id,
        "linearIssueId": epic.linear_issue_id or None,
        "linearIssueUrl": epic.linear_issue_url or None,
        "title": epic.title,
        "description": epic.description,
        "state": epic.state.value,
        "createdAt": iso(epic.created),
        "updatedAt": iso(epic.updated),
        "completedAt": iso_or_null(epic.completed),
    }
