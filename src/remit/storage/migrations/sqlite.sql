CREATE TABLE remit_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT remit_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE revisions (
	tenant TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	document JSON NOT NULL, 
	digest TEXT NOT NULL, 
	author TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	created DATETIME NOT NULL, from_file BOOLEAN DEFAULT 1 NOT NULL, 
	PRIMARY KEY (tenant, number)
);

CREATE TABLE agent_mcp_tools (
	id VARCHAR(36) NOT NULL, 
	role TEXT NOT NULL, 
	mcp_server TEXT NOT NULL, 
	tool_name TEXT NOT NULL, 
	enabled BOOLEAN DEFAULT 1, 
	PRIMARY KEY (id), 
	CONSTRAINT agent_mcp_tools_once UNIQUE (role, mcp_server, tool_name)
);

CREATE TABLE seen_tools (
	tenant TEXT NOT NULL, 
	server TEXT NOT NULL, 
	name TEXT NOT NULL, 
	wire TEXT NOT NULL, 
	last_seen DATETIME NOT NULL, 
	PRIMARY KEY (tenant, server, name)
);

CREATE TABLE epochs (
	tenant TEXT NOT NULL, 
	topic TEXT NOT NULL, 
	value BIGINT NOT NULL, 
	PRIMARY KEY (tenant, topic)
);

CREATE TABLE api_keys (
	id TEXT NOT NULL, 
	tenant TEXT NOT NULL, 
	name TEXT NOT NULL, 
	secret_hash TEXT NOT NULL, 
	roles JSON NOT NULL, 
	admin BOOLEAN NOT NULL, 
	created DATETIME NOT NULL, 
	expires DATETIME, 
	revoked DATETIME, 
	last_used DATETIME, user_roles JSON DEFAULT '[]' NOT NULL, service BOOLEAN DEFAULT 0 NOT NULL, queries JSON DEFAULT '[]' NOT NULL, agent TEXT DEFAULT '' NOT NULL, act_for JSON DEFAULT '[]' NOT NULL, auditor BOOLEAN DEFAULT 0 NOT NULL, owner TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (id)
);

CREATE TABLE audit_events (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id VARCHAR(36) NOT NULL, 
	kind TEXT NOT NULL, 
	call_id TEXT NOT NULL, 
	time DATETIME NOT NULL, 
	tenant TEXT NOT NULL, 
	principal TEXT NOT NULL, 
	role TEXT NOT NULL, 
	member TEXT, 
	server TEXT NOT NULL, 
	tool TEXT NOT NULL, 
	decision TEXT NOT NULL, 
	layer TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	revision BIGINT NOT NULL, 
	outcome TEXT NOT NULL, 
	code TEXT NOT NULL, 
	ms DOUBLE NOT NULL, 
	arguments TEXT NOT NULL, 
	arguments_size BIGINT NOT NULL, 
	result TEXT, 
	result_size BIGINT NOT NULL, 
	error TEXT, link BIGINT, hash TEXT, agent TEXT, 
	CONSTRAINT audit_events_once UNIQUE (id)
);

CREATE TABLE audit_chain (
	tenant TEXT NOT NULL, 
	length BIGINT NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (tenant)
);

CREATE TABLE agents (
	tenant TEXT NOT NULL, 
	id TEXT NOT NULL, 
	type TEXT NOT NULL, 
	role TEXT NOT NULL, 
	epic TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	PRIMARY KEY (tenant, id)
);

CREATE TABLE disabled_users (
	tenant TEXT NOT NULL, 
	name TEXT NOT NULL, 
	since DATETIME NOT NULL, 
	PRIMARY KEY (tenant, name)
);

CREATE TABLE audit_journals (
	name TEXT NOT NULL, 
	taken BIGINT NOT NULL, 
	PRIMARY KEY (name)
);

CREATE TABLE limit_slots (
	"key" TEXT NOT NULL, 
	slot INTEGER NOT NULL, 
	free_at DOUBLE NOT NULL, 
	PRIMARY KEY ("key", slot)
);

CREATE TABLE tenants (
	name TEXT NOT NULL, 
	uuid VARCHAR(36) NOT NULL, 
	created DATETIME NOT NULL, 
	PRIMARY KEY (name), 
	CONSTRAINT tenants_uuid_once UNIQUE (uuid)
);

CREATE TABLE audit_cuts (
	tenant TEXT NOT NULL, 
	number BIGINT NOT NULL, 
	link BIGINT NOT NULL, 
	signed TEXT NOT NULL, 
	PRIMARY KEY (tenant, number)
);

CREATE TABLE crew_agents (
	tenant TEXT NOT NULL, 
	id TEXT NOT NULL, 
	state TEXT NOT NULL, 
	task TEXT NOT NULL, 
	paused TEXT NOT NULL, 
	tmux_session TEXT NOT NULL, 
	crashes INTEGER NOT NULL, 
	last_active DATETIME, 
	updated DATETIME NOT NULL, 
	version INTEGER NOT NULL, crashed DATETIME, 
	PRIMARY KEY (tenant, id)
);

CREATE TABLE crew_epics (
	tenant TEXT NOT NULL, 
	id TEXT NOT NULL, 
	title TEXT NOT NULL, 
	description TEXT NOT NULL, 
	state TEXT NOT NULL, 
	linear_issue_id TEXT, 
	linear_issue_url TEXT NOT NULL, 
	completed DATETIME, 
	created DATETIME NOT NULL, 
	updated DATETIME NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (tenant, id), 
	CONSTRAINT crew_epics_of_issue UNIQUE (tenant, linear_issue_id)
);

CREATE TABLE crew_tasks (
	tenant TEXT NOT NULL, 
	id TEXT NOT NULL, 
	epic TEXT NOT NULL, 
	title TEXT NOT NULL, 
	description TEXT NOT NULL, 
	state TEXT NOT NULL, 
	assigned TEXT NOT NULL, 
	worktree_path TEXT NOT NULL, 
	branch_name TEXT NOT NULL, 
	pr_url TEXT NOT NULL, 
	attempts INTEGER NOT NULL, 
	failure_reason TEXT NOT NULL, 
	submitted DATETIME, 
	completed DATETIME, 
	created DATETIME NOT NULL, 
	updated DATETIME NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (tenant, id)
);

CREATE TABLE crew_comments (
	tenant TEXT NOT NULL, 
	id TEXT NOT NULL, 
	task TEXT NOT NULL, 
	author TEXT NOT NULL, 
	body TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	PRIMARY KEY (tenant, id)
);

CREATE TABLE crew_mail (
	tenant TEXT NOT NULL, 
	id TEXT NOT NULL, 
	from_agent TEXT NOT NULL, 
	from_type TEXT, 
	sender TEXT NOT NULL, 
	to_agent TEXT NOT NULL, 
	is_for_human BOOLEAN NOT NULL, 
	subject TEXT NOT NULL, 
	body TEXT NOT NULL, 
	is_read BOOLEAN NOT NULL, 
	created DATETIME NOT NULL, 
	read DATETIME, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (tenant, id)
);

CREATE TABLE crew_events (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id TEXT NOT NULL, 
	tenant TEXT NOT NULL, 
	topic TEXT NOT NULL, 
	payload JSON NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT crew_events_once UNIQUE (id)
);

CREATE TABLE crew_keys (
	tenant TEXT NOT NULL, 
	"by" TEXT NOT NULL, 
	tool TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	asked TEXT NOT NULL, 
	answer TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	PRIMARY KEY (tenant, "by", tool, "key")
);

CREATE TABLE crew_subscribers (
	name TEXT NOT NULL, 
	delivered INTEGER NOT NULL, 
	attempts INTEGER NOT NULL, 
	due DATETIME, 
	problem TEXT NOT NULL, 
	holder TEXT NOT NULL, 
	until DATETIME, 
	PRIMARY KEY (name)
);

CREATE TABLE crew_dead_letters (
	subscriber TEXT NOT NULL, 
	seq INTEGER NOT NULL, 
	attempts INTEGER NOT NULL, 
	problem TEXT NOT NULL, 
	died DATETIME NOT NULL, 
	PRIMARY KEY (subscriber, seq)
);

CREATE TABLE leases (
	name TEXT NOT NULL, 
	holder TEXT NOT NULL, 
	until DATETIME NOT NULL, 
	PRIMARY KEY (name)
);

CREATE TABLE data_sources (
	tenant TEXT NOT NULL, 
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	engine TEXT NOT NULL, 
	location TEXT NOT NULL, 
	reader TEXT NOT NULL, 
	writer TEXT NOT NULL, 
	is_writable BOOLEAN NOT NULL, 
	schemas JSON NOT NULL, 
	tables JSON, 
	sensitive JSON NOT NULL, 
	row_limit INTEGER NOT NULL, 
	time_limit DOUBLE NOT NULL, 
	concurrency INTEGER NOT NULL, 
	is_default BOOLEAN NOT NULL, 
	created DATETIME NOT NULL, 
	updated DATETIME NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (tenant, id), 
	CONSTRAINT data_sources_name_once UNIQUE (tenant, name)
);

CREATE TABLE data_queries (
	tenant TEXT NOT NULL, 
	id TEXT NOT NULL, 
	datasource TEXT NOT NULL, 
	name TEXT NOT NULL, 
	description TEXT NOT NULL, 
	sql TEXT NOT NULL, 
	dialect TEXT NOT NULL, 
	is_enabled BOOLEAN NOT NULL, 
	usage_count BIGINT NOT NULL, 
	last_used DATETIME, 
	parameters JSON NOT NULL, 
	output_columns JSON NOT NULL, 
	constraints TEXT NOT NULL, 
	status TEXT NOT NULL, 
	suggested_by TEXT NOT NULL, 
	suggestion_context TEXT NOT NULL, 
	changed JSON NOT NULL, 
	tags JSON NOT NULL, 
	allows_modification BOOLEAN NOT NULL, 
	reviewed_by TEXT NOT NULL, 
	reviewed DATETIME, 
	rejection_reason TEXT NOT NULL, 
	parent TEXT NOT NULL, 
	deleted DATETIME, 
	created DATETIME NOT NULL, 
	updated DATETIME NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (tenant, id)
);

CREATE TABLE data_executions (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id TEXT NOT NULL, 
	tenant TEXT NOT NULL, 
	datasource TEXT NOT NULL, 
	"query" TEXT NOT NULL, 
	tool TEXT NOT NULL, 
	sql TEXT NOT NULL, 
	parameters TEXT NOT NULL, 
	user TEXT NOT NULL, 
	source TEXT NOT NULL, 
	started DATETIME NOT NULL, 
	ms DOUBLE NOT NULL, 
	row_count INTEGER NOT NULL, 
	rows_affected BIGINT, 
	is_modifying BOOLEAN NOT NULL, 
	code TEXT NOT NULL, 
	error TEXT NOT NULL, 
	flags JSON NOT NULL, 
	tables JSON NOT NULL, 
	CONSTRAINT data_executions_once UNIQUE (id)
);

CREATE TABLE data_items (
	tenant TEXT NOT NULL, 
	datasource TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	body TEXT NOT NULL, 
	created_source TEXT NOT NULL, 
	created_by TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	edited_source TEXT NOT NULL, 
	edited_by TEXT NOT NULL, 
	edited DATETIME NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (tenant, datasource, kind, "key")
);

CREATE TABLE data_schemas (
	tenant TEXT NOT NULL, 
	datasource TEXT NOT NULL, 
	document TEXT NOT NULL, 
	refreshed DATETIME NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (tenant, datasource)
);

CREATE TABLE data_changes (
	tenant TEXT NOT NULL, 
	id TEXT NOT NULL, 
	datasource TEXT NOT NULL, 
	type TEXT NOT NULL, 
	source TEXT NOT NULL, 
	"table" TEXT NOT NULL, 
	"column" TEXT NOT NULL, 
	old TEXT NOT NULL, 
	new TEXT NOT NULL, 
	action TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	status TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	decided DATETIME, 
	decided_by TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (tenant, id)
);

CREATE TABLE data_alerts (
	tenant TEXT NOT NULL, 
	id TEXT NOT NULL, 
	type TEXT NOT NULL, 
	user TEXT NOT NULL, 
	about TEXT NOT NULL, 
	severity TEXT NOT NULL, 
	title TEXT NOT NULL, 
	details JSON NOT NULL, 
	status TEXT NOT NULL, 
	opened DATETIME NOT NULL, 
	closed DATETIME, 
	closed_by TEXT NOT NULL, 
	note TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (tenant, id), 
	CONSTRAINT data_alerts_once UNIQUE (tenant, user, type, about)
);

CREATE TABLE data_alert_places (
	stream TEXT NOT NULL, 
	seq INTEGER NOT NULL, 
	PRIMARY KEY (stream)
);

CREATE TABLE console_sessions (
	id TEXT NOT NULL, 
	tenant TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	secret_hash TEXT NOT NULL, 
	issuer TEXT NOT NULL, 
	client TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	shown TEXT NOT NULL, 
	roles JSON NOT NULL, 
	created DATETIME NOT NULL, 
	last_seen DATETIME NOT NULL, 
	expires DATETIME NOT NULL, 
	PRIMARY KEY (id)
);

CREATE INDEX api_keys_in_order ON api_keys (tenant, created, id);

CREATE UNIQUE INDEX api_keys_name_in_use ON api_keys (tenant, name) WHERE revoked IS NULL;

CREATE INDEX api_keys_of_name ON api_keys (tenant, name, created, id);

CREATE INDEX audit_events_of_agent ON audit_events (agent, id) WHERE agent IS NOT NULL;

CREATE INDEX audit_events_of_call ON audit_events (call_id);

CREATE INDEX audit_events_of_code ON audit_events (code, id) WHERE code <> '';

CREATE INDEX audit_events_of_principal ON audit_events (principal, id);

CREATE INDEX audit_events_of_tool ON audit_events (tool, id);

CREATE INDEX crew_comments_of_task ON crew_comments (tenant, task, created);

CREATE INDEX crew_mail_of_agent ON crew_mail (tenant, to_agent, is_read, created);

CREATE INDEX crew_tasks_of_epic ON crew_tasks (tenant, epic, state);

CREATE INDEX data_alerts_in_order ON data_alerts (tenant, status, id);

CREATE INDEX data_alerts_of_user ON data_alerts (tenant, user, type, opened);

CREATE INDEX data_changes_in_order ON data_changes (tenant, datasource, status, created, id);

CREATE INDEX data_executions_in_order ON data_executions (tenant, started, seq);

CREATE INDEX data_executions_of_query ON data_executions (tenant, "query", started, seq);

CREATE INDEX data_executions_of_user ON data_executions (tenant, user, started, seq);

CREATE INDEX data_queries_in_order ON data_queries (tenant, status, created, id);

CREATE INDEX data_queries_of_parent ON data_queries (tenant, parent);

CREATE INDEX limit_slots_free ON limit_slots ("key", free_at);

CREATE VIEW tool_execution_logs AS
SELECT e.id AS id,
       e.time AS timestamp,
       e.member AS squad_member_id,
       e.role AS role,
       e.server AS server,
       e.tool AS tool,
       CASE WHEN json_valid(e.arguments) THEN e.arguments ELSE json_quote(e.arguments) END AS arguments,
       CASE WHEN e.result IS NULL OR json_valid(e.result) THEN e.result ELSE json_quote(e.result) END AS result,
       (e.kind = 'finished' AND e.outcome = 'ok') AS success,
       CASE WHEN e.kind = 'invoked' THEN 'the outcome is unknown: no end of the call is recorded'
            ELSE COALESCE(e.error, NULLIF(e.code, '')) END AS error_message
FROM audit_events AS e
WHERE e.server <> '/admin' AND e.kind <> 'attempted' AND (e.kind <> 'invoked' OR NOT EXISTS (
  SELECT 1 FROM audit_events AS last
  WHERE last.call_id = e.call_id AND last.tenant = e.tenant
    AND last.kind NOT IN ('invoked', 'attempted')));

CREATE VIEW decision_rows AS
SELECT e.call_id AS id,
       e.agent AS "agentId",
       'Invoked tool: mcp__' || e.server || '__' || e.tool AS decision,
       'Automatic tool invocation log' AS reasoning,
       e.arguments AS context,
       CASE WHEN e.kind = 'finished' THEN min(e.time, strftime('%Y-%m-%d %H:%M:%f', e.time, printf('-%.3f seconds', e.ms / 1000.0)) || '000') ELSE e.time END AS timestamp,
       e.tenant AS tenant,
       e.id AS event,
       1 AS step
FROM audit_events AS e
WHERE e.agent IS NOT NULL AND e.tool NOT LIKE 'prompt:%' AND e.tool NOT LIKE 'resource:%'
  AND (e.kind = 'finished' OR (e.kind = 'invoked' AND NOT EXISTS (
    SELECT 1 FROM audit_events AS last
    WHERE last.call_id = e.call_id AND last.tenant = e.tenant AND last.kind = 'finished')))
UNION ALL
SELECT CASE WHEN json_valid(e.result) THEN json_extract(e.result, '$.structuredContent.logId') END, e.agent, COALESCE(CASE WHEN json_valid(e.arguments) THEN json_extract(e.arguments, '$.title') END, '(cut off)'), COALESCE(CASE WHEN json_valid(e.arguments) THEN json_extract(e.arguments, '$.body') END, CASE WHEN json_valid(e.arguments) THEN json_extract(e.arguments, '$.head') END, ''), NULL,
       e.time, e.tenant, e.id, 2
FROM audit_events AS e
WHERE e.agent IS NOT NULL AND e.tool = 'log_decision' AND e.kind = 'finished'
  AND e.outcome = 'ok' AND CASE WHEN json_valid(e.result) THEN json_extract(e.result, '$.structuredContent.logId') END IS NOT NULL
UNION ALL
SELECT CAST(e.id AS text), e.agent, 'Tool result: mcp__' || e.server || '__' || e.tool,
       'Automatic tool result log', e.result, e.time, e.tenant, e.id, 3
FROM audit_events AS e
WHERE e.agent IS NOT NULL AND e.tool NOT LIKE 'prompt:%' AND e.tool NOT LIKE 'resource:%'
  AND e.kind = 'finished' AND e.outcome IN ('ok', 'tool_error')
UNION ALL
SELECT CAST(e.id AS text), e.agent, 'Tool error: mcp__' || e.server || '__' || e.tool,
       'Automatic tool error log', json_object('code', e.code, 'message', e.error), e.time, e.tenant, e.id, 3
FROM audit_events AS e
WHERE e.agent IS NOT NULL AND e.tool NOT LIKE 'prompt:%' AND e.tool NOT LIKE 'resource:%'
  AND ((e.kind = 'finished' AND e.outcome NOT IN ('ok', 'tool_error'))
    OR (e.kind = 'refused' AND e.decision = 'allow'));

CREATE VIEW "DecisionLog" AS
SELECT id, "agentId", decision, reasoning, context, timestamp FROM decision_rows;

