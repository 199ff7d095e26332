"""The tables as they are now; `migrations/` holds how they came about.

`agent_mcp_tools` and the view `tool_execution_logs` have the columns of the source document
(S0.12, S0.22). Both are projections that nobody writes directly (R28).
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Double,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    Uuid,
    text,
    true,
)
from sqlalchemy.types import TypeEngine

from remit.model.times import in_utc
from remit.storage.texts import storable, storable_json


class StorableText(TypeDecorator[str]):
    """A text without the characters that PostgreSQL refuses."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - given by SQLAlchemy
        """Spell out what PostgreSQL refuses."""
        return None if value is None else storable(value)


class JsonText(TypeDecorator[str]):
    """JSON as text, which the view `tool_execution_logs` reads as jsonb."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - given by SQLAlchemy
        """Spell out what jsonb refuses."""
        return None if value is None else storable_json(value)


class UtcTime(TypeDecorator[datetime]):
    """Aware UTC in Python on both databases; SQLite stores it without its zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - given by SQLAlchemy
        """Refuse a time without a zone."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"a time needs its zone: {value!r}")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - given by SQLAlchemy
        """Give back the zone; what has no time in UTC is a ValueError, as what is no time is."""
        try:
            return None if value is None else in_utc(value)
        except OverflowError as error:
            raise ValueError(f"{value!r} is beyond the calendar in UTC") from error


def _uuid() -> TypeEngine[Any]:
    """A UUID as 36 characters in Python, native where there is such a type."""
    return Uuid(as_uuid=False).with_variant(String(36), "sqlite")


def integer_key() -> TypeEngine[Any]:
    """A 64-bit key that the database assigns; SQLite does so only for its INTEGER."""
    return BigInteger().with_variant(Integer(), "sqlite")


metadata = MetaData()

tenants = Table(
    "tenants",
    metadata,
    Column("name", StorableText, primary_key=True),
    Column("uuid", _uuid(), nullable=False),
    Column("created", UtcTime, nullable=False),
    UniqueConstraint("uuid", name="tenants_uuid_once"),
)

revisions = Table(
    "revisions",
    metadata,
    Column("tenant", StorableText, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    # json, not jsonb: the order of servers and roles is the document's
    Column("document", JSON, nullable=False),
    Column("digest", Text, nullable=False),
    Column("author", StorableText, nullable=False),
    Column("reason", StorableText, nullable=False),
    Column("created", UtcTime, nullable=False),
    Column("from_file", Boolean, nullable=False, server_default=true()),
)

agent_mcp_tools = Table(
    "agent_mcp_tools",
    metadata,
    Column("id", _uuid(), primary_key=True),
    Column("role", StorableText, nullable=False),
    Column("mcp_server", StorableText, nullable=False),
    Column("tool_name", StorableText, nullable=False),
    Column("enabled", Boolean, server_default=true()),
    UniqueConstraint("role", "mcp_server", "tool_name", name="agent_mcp_tools_once"),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", StorableText, primary_key=True),
    Column("tenant", StorableText, nullable=False),
    Column("name", StorableText, nullable=False),
    Column("secret_hash", Text, nullable=False),
    Column("roles", JSON, nullable=False),
    Column("user_roles", JSON, nullable=False),
    Column("service", Boolean, nullable=False),
    Column("queries", JSON, nullable=False),
    Column("agent", StorableText, nullable=False),
    Column("act_for", JSON, nullable=False),
    Column("admin", Boolean, nullable=False),
    Column("auditor", Boolean, nullable=False),
    Column("owner", StorableText, nullable=False),
    Column("created", UtcTime, nullable=False),
    Column("expires", UtcTime),
    Column("revoked", UtcTime),
    Column("last_used", UtcTime),
    Index(
        "api_keys_name_in_use",
        "tenant",
        "name",
        unique=True,
        # so on PostgreSQL, too: the migrations make it; naming it here would load that dialect
        sqlite_where=text("revoked IS NULL"),
    ),
    Index("api_keys_in_order", "tenant", "created", "id"),
    Index("api_keys_of_name", "tenant", "name", "created", "id"),
)

agents = Table(
    "agents",
    metadata,
    Column("tenant", StorableText, primary_key=True),
    Column("id", StorableText, primary_key=True),
    Column("type", Text, nullable=False),
    Column("role", StorableText, nullable=False),
    Column("epic", StorableText, nullable=False),
    Column("created", UtcTime, nullable=False),
)

disabled_users = Table(
    "disabled_users",
    metadata,
    Column("tenant", StorableText, primary_key=True),
    Column("name", StorableText, primary_key=True),
    Column("since", UtcTime, nullable=False),
)

epochs = Table(
    "epochs",
    metadata,
    Column("tenant", StorableText, primary_key=True),
    Column("topic", Text, primary_key=True),
    Column("value", BigInteger, nullable=False),
)

limit_slots = Table(
    "limit_slots",
    metadata,
    Column("key", Text, primary_key=True),
    Column("slot", Integer, primary_key=True, autoincrement=False),
    # seconds since 1970 on the database's clock
    Column("free_at", Double, nullable=False),
    Index("limit_slots_free", "key", "free_at"),
)

seen_tools = Table(
    "seen_tools",
    metadata,
    Column("tenant", StorableText, primary_key=True),
    Column("server", StorableText, primary_key=True),
    Column("name", StorableText, primary_key=True),
    Column("wire", StorableText, nullable=False),
    Column("last_seen", UtcTime, nullable=False),
)

audit_events = Table(
    "audit_events",
    metadata,
    Column("seq", integer_key(), primary_key=True, autoincrement=True),
    Column("id", _uuid(), nullable=False),
    Column("kind", Text, nullable=False),
    Column("call_id", StorableText, nullable=False),
    Column("time", UtcTime, nullable=False),
    Column("tenant", StorableText, nullable=False),
    Column("principal", StorableText, nullable=False),
    Column("role", StorableText, nullable=False),
    Column("member", StorableText),
    Column("server", StorableText, nullable=False),
    Column("tool", StorableText, nullable=False),
    Column("decision", StorableText, nullable=False),
    Column("layer", StorableText, nullable=False),
    Column("rule", StorableText, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("outcome", StorableText, nullable=False),
    Column("code", StorableText, nullable=False),
    Column("ms", Double, nullable=False),
    Column("arguments", JsonText, nullable=False),
    Column("arguments_size", BigInteger, nullable=False),
    Column("result", JsonText),
    Column("result_size", BigInteger, nullable=False),
    Column("error", StorableText),
    Column("agent", StorableText),
    # the row's place in its tenant's chain and its hash (chain.py)
    Column("link", BigInteger),
    Column("hash", Text),
    UniqueConstraint("id", name="audit_events_once"),
    Index("audit_events_of_call", "call_id"),
    # What the record is searched by; every row pays for each of them. None begins with the tenant:
    # SQLite would take it for any question, and sort all that is found.
    Index("audit_events_of_principal", "principal", "id"),
    Index("audit_events_of_tool", "tool", "id"),
    # on PostgreSQL, too, as above
    Index("audit_events_of_code", "code", "id", sqlite_where=text("code <> ''")),
    Index("audit_events_of_agent", "agent", "id", sqlite_where=text("agent IS NOT NULL")),
    sqlite_autoincrement=True,
)

audit_chain = Table(
    "audit_chain",
    metadata,
    Column("tenant", StorableText, primary_key=True),
    Column("length", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
)

# what stands for rows that retention removed (cuts.py)
audit_cuts = Table(
    "audit_cuts",
    metadata,
    Column("tenant", StorableText, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("link", BigInteger, nullable=False),
    Column("signed", Text, nullable=False),
)

# how many bytes of a journal are in the database (intake.py)
audit_journals = Table(
    "audit_journals",
    metadata,
    Column("name", StorableText, primary_key=True),
    Column("taken", BigInteger, nullable=False),
)

# what the crew works on (S3.31-S3.34); who an agent is stands in `agents`
crew_agents = Table(
    "crew_agents",
    metadata,
    Column("tenant", StorableText, primary_key=True),
    Column("id", StorableText, primary_key=True),
    Column("state", Text, nullable=False),
    Column("task", StorableText, nullable=False),
    Column("paused", StorableText, nullable=False),
    Column("tmux_session", StorableText, nullable=False),
    Column("crashes", Integer, nullable=False),
    Column("crashed", UtcTime),
    Column("last_active", UtcTime),
    Column("updated", UtcTime, nullable=False),
    Column("version", Integer, nullable=False),
)

crew_epics = Table(
    "crew_epics",
    metadata,
    Column("tenant", StorableText, primary_key=True),
    Column("id", StorableText, primary_key=True),
    Column("title", StorableText, nullable=False),
    Column("description", StorableText, nullable=False),
    Column("state", Text, nullable=False),
    # NULL, and not empty, for none: it is unique
    Column("linear_issue_id", StorableText),
    Column("linear_issue_url", StorableText, nullable=False),
    Column("completed", UtcTime),
    Column("created", UtcTime, nullable=False),
    Column("updated", UtcTime, nullable=False),
    Column("version", Integer, nullable=False),
    UniqueConstraint("tenant", "linear_issue_id", name="crew_epics_of_issue"),
)

crew_tasks = Table(
    "crew_tasks",
    metadata,
    Column("tenant", StorableText, primary_key=True),
    Column("id", StorableText, primary_key=True),
    Column("epic", StorableText, nullable=False),
    Column("title", StorableText, nullable=False),
    Column("description", StorableText, nullable=False),
    Column("state", Text, nullable=False),
    Column("assigned", StorableText, nullable=False),
    Column("worktree_path", StorableText, nullable=False),
    Column("branch_name", StorableText, nullable=False),
    Column("pr_url", StorableText, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("failure_reason", StorableText, nullable=False),
    Column("submitted", UtcTime),
    Column("completed", UtcTime),
    Column("created", UtcTime, nullable=False),
    Column("updated", UtcTime, nullable=False),
    Column("version", Integer, nullable=False),
    Index("crew_tasks_of_epic", "tenant", "epic", "state"),
)

crew_comments = Table(
    "crew_comments",
    metadata,
    Column("tenant", StorableText, primary_key=True),
    Column("id", StorableText, primary_key=True),
    Column("task", StorableText, nullable=False),
    Column("author", StorableText, nullable=False),
    Column("body", StorableText, nullable=False),
    Column("created", UtcTime, nullable=False),
    Index("crew_comments_of_task", "tenant", "task", "created"),
)

crew_mail = Table(
    "crew_mail",
    metadata,
    Column("tenant", StorableText, primary_key=True),
    Column("id", StorableText, primary_key=True),
    Column("from_agent", StorableText, nullable=False),
    Column("from_type", Text),
    Column("sender", StorableText, nullable=False),
    Column("to_agent", StorableText, nullable=False),
    Column("is_for_human", Boolean, nullable=False),
    Column("subject", StorableText, nullable=False),
    Column("body", StorableText, nullable=False),
    Column("is_read", Boolean, nullable=False),
    Column("created", UtcTime, nullable=False),
    Column("read", UtcTime),
    Column("version", Integer, nullable=False),
    Index("crew_mail_of_agent", "tenant", "to_agent", "is_read", "created"),
)

# the outbox: written with what it tells of, and read in the order of `seq` as far as it goes
crew_events = Table(
    "crew_events",
    metadata,
    Column("seq", integer_key(), primary_key=True, autoincrement=True),
    Column("id", StorableText, nullable=False),
    Column("tenant", StorableText, nullable=False),
    Column("topic", Text, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("created", UtcTime, nullable=False),
    UniqueConstraint("id", name="crew_events_once"),
    sqlite_autoincrement=True,
)

crew_keys = Table(
    "crew_keys",
    metadata,
    Column("tenant", StorableText, primary_key=True),
    Column("by", StorableText, primary_key=True),
    Column("tool", StorableText, primary_key=True),
    Column("key", StorableText, primary_key=True),
    Column("asked", Text, nullable=False),
    Column("answer", JsonText, nullable=False),
    Column("created", UtcTime, nullable=False),
)

# how far each subscriber has heard of the events, whoever delivers them
crew_subscribers = Table(
    "crew_subscribers",
    metadata,
    Column("name", StorableText, primary_key=True),
    Column("delivered", BigInteger().with_variant(Integer(), "sqlite"), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due", UtcTime),
    Column("problem", StorableText, nullable=False),
    Column("holder", Text, nullable=False),
    Column("until", UtcTime),
)

crew_dead_letters = Table(
    "crew_dead_letters",
    metadata,
    Column("subscriber", StorableText, primary_key=True),
    Column("seq", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True),
    Column("attempts", Integer, nullable=False),
    Column("problem", StorableText, nullable=False),
    Column("died", UtcTime, nullable=False),
)

leases = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    Column("until", UtcTime, nullable=False),
)
