"""An attempt that was followed by another is an event, too, but no call (R23)."""

from alembic import op

revision = "0010"
down_revision = "0009"

ARGUMENTS = {
    "postgresql": ("remit_jsonb(e.arguments)", "remit_jsonb(e.result)"),
    "sqlite": (
        "CASE WHEN json_valid(e.arguments) THEN e.arguments ELSE json_quote(e.arguments) END",
        (
            "CASE WHEN e.result IS NULL OR json_valid(e.result) THEN e.result"
            " ELSE json_quote(e.result) END"
        ),
    ),
}

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
WHERE e.server <> '/admin' AND e.kind <> 'attempted' AND (e.kind <> 'invoked' OR NOT EXISTS (
  SELECT 1 FROM audit_events AS last
  WHERE last.call_id = e.call_id AND last.tenant = e.tenant
    AND last.kind NOT IN ('invoked', 'attempted')))
"""


def upgrade() -> None:
    arguments, result = ARGUMENTS[op.get_context().dialect.name]
    op.execute("DROP VIEW tool_execution_logs")
    op.execute(LOGS.format(arguments=arguments, result=result))
