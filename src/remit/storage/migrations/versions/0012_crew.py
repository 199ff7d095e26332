"""The crew: what its agents are at, epics, tasks, comments, mail, and the events of all that."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

TIME = sa.DateTime(timezone=True)
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _text(name: str, *, key: bool = False, null: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, primary_key=key, nullable=null)


def _time(name: str, *, null: bool = False) -> sa.Column[object]:
    return sa.Column(name, TIME, nullable=null)


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False)


def upgrade() -> None:
    _work()
    _words()
    op.create_table(
        "crew_events",
        sa.Column("seq", NUMBER, primary_key=True, autoincrement=True),
        *map(_text, ("id", "tenant", "topic")),
        sa.Column("payload", sa.JSON, nullable=False),
        _time("created"),
        sa.UniqueConstraint("id", name="crew_events_once"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "crew_keys",
        *(_text(name, key=True) for name in ("tenant", "by", "tool", "key")),
        *map(_text, ("asked", "answer")),
        _time("created"),
    )


def _work() -> None:
    op.create_table(
        "crew_agents",
        *(_text(name, key=True) for name in ("tenant", "id")),
        *map(_text, ("state", "task", "paused", "tmux_session")),
        _count("crashes"),
        _time("last_active", null=True),
        _time("updated"),
        _count("version"),
    )
    op.create_table(
        "crew_epics",
        *(_text(name, key=True) for name in ("tenant", "id")),
        *map(_text, ("title", "description", "state")),
        _text("linear_issue_id", null=True),
        _text("linear_issue_url"),
        _time("completed", null=True),
        *map(_time, ("created", "updated")),
        _count("version"),
        sa.UniqueConstraint("tenant", "linear_issue_id", name="crew_epics_of_issue"),
    )
    op.create_table(
        "crew_tasks",
        *(_text(name, key=True) for name in ("tenant", "id")),
        *map(_text, ("epic", "title", "description", "state", "assigned")),
        *map(_text, ("worktree_path", "branch_name", "pr_url")),
        _count("attempts"),
        _text("failure_reason"),
        *(_time(name, null=True) for name in ("submitted", "completed")),
        *map(_time, ("created", "updated")),
        _count("version"),
    )
    op.create_index("crew_tasks_of_epic", "crew_tasks", ["tenant", "epic", "state"])


def _words() -> None:
    op.create_table(
        "crew_comments",
        *(_text(name, key=True) for name in ("tenant", "id")),
        *map(_text, ("task", "author", "body")),
        _time("created"),
    )
    op.create_index("crew_comments_of_task", "crew_comments", ["tenant", "task", "created"])
    op.create_table(
        "crew_mail",
        *(_text(name, key=True) for name in ("tenant", "id")),
        _text("from_agent"),
        _text("from_type", null=True),
        *map(_text, ("sender", "to_agent")),
        sa.Column("is_for_human", sa.Boolean, nullable=False),
        *map(_text, ("subject", "body")),
        sa.Column("is_read", sa.Boolean, nullable=False),
        _time("created"),
        _time("read", null=True),
        _count("version"),
    )
    op.create_index("crew_mail_of_agent", "crew_mail", ["tenant", "to_agent", "is_read", "created"])
