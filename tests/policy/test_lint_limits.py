"""Limits that no call can ever count against, to the letter (R16)."""

import pytest

from remit.model.declaration import Declaration
from remit.model.limits import Limit
from remit.model.roles import Role
from remit.model.servers import ServerConfig, Transport
from remit.policy.findings import Finding
from remit.policy.lint import lint

OFFERED = {"git": frozenset({"log", "push"}), "wiki": frozenset({"read"})}
CLERK = Role(name="clerk", tools={"git": ("log",)}, allow=("wiki/*",))
SERVERS = (
    ServerConfig(name="git"),
    ServerConfig(name="wiki"),
    ServerConfig(name="vault"),
    ServerConfig(name="store", transport=Transport.BUILTIN, builtin="data"),
)


def limit(role: str = "", tool: str = "", *, calls: int = 1, principal: str = "") -> Limit:
    return Limit(role=role, tool=tool, principal=principal, calls=calls, seconds=60)


def found(*limits: Limit, servers: tuple[ServerConfig, ...] = SERVERS) -> list[Finding]:
    declaration = Declaration(
        servers={server.name: server for server in servers},
        roles={"clerk": CLERK},
        limits=limits,
    )
    return [one for one in lint(declaration, OFFERED) if one.path.startswith("limits")]


def test_limits_that_can_be_reached_have_no_findings() -> None:
    assert (
        found(
            limit(),
            limit("clerk"),
            limit("clerk", "git/*"),
            limit("clerk", "*/log"),
            limit(tool="git/push"),
            limit(principal="key:ci"),
            limit("clerk", principal="key:ci"),
        )
        == []
    )


def test_a_role_that_is_not_declared_binds_nobody() -> None:
    assert found(limit(), limit("clark", "git/log")) == [
        Finding(
            code="unknown-subject",
            message="role 'clark' is not declared, so the limit binds nobody",
            path="limits[1].role",
            remedy="did you mean 'clerk'? otherwise declare it under 'roles'",
        )
    ]


def test_a_pattern_that_fits_nothing() -> None:
    assert found(limit(tool="git/lag"), limit(tool="gut/log")) == [
        Finding(
            code="pattern-matches-nothing",
            message="'git/lag', `tool` of the limit, matches no tool that is known",
            path="limits[0].tool",
            remedy="did you mean 'git/log'? otherwise correct or remove it",
        ),
        Finding(
            code="unknown-server",
            message="`tool` of the limit names server 'gut', which is not declared",
            path="limits[1].tool",
            remedy="did you mean 'git'? otherwise declare it under 'mcp_servers'",
        ),
    ]


def test_a_limit_of_a_role_on_what_it_may_not_call() -> None:
    assert found(limit("clerk", "git/push")) == [
        Finding(
            code="idle-limit",
            message="role 'clerk' may call nothing that the limit is about",
            path="limits[0]",
            remedy="correct `role` or `tool`, or remove it",
        )
    ]


def test_a_limit_of_a_role_is_idle_only_if_all_that_it_fits_is_known() -> None:
    # what 'vault' offers nobody knows
    assert found(limit("clerk", "vault/*")) == []
    assert found(limit("clerk", "*/push")) == []
    assert found(limit("clerk"), servers=SERVERS[:2]) == []
    assert [one.code for one in found(limit("clerk", "*/push"), servers=SERVERS[:2])] == [
        "idle-limit"
    ]


@pytest.mark.parametrize("server", [SERVERS[3], ServerConfig(name="data")], ids=["kind", "name"])
def test_whoever_holds_a_role_may_call_other_tools_by_another_hat(server: ServerConfig) -> None:
    # R9: roles do not govern it
    offered = {server.name: frozenset({"query"}), "git": OFFERED["git"]}
    declaration = Declaration(
        servers={one.name: one for one in (SERVERS[0], server)},
        roles={"clerk": CLERK},
        limits=(limit("clerk", f"{server.name}/query"), limit("clerk", "*/*u*")),
    )

    assert [one for one in lint(declaration, offered) if one.path.startswith("limits")] == []


def test_of_limits_about_the_same_only_the_strictest_counts() -> None:
    def repeated(at: int, other: int, rate: str) -> Finding:
        return Finding(
            code="idle-limit",
            message=f"limits[{other}] is about the same calls and allows {rate}",
            path=f"limits[{at}]",
            remedy="remove one of them",
        )

    two = limit("clerk", "git/*", calls=2)

    assert found(limit("clerk", "git/*", calls=3), limit(), two, two) == [
        repeated(0, 2, "2 calls per minute"),
        repeated(3, 2, "2 calls per minute"),
    ]
