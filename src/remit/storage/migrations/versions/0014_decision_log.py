"""`DecisionLog`: what agents did and decided, as a view of the record (S3.21, S3.22, R28).

Each call has two rows, that it was begun and how it ended, and one more where a decision was
written down by it. Refusals are no decisions; what was allowed and could not run is an error.
"""

from alembic import op

revision = "0014"
down_revision = "0013"

DIALECTS = {
    "postgresql": {
        "began": "CASE WHEN e.kind = 'finished' THEN e.time - e.ms * INTERVAL '1 millisecond'"
        " ELSE e.time END",
        "failure": "jsonb_build_object('code', e.code, 'message', e.error)::text",
        "title": "remit_jsonb(e.arguments) ->> 'title'",
        "body": "remit_jsonb(e.arguments) ->> 'body'",
        "head": "remit_jsonb(e.arguments) ->> 'head'",
        "log_id": "remit_jsonb(e.result) -> 'structuredContent' ->> 'logId'",
    },
    "sqlite": {
        # times are texts of microseconds, and its clock knows milliseconds
        "began": "CASE WHEN e.kind = 'finished' THEN min(e.time, strftime('%Y-%m-%d %H:%M:%f',"
        " e.time, printf('-%.3f seconds', e.ms / 1000.0)) || '000') ELSE e.time END",
        "failure": "json_object('code', e.code, 'message', e.error)",
        **{
            name: f"CASE WHEN json_valid(e.arguments) THEN json_extract(e.arguments, '$.{name}')"
            " END"
            for name in ("title", "body", "head")
        },
        "log_id": "CASE WHEN json_valid(e.result)"
        " THEN json_extract(e.result, '$.structuredContent.logId') END",
    },
}

ROWS = """
CREATE VIEW decision_rows AS
SELECT e.call_id AS id,
       e.agent AS "agentId",
       'Invoked tool: mcp__' || e.server || '__' || e.tool AS decision,
       'Automatic tool invocation log' AS reasoning,
       e.arguments AS context,
       {began} AS timestamp,
       e.tenant AS tenant,
       e.id AS event,
       1 AS step
FROM audit_events AS e
WHERE e.agent IS NOT NULL AND e.tool NOT LIKE 'prompt:%' AND e.tool NOT LIKE 'resource:%'
  AND (e.kind = 'finished' OR (e.kind = 'invoked' AND NOT EXISTS (
    SELECT 1 FROM audit_events AS last
    WHERE last.call_id = e.call_id AND last.tenant = e.tenant AND last.kind = 'finished')))
UNION ALL
SELECT {log_id}, e.agent, COALESCE({title}, '(cut off)'), COALESCE({body}, {head}, ''), NULL,
       e.time, e.tenant, e.id, 2
FROM audit_events AS e
WHERE e.agent IS NOT NULL AND e.tool = 'log_decision' AND e.kind = 'finished'
  AND e.outcome = 'ok' AND {log_id} IS NOT NULL
UNION ALL
SELECT CAST(e.id AS text), e.agent, 'Tool result: mcp__' || e.server || '__' || e.tool,
       'Automatic tool result log', e.result, e.time, e.tenant, e.id, 3
FROM audit_events AS e
WHERE e.agent IS NOT NULL AND e.tool NOT LIKE 'prompt:%' AND e.tool NOT LIKE 'resource:%'
  AND e.kind = 'finished' AND e.outcome IN ('ok', 'tool_error')
UNION ALL
SELECT CAST(e.id AS text), e.agent, 'Tool error: mcp__' || e.server || '__' || e.tool,
       'Automatic tool error log', {failure}, e.time, e.tenant, e.id, 3
FROM audit_events AS e
WHERE e.agent IS NOT NULL AND e.tool NOT LIKE 'prompt:%' AND e.tool NOT LIKE 'resource:%'
  AND ((e.kind = 'finished' AND e.outcome NOT IN ('ok', 'tool_error'))
    OR (e.kind = 'refused' AND e.decision = 'allow'))
"""


LOG = """
CREATE VIEW "DecisionLog" AS
SELECT id, "agentId", decision, reasoning, context, timestamp FROM decision_rows
"""


def upgrade() -> None:
    dialect = op.get_context().dialect.name
    op.execute(ROWS.format(**DIALECTS[dialect]))
    op.execute(LOG)
