"""Revisions, keys, the audit stream, and the two tables of the source document (S0.12, S0.22)."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

TIME = sa.DateTime(timezone=True)
UUID = sa.Uuid(as_uuid=False).with_variant(sa.String(36), "sqlite")
SEQ = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

# PostgreSQL 15 cannot ask whether a text is JSON, and what one version of its parser takes the
# next may not (depth, size of numbers): what it refuses becomes a JSON string, and no row is lost.
AS_JSONB = """
CREATE FUNCTION remit_jsonb(body text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN body::jsonb;
EXCEPTION WHEN OTHERS THEN
  RETURN to_jsonb(body);
END
$$
"""

# One row a call: its last event. A call that has only begun shows that its outcome is unknown.
LOGS = """
CREATE VIEW tool_execution_logs AS
SELECT e.id AS id,
       e.time AS timestamp,
       e.member AS squad_member_id,
       e.role AS role,
       e.server AS server,
       e.tool AS tool,
       {arguments} AS arguments,
       {result} AS result,
       (e.kind = 'finished' AND e.outcome = 'ok') AS success,
       CASE WHEN e.kind = 'invoked' THEN 'the outcome is unknown: no end of the call is recorded'
            ELSE COALESCE(e.error, NULLIF(e.code, '')) END AS error_message
FROM audit_events AS e
WHERE e.kind <> 'invoked' OR NOT EXISTS (
  SELECT 1 FROM audit_events AS last
  WHERE last.call_id = e.call_id AND last.tenant = e.tenant AND last.kind <> 'invoked')
"""


def upgrade() -> None:
    _configuration()
    _keys()
    _audit()
    _logs()


def _configuration() -> None:
    op.create_table(
        "revisions",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("document", sa.JSON, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("created", TIME, nullable=False),
    )
    op.create_table(
        "agent_mcp_tools",
        sa.Column("id", UUID, primary_key=True),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("mcp_server", sa.Text, nullable=False),
        sa.Column("tool_name", sa.Text, nullable=False),
        sa.Column("enabled", sa.Boolean, server_default=sa.true()),
        sa.UniqueConstraint("role", "mcp_server", "tool_name", name="agent_mcp_tools_once"),
    )
    op.create_table(
        "seen_tools",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("server", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("wire", sa.Text, nullable=False),
        sa.Column("last_seen", TIME, nullable=False),
    )
    op.create_table(
        "epochs",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("topic", sa.Text, primary_key=True),
        sa.Column("value", sa.BigInteger, nullable=False),
    )


def _keys() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("secret_hash", sa.Text, nullable=False),
        sa.Column("roles", sa.JSON, nullable=False),
        sa.Column("admin", sa.Boolean, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("expires", TIME),
        sa.Column("revoked", TIME),
        sa.Column("last_used", TIME),
    )
    op.create_index(
        "api_keys_name_in_use",
        "api_keys",
        ["tenant", "name"],
        unique=True,
        sqlite_where=sa.text("revoked IS NULL"),
        postgresql_where=sa.text("revoked IS NULL"),
    )


def _audit() -> None:
    op.create_table(
        "audit_events",
        sa.Column("seq", SEQ, primary_key=True, autoincrement=True),
        sa.Column("id", UUID, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("call_id", sa.Text, nullable=False),
        sa.Column("time", TIME, nullable=False),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("member", sa.Text),
        sa.Column("server", sa.Text, nullable=False),
        sa.Column("tool", sa.Text, nullable=False),
        sa.Column("decision", sa.Text, nullable=False),
        sa.Column("layer", sa.Text, nullable=False),
        sa.Column("rule", sa.Text, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("code", sa.Text, nullable=False),
        sa.Column("ms", sa.Double, nullable=False),
        sa.Column("arguments", sa.Text, nullable=False),
        sa.Column("arguments_size", sa.BigInteger, nullable=False),
        sa.Column("result", sa.Text),
        sa.Column("result_size", sa.BigInteger, nullable=False),
        sa.Column("error", sa.Text),
        sa.UniqueConstraint("id", name="audit_events_once"),
        sqlite_autoincrement=True,
    )
    op.create_index("audit_events_of_call", "audit_events", ["call_id"])


def _logs() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(AS_JSONB)
        op.execute(
            LOGS.format(arguments="remit_jsonb(e.arguments)", result="remit_jsonb(e.result)")
        )
        return
    op.execute(
        LOGS.format(
            arguments="CASE WHEN json_valid(e.arguments) THEN e.arguments"
            " ELSE json_quote(e.arguments) END",
            result="CASE WHEN e.result IS NULL OR json_valid(e.result) THEN e.result"
            " ELSE json_quote(e.result) END",
        )
    )
