"""The crew's values as rows, and rows as values."""

from datetime import datetime
from typing import Any

from sqlalchemy import Row

from remit.model.crew import (
    AgentState,
    Comment,
    Epic,
    EpicState,
    Mail,
    Member,
    Once,
    Task,
    TaskState,
)
from remit.model.principals import AgentType


def member_values(member: Member) -> dict[str, object]:
    """Return what `crew_agents` holds of *member*, but for when it was last active."""
    return {
        "tenant": member.tenant,
        "id": member.id,
        "state": member.state.value,
        "task": member.task,
        "paused": member.paused,
        "tmux_session": member.tmux_session,
        "crashes": member.crashes,
        "crashed": member.crashed,
        "updated": member.updated,
        "version": member.version,
    }


def first_activity(tenant: str, agent_id: str, now: datetime) -> dict[str, object]:
    """Return what `crew_agents` holds of an agent of which no more is known than its activity."""
    return {
        "tenant": tenant,
        "id": agent_id,
        "state": AgentState.IDLE.value,
        "task": "",
        "paused": "",
        "tmux_session": "",
        "crashes": 0,
        "last_active": now,
        "updated": now,
        "version": 0,
    }


def member_of(row: Row[Any]) -> Member:
    """Return the member of a row of `agents` with what `crew_agents` holds, if anything."""
    if row.state is None:
        return Member(
            id=row.id,
            tenant=row.tenant,
            type=AgentType(row.type),
            epic=row.epic,
            created=row.created,
            updated=row.created,
        )
    return Member(
        id=row.id,
        tenant=row.tenant,
        type=AgentType(row.type),
        state=AgentState(row.state),
        epic=row.epic,
        task=row.task,
        paused=row.paused,
        tmux_session=row.tmux_session,
        crashes=row.crashes,
        crashed=row.crashed,
        last_active=row.last_active,
        created=row.created,
        updated=row.updated,
        version=row.version,
    )


def epic_values(epic: Epic) -> dict[str, object]:
    """Return the row of *epic*."""
    return {
        "tenant": epic.tenant,
        "id": epic.id,
        "title": epic.title,
        "description": epic.description,
        "state": epic.state.value,
        "linear_issue_id": epic.linear_issue_id or None,
        "linear_issue_url": epic.linear_issue_url,
        "completed": epic.completed,
        "created": epic.created,
        "updated": epic.updated,
        "version": epic.version,
    }


def epic_of(row: Row[Any]) -> Epic:
    """Return the epic of a row."""
    return Epic(
        id=row.id,
        tenant=row.tenant,
        title=row.title,
        description=row.description,
        state=EpicState(row.state),
        linear_issue_id=row.linear_issue_id or "",
        linear_issue_url=row.linear_issue_url,
        completed=row.completed,
        created=row.created,
        updated=row.updated,
        version=row.version,
    )


def task_values(task: Task) -> dict[str, object]:
    """Return the row of *task*."""
    return {
        "tenant": task.tenant,
        "id": task.id,
        "epic": task.epic,
        "title": task.title,
        "description": task.description,
        "state": task.state.value,
        "assigned": task.assigned,
        "worktree_path": task.worktree_path,
        "branch_name": task.branch_name,
        "pr_url": task.pr_url,
        "attempts": task.attempts,
        "failure_reason": task.failure_reason,
        "submitted": task.submitted,
        "completed": task.completed,
        "created": task.created,
        "updated": task.updated,
        "version": task.version,
    }


def task_of(row: Row[Any]) -> Task:
    """Return the task of a row."""
    return Task(
        id=row.id,
        tenant=row.tenant,
        epic=row.epic,
        title=row.title,
        description=row.description,
        state=TaskState(row.state),
        assigned=row.assigned,
        worktree_path=row.worktree_path,
        branch_name=row.branch_name,
        pr_url=row.pr_url,
        attempts=row.attempts,
        failure_reason=row.failure_reason,
        submitted=row.submitted,
        completed=row.completed,
        created=row.created,
        updated=row.updated,
        version=row.version,
    )


def comment_values(comment: Comment) -> dict[str, object]:
    """Return the row of *comment*."""
    return {
        "tenant": comment.tenant,
        "id": comment.id,
        "task": comment.task,
        "author": comment.author,
        "body": comment.body,
        "created": comment.created,
    }


def comment_of(row: Row[Any]) -> Comment:
    """Return the comment of a row."""
    return Comment(
        id=row.id,
        tenant=row.tenant,
        task=row.task,
        author=row.author,
        body=row.body,
        created=row.created,
    )


def mail_values(mail: Mail) -> dict[str, object]:
    """Return the row of *mail*."""
    return {
        "tenant": mail.tenant,
        "id": mail.id,
        "from_agent": mail.from_agent,
        "from_type": None if mail.from_type is None else mail.from_type.value,
        "sender": mail.sender,
        "to_agent": mail.to_agent,
        "is_for_human": mail.is_for_human,
        "subject": mail.subject,
        "body": mail.body,
        "is_read": mail.read is not None,
        "created": mail.created,
        "read": mail.read,
        "version": mail.version,
    }


def mail_of(row: Row[Any]) -> Mail:
    """Return the mail of a row."""
    return Mail(
        id=row.id,
        tenant=row.tenant,
        from_agent=row.from_agent,
        from_type=None if row.from_type is None else AgentType(row.from_type),
        sender=row.sender,
        to_agent=row.to_agent,
        subject=row.subject,
        body=row.body,
        created=row.created,
        read=row.read,
        version=row.version,
    )


def once_values(once: Once) -> dict[str, object]:
    """Return the row of a key that is used up."""
    return {
        "tenant": once.tenant,
        "by": once.by,
        "tool": once.tool,
        "key": once.key,
        "asked": once.asked,
        "answer": once.answer,
        "created": once.created,
    }


def once_of(row: Row[Any]) -> Once:
    """Return the key of a row."""
    return Once(
        tenant=row.tenant,
        by=row.by,
        tool=row.tool,
        key=row.key,
        asked=row.asked,
        answer=row.answer,
        created=row.created,
    )
