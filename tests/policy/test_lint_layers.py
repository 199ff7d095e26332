"""What lint finds beside roles, to the letter (R8, R9, R11, R16)."""

from datetime import UTC, datetime, timedelta

import pytest

from remit.model.declaration import Declaration
from remit.model.grants import AgentTypeRule, Grant, JwtIssuer, ToolsetOptions
from remit.model.principals import AgentType
from remit.model.roles import Role
from remit.model.servers import ServerConfig, Transport
from remit.policy.findings import Finding, Severity
from remit.policy.lint import lint

IDLE = "pattern-matches-nothing"
NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
OFFERED = {"wiki": frozenset({"read", "write"}), "git": frozenset({"log"})}
WAREHOUSE = ServerConfig(name="warehouse", transport=Transport.BUILTIN, builtin="data")
READER = Role(
    name="reader", tools={"wiki": ("read", "write"), "vault": ("open",)}, allow=("git/*",)
)


def declare(
    *grants: Grant,
    types: tuple[AgentTypeRule, ...] = (),
    toolsets: ToolsetOptions | None = None,
    servers: tuple[ServerConfig, ...] = (),
    roles: tuple[Role, ...] = (READER,),
) -> Declaration:
    configs = (
        ServerConfig(name="git"),
        ServerConfig(name="wiki", default_access="deny"),
        ServerConfig(name="vault", default_access="deny"),
        *servers,
    )
    return Declaration(
        servers={config.name: config for config in configs},
        roles={role.name: role for role in roles},
        grants=grants,
        agent_types=types,
        toolsets=toolsets or ToolsetOptions(),
    )


def found(declaration: Declaration) -> list[Finding]:
    """Lint, leaving out what is granted to nobody."""
    findings = lint(declaration, OFFERED, now=NOON)
    return [finding for finding in findings if finding.code != "granted-to-nobody"]


def allow(subject: str = "user:ann", *, server: str = "", tool: str = "") -> Grant:
    return Grant(subject=subject, effect="allow", server=server, tool=tool)


def deny(subject: str = "user:ann", *, server: str = "", tool: str = "") -> Grant:
    return Grant(subject=subject, effect="deny", server=server, tool=tool)


def test_grants_that_matter_have_no_findings() -> None:
    assert (
        found(
            declare(
                allow(server="wiki"),
                allow("role:reader", tool="wiki/re*"),
                allow(tool="vault/never_seen"),
                deny("group:g", server="vault"),
                deny("group:g", tool="*/write"),
                deny("group:g", tool="mail/send"),
                allow("group:g", tool="*/read"),
                Grant(
                    subject="key:ci",
                    effect="allow",
                    server="wiki",
                    until=NOON + timedelta(seconds=1),
                ),
            )
        )
        == []
    )


GRANTS = {
    "unknown role": (
        allow("role:raeder", server="wiki"),
        Finding(
            code="unknown-subject",
            message="role 'raeder' is not declared",
            path="grants[0]",
            remedy="did you mean 'reader'? otherwise declare it under 'roles'",
        ),
    ),
    "unknown server": (
        deny(server="wikki"),
        Finding(
            code="unknown-server",
            message="the grant names server 'wikki', which is not declared",
            path="grants[0]",
            remedy="did you mean 'wiki'? otherwise declare it under 'mcp_servers'",
        ),
    ),
    "unknown server of an allow": (
        allow(server="zzz"),
        Finding(
            code="unknown-server",
            message="the grant names server 'zzz', which is not declared",
            path="grants[0]",
            remedy="declare it under 'mcp_servers'",
        ),
    ),
    "unknown server of a pattern": (
        deny(tool="wikki/*"),
        Finding(
            code="unknown-server",
            message="the grant names server 'wikki', which is not declared",
            path="grants[0]",
            remedy="did you mean 'wiki'? otherwise declare it under 'mcp_servers'",
        ),
    ),
    "pattern": (
        allow(tool="wiki/raed"),
        Finding(
            code="pattern-matches-nothing",
            message="'wiki/raed', the grant, matches no tool that is known",
            path="grants[0]",
            remedy="did you mean 'wiki/read'? otherwise correct or remove it",
        ),
    ),
    "a pattern over the crew": (
        deny(tool="mcp__mail__snd"),
        Finding(
            code="pattern-matches-nothing",
            message="'mcp__mail__snd', the grant, matches no tool that is known",
            path="grants[0]",
            remedy="did you mean 'mcp__mail__send'? otherwise correct or remove it",
        ),
    ),
    "open already": (
        allow(server="git"),
        Finding(
            code="idle-grant",
            message="server 'git' is open by default, so the grant opens nothing; no grant widens "
            "what a role, a toolset or an agent type allows",
            path="grants[0]",
            remedy="remove it, or set 'default_access: deny' on the server",
        ),
    ),
    "open already, by a pattern": (
        allow(tool="git/log"),
        Finding(
            code="idle-grant",
            message="server 'git' is open by default, so the grant opens nothing; no grant widens "
            "what a role, a toolset or an agent type allows",
            path="grants[0]",
            remedy="remove it, or set 'default_access: deny' on the server",
        ),
    ),
    "ended": (
        Grant(subject="user:ann", effect="deny", server="wiki", until=NOON),
        Finding(
            code="expired-grant",
            message="the grant ended at 2026-11-28T12:00:00+00:00",
            path="grants[0]",
            remedy="remove it, or give it a later end",
        ),
    ),
}


@pytest.mark.parametrize("name", GRANTS)
def test_a_grant_that_can_never_matter_is_told(name: str) -> None:
    grant, finding = GRANTS[name]

    assert found(declare(grant)) == [finding]


def test_no_grant_is_judged_as_ended_without_a_moment() -> None:
    grant = Grant(subject="user:ann", effect="deny", server="wiki", until=NOON)

    assert lint(declare(grant), OFFERED) == ()


def test_a_grant_that_is_switched_off_is_not_judged() -> None:
    grant = Grant(subject="role:nosuch", effect="allow", server="nosuch", enabled=False)

    assert found(declare(grant, allow("role:nosuch", server="wiki")))[0].path == "grants[1]"


@pytest.mark.parametrize(
    ("server", "domain"), [("data", "toolsets"), ("mail", "agent types"), ("crew", "agent types")]
)
def test_a_grant_to_a_role_where_roles_do_not_govern_is_told(server: str, domain: str) -> None:
    config = ServerConfig(
        name=server,
        transport=Transport.BUILTIN,
        builtin="task" if server == "crew" else "",
        default_access="deny",
    )

    assert found(
        declare(
            allow("role:reader", server=server), allow("user:a", server=server), servers=(config,)
        )
    ) == [
        Finding(
            code="idle-grant",
            message=f"{domain} govern server {server!r}, so a grant to a role opens nothing there",
            path="grants[0]",
            remedy="grant it to a user, a group, an agent, a key or everybody",
        )
    ]


@pytest.mark.parametrize(
    ("granted", "denied"),
    [
        (allow(server="wiki"), deny(server="wiki")),
        (allow(server="wiki"), deny("*", server="wiki")),
        (allow(tool="wiki/re*"), deny(server="wiki")),
        (allow(tool="wiki/read"), deny(tool="wiki/*")),
        (allow(server="wiki"), deny(tool="*/*")),
    ],
)
def test_an_allow_that_a_deny_covers_is_told(granted: Grant, denied: Grant) -> None:
    assert found(declare(deny("user:bob", server="wiki"), denied, granted)) == [
        Finding(
            code="shadowed-allow",
            message=f"it allows {(granted.server or granted.tool)!r}, and grants[1] denies it all",
            path="grants[2]",
            remedy="remove it, or narrow grants[1]",
        )
    ]


@pytest.mark.parametrize(
    "denied",
    [
        deny("user:bob", server="wiki"),
        deny("group:g", server="wiki"),
        deny(server="vault"),
        deny(tool="wiki/write"),
        allow("*", server="wiki"),
        Grant(subject="*", effect="deny", server="wiki", enabled=False),
        Grant(subject="*", effect="deny", server="wiki", until=NOON + timedelta(days=1)),
    ],
)
def test_an_allow_that_still_opens_something_is_not_called_shadowed(denied: Grant) -> None:
    assert found(declare(allow(server="wiki"), denied)) == []


def of_type(allowed: tuple[str, ...] = (), denied: tuple[str, ...] = ()) -> list[Finding]:
    rule = AgentTypeRule(type=AgentType.WORKER, allow=allowed, deny=denied)
    return found(declare(types=(rule,)))


def test_an_agent_type_that_makes_sense_has_no_findings() -> None:
    assert of_type(("mcp__mail__*", "git/log", "*/read", "vault/x"), ("mcp__task__create",)) == []


def test_an_agent_type_that_allows_nothing_is_told() -> None:
    assert of_type(denied=("mcp__mail__send",)) == [
        Finding(
            code="empty-allow-list",
            message="agent type WORKER allows nothing",
            path="agent_types.WORKER",
            remedy="name what it may use under 'allow', or remove it to have its default",
        )
    ]


def test_patterns_of_an_agent_type_that_fit_nothing_are_told() -> None:
    assert of_type(
        ("mcp__mail__send", "mcp__task__updat_status", "mcp__mial__*"), ("git/lok", "*/no_such")
    ) == [
        Finding(
            code="pattern-matches-nothing",
            message="'mcp__task__updat_status', allow of agent type WORKER, matches no tool that "
            "is known",
            path="agent_types.WORKER.allow[1]",
            remedy="did you mean 'mcp__task__update_status'? otherwise correct or remove it",
        ),
        Finding(
            code="unknown-server",
            message="allow of agent type WORKER names server 'mial', which is not declared",
            path="agent_types.WORKER.allow[2]",
            remedy="did you mean 'mail'? otherwise declare it under 'mcp_servers'",
        ),
        Finding(
            code="pattern-matches-nothing",
            message="'git/lok', deny of agent type WORKER, matches no tool that is known",
            path="agent_types.WORKER.deny[0]",
            remedy="did you mean 'git/log'? otherwise correct or remove it",
        ),
    ]


def test_a_pattern_over_all_servers_is_judged_once_all_are_known() -> None:
    rule = AgentTypeRule(type=AgentType.WORKER, allow=("*/zzz", "*/read"))
    offered = {**OFFERED, "vault": frozenset({"open"})}

    assert [(finding.code, finding.path) for finding in lint(declare(types=(rule,)), offered)] == [
        ("pattern-matches-nothing", "agent_types.WORKER.allow[0]")
    ]


def test_an_allow_that_the_same_type_denies_is_told() -> None:
    findings = of_type(
        ("mcp__mail__send", "mcp__mail__*", "mcp__task__get"),
        ("mcp__task__get", "mcp__mail__s*", "mcp__mail__send"),
    )

    assert [finding.path for finding in findings] == [
        "agent_types.WORKER.allow[0]",
        "agent_types.WORKER.allow[2]",
    ]
    assert findings[:1] == [
        Finding(
            code="shadowed-allow",
            message="it allows 'mcp__mail__send', and agent_types.WORKER.deny[1] denies it all",
            path="agent_types.WORKER.allow[0]",
            remedy="remove it, or narrow agent_types.WORKER.deny[1]",
        )
    ]


def test_options_of_toolsets_without_a_server_under_them_are_told() -> None:
    options = ToolsetOptions(add_query_tools=False)

    assert found(declare(toolsets=options)) == [
        Finding(
            code="idle-toolsets",
            message="options of toolsets are set, and no server is under a toolset",
            path="toolsets",
            remedy="declare the server 'data', or remove them",
        )
    ]
    assert found(declare(toolsets=options, servers=(ServerConfig(name="data"),))) == []
    assert found(declare(toolsets=options, servers=(WAREHOUSE,))) == []


@pytest.mark.parametrize(
    ("role", "path"),
    [
        (Role(name="r", tools={"data": ("query",), "git": ("log",)}), "roles.r.tools.data"),
        (Role(name="r", allow=("git/*", "mcp__data__*")), "roles.r.allow[1]"),
    ],
)
def test_a_role_that_grants_what_it_does_not_govern_is_told(role: Role, path: str) -> None:
    # R9
    declaration = declare(roles=(READER, role), servers=(ServerConfig(name="data"),))

    assert found(declaration) == [
        Finding(
            code="not-governed-by-roles",
            message="role 'r' grants tools of server 'data', which toolsets govern, "
            "so it grants nothing there",
            path=path,
            remedy="remove it; user roles open 'data', and agent types the crew's servers",
        )
    ]


def test_a_role_does_not_govern_remits_own_server_under_another_name() -> None:
    role = Role(name="r", allow=("*/read", "warehouse/*", "mail/send"))

    findings = found(declare(roles=(READER, role), servers=(WAREHOUSE,)))

    assert [(finding.code, finding.path) for finding in findings] == [
        ("unknown-server", "roles.r.allow[2]"),
        ("not-governed-by-roles", "roles.r.allow[1]"),
    ]


def test_a_role_that_nobody_has_is_told_where_that_can_be_known() -> None:
    idle = Role(name="idle", allow=("git/*",))
    declaration = declare(roles=(READER, idle))

    assert lint(declaration, OFFERED, in_use={"role:reader"}) == (
        Finding(
            code="role-without-callers",
            severity=Severity.INFO,
            message="no key and no agent has role 'idle'",
            path="roles.idle",
            remedy="give it to a caller, such as by 'remit keys create', or leave it so",
        ),
    )
    assert lint(declaration, OFFERED) == ()
    issuer = JwtIssuer(issuer="https://idp.example", audience=("a",), jwks_file="keys.json")
    with_tokens = Declaration(
        servers=declaration.servers, roles=declaration.roles, issuers=(issuer,)
    )
    assert lint(with_tokens, OFFERED, in_use=()) == ()


def test_a_tool_that_only_a_toolset_or_an_agent_type_opens_is_granted_to_somebody() -> None:
    declaration = declare(servers=(ServerConfig(name="data"), ServerConfig(name="mail")))
    offered = {"data": frozenset({"echo"}), "mail": frozenset({"send"}), "git": frozenset({"log"})}

    assert lint(declaration, offered) == ()


def test_a_grant_to_a_key_or_an_agent_that_does_not_exist_names_the_nearest() -> None:
    declaration = declare(
        deny("key:c1", server="wiki"),
        deny("agent:w1", server="wiki"),
        deny("key:ci", server="wiki"),
        deny("key:of:ci", server="wiki"),
        deny("key:of:w9", server="wiki"),
    )

    told = lint(declaration, OFFERED, in_use={"key:ci", "key:of:ci", "role:reader", "agent:ci"})

    assert [(one.code, one.path, one.message, one.remedy) for one in told] == [
        (
            "unknown-subject",
            "grants[0]",
            "key 'c1' does not exist",
            "make it, such as by 'remit keys create'",
        ),
        (
            "unknown-subject",
            "grants[1]",
            "agent 'w1' does not exist",
            "make it, such as by 'remit agents create'",
        ),
        (
            "unknown-subject",
            "grants[4]",
            "key 'of:w9' does not exist",
            "did you mean 'of:ci'? otherwise make it, such as by 'remit keys create'",
        ),
    ]
    assert lint(declaration, OFFERED) == ()


def test_a_pattern_that_an_offer_shows_to_be_idle_names_its_server() -> None:
    # R16
    worker = AgentTypeRule(type=AgentType.WORKER, allow=("git/zzz_*", "*/zzz_*"))

    offered = {**OFFERED, "vault": frozenset({"open"})}

    findings = lint(declare(types=(worker,)), offered, now=NOON)

    assert [(one.server, one.path) for one in findings if one.code == IDLE] == [
        ("git", "agent_types.WORKER.allow[0]"),
        ("", "agent_types.WORKER.allow[1]"),
    ]
