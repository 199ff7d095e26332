"""What lint finds in limits, to the letter (R16)."""

import pytest

from remit.model.declaration import Declaration
from remit.model.limits import Limit
from remit.model.roles import Role
from remit.model.servers import ServerConfig, Transport
from remit.policy.findings import Finding, Severity
from remit.policy.lint_limits import limit_findings

OFFERED = {"wiki": frozenset({"read", "write"}), "git": frozenset({"log"})}
SERVERS = (
    ServerConfig(name="git"),
    ServerConfig(name="wiki"),
    ServerConfig(name="warehouse", transport=Transport.BUILTIN, builtin="data"),
)
READER = Role(name="reader", tools={"wiki": ("read",)})


def declare(*limits: Limit, servers: tuple[ServerConfig, ...] = SERVERS) -> Declaration:
    return Declaration(
        servers={config.name: config for config in servers},
        roles={READER.name: READER},
        limits=limits,
    )


def found(*limits: Limit, servers: tuple[ServerConfig, ...] = SERVERS[:2]) -> list[Finding]:
    offered = {**OFFERED, "warehouse": frozenset({"query"}), "data": frozenset({"query"})}
    return list(limit_findings(declare(*limits, servers=servers), offered))


def limit(
    *, role: str = "", principal: str = "", tool: str = "", calls: int = 5, seconds: int = 60
) -> Limit:
    return Limit(role=role, principal=principal, tool=tool, calls=calls, seconds=seconds)


def test_limits_that_can_matter_have_no_findings() -> None:
    assert found() == []
    assert (
        found(
            limit(),
            limit(principal="key:unheard"),
            limit(role="reader"),
            limit(role="reader", tool="wiki/*"),
            limit(role="reader", tool="mcp__wiki__read"),
            limit(tool="git/log"),
            limit(tool="mail/send"),
        )
        == []
    )


@pytest.mark.parametrize(
    ("written", "finding"),
    [
        (
            limit(role="readers", tool="git/*"),
            Finding(
                code="unknown-subject",
                severity=Severity.WARNING,
                message="role 'readers' is not declared, so the limit binds nobody",
                path="limits[0].role",
                remedy="did you mean 'reader'? otherwise declare it under 'roles'",
            ),
        ),
        (
            limit(tool="wikki/read"),
            Finding(
                code="unknown-server",
                message="`tool` of the limit names server 'wikki', which is not declared",
                path="limits[0].tool",
                remedy="did you mean 'wiki'? otherwise declare it under 'mcp_servers'",
            ),
        ),
        (
            limit(role="reader", tool="wiki/raed"),
            Finding(
                code="pattern-matches-nothing",
                message="'wiki/raed', `tool` of the limit, matches no tool that is known",
                path="limits[0].tool",
                remedy="did you mean 'wiki/read'? otherwise correct or remove it",
            ),
        ),
        (
            limit(role="reader", tool="git/*"),
            Finding(
                code="idle-limit",
                message="role 'reader' may call nothing that the limit is about",
                path="limits[0]",
                remedy="correct `role` or `tool`, or remove it",
            ),
        ),
    ],
)
def test_a_limit_that_can_never_matter_is_found(written: Limit, finding: Finding) -> None:
    assert found(written) == [finding]


def test_the_place_of_a_limit_is_its_own() -> None:
    assert [finding.path for finding in found(limit(), limit(role="reader", tool="git/*"))] == [
        "limits[1]"
    ]


def test_a_limit_beside_a_stricter_one_about_the_same_calls_is_found() -> None:
    idle = Finding(
        code="idle-limit",
        message="limits[1] is about the same calls and allows 2 calls per minute",
        path="limits[0]",
        remedy="remove one of them",
    )

    assert found(limit(calls=3), limit(calls=2)) == [idle]
    assert [one.path for one in found(limit(calls=2), limit(calls=2), limit(calls=3))] == [
        "limits[1]",
        "limits[2]",
    ]


def test_what_roles_do_not_govern_may_be_called_by_another_hat() -> None:
    # R9
    assert found(limit(role="reader", tool="warehouse/query"), servers=SERVERS) == []
    assert found(limit(role="reader", tool="*/query"), servers=SERVERS) == []
    by_name = (*SERVERS, ServerConfig(name="data"))
    assert found(limit(role="reader", tool="data/query"), servers=by_name) == []


def test_a_role_is_not_judged_by_servers_that_are_not_known() -> None:
    declaration = declare(
        limit(role="reader", tool="git/*"),
        limit(role="reader", tool="*/log"),
        limit(role="reader", tool="wiki/write"),
    )

    said = limit_findings(declaration, {"wiki": OFFERED["wiki"]})

    assert [(one.code, one.path) for one in said] == [("idle-limit", "limits[2]")]
