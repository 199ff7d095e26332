"""What the `data` server works on: datasources, queries, what ran, the ontology."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

TIME = sa.DateTime(timezone=True)
BIG_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _data_sources()
    _data_queries()
    _data_executions()
    _data_items()
    _data_schemas()
    _data_changes()


def _data_sources() -> None:
    op.create_table(
        "data_sources",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("engine", sa.Text, nullable=False),
        sa.Column("location", sa.Text, nullable=False),
        sa.Column("reader", sa.Text, nullable=False),
        sa.Column("writer", sa.Text, nullable=False),
        sa.Column("is_writable", sa.Boolean, nullable=False),
        sa.Column("schemas", sa.JSON, nullable=False),
        sa.Column("tables", sa.JSON),
        sa.Column("sensitive", sa.JSON, nullable=False),
        sa.Column("row_limit", sa.Integer, nullable=False),
        sa.Column("time_limit", sa.Double, nullable=False),
        sa.Column("concurrency", sa.Integer, nullable=False),
        sa.Column("is_default", sa.Boolean, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("updated", TIME, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.UniqueConstraint("tenant", "name", name="data_sources_name_once"),
    )


def _data_queries() -> None:
    op.create_table(
        "data_queries",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("datasource", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("sql", sa.Text, nullable=False),
        sa.Column("dialect", sa.Text, nullable=False),
        sa.Column("is_enabled", sa.Boolean, nullable=False),
        sa.Column("usage_count", sa.BigInteger, nullable=False),
        sa.Column("last_used", TIME),
        sa.Column("parameters", sa.JSON, nullable=False),
        sa.Column("output_columns", sa.JSON, nullable=False),
        sa.Column("constraints", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("suggested_by", sa.Text, nullable=False),
        sa.Column("suggestion_context", sa.Text, nullable=False),
        sa.Column("changed", sa.JSON, nullable=False),
        sa.Column("tags", sa.JSON, nullable=False),
        sa.Column("allows_modification", sa.Boolean, nullable=False),
        sa.Column("reviewed_by", sa.Text, nullable=False),
        sa.Column("reviewed", TIME),
        sa.Column("rejection_reason", sa.Text, nullable=False),
        sa.Column("parent", sa.Text, nullable=False),
        sa.Column("deleted", TIME),
        sa.Column("created", TIME, nullable=False),
        sa.Column("updated", TIME, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Index("data_queries_in_order", "tenant", "status", "created", "id"),
        sa.Index("data_queries_of_parent", "tenant", "parent"),
    )


def _data_executions() -> None:
    op.create_table(
        "data_executions",
        sa.Column("seq", BIG_KEY, primary_key=True, autoincrement=True),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("datasource", sa.Text, nullable=False),
        sa.Column("query", sa.Text, nullable=False),
        sa.Column("tool", sa.Text, nullable=False),
        sa.Column("sql", sa.Text, nullable=False),
        sa.Column("parameters", sa.Text, nullable=False),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("started", TIME, nullable=False),
        sa.Column("ms", sa.Double, nullable=False),
        sa.Column("row_count", sa.Integer, nullable=False),
        sa.Column("rows_affected", sa.BigInteger),
        sa.Column("is_modifying", sa.Boolean, nullable=False),
        sa.Column("code", sa.Text, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("flags", sa.JSON, nullable=False),
        sa.Column("tables", sa.JSON, nullable=False),
        sa.UniqueConstraint("id", name="data_executions_once"),
        sa.Index("data_executions_in_order", "tenant", "started", "seq"),
        sa.Index("data_executions_of_user", "tenant", "user", "started", "seq"),
        sa.Index("data_executions_of_query", "tenant", "query", "started", "seq"),
        sqlite_autoincrement=True,
    )


def _data_items() -> None:
    op.create_table(
        "data_items",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("datasource", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("created_source", sa.Text, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("edited_source", sa.Text, nullable=False),
        sa.Column("edited_by", sa.Text, nullable=False),
        sa.Column("edited", TIME, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
    )


def _data_schemas() -> None:
    op.create_table(
        "data_schemas",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("datasource", sa.Text, primary_key=True),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("refreshed", TIME, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
    )


def _data_changes() -> None:
    op.create_table(
        "data_changes",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("datasource", sa.Text, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("table", sa.Text, nullable=False),
        sa.Column("column", sa.Text, nullable=False),
        sa.Column("old", sa.Text, nullable=False),
        sa.Column("new", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("decided", TIME),
        sa.Column("decided_by", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Index("data_changes_in_order", "tenant", "datasource", "status", "created", "id"),
    )
