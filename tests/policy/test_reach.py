"""Which servers a caller may reach, so that lists need not ask for each tool of the others."""

import pytest

from remit.model.declaration import Declaration
from remit.model.grants import PolicySettings
from remit.model.principals import AgentType, Principal, PrincipalKind, ServerPolicy, UserRole
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.policy.callers import standing_of
from remit.policy.snapshot import compile_snapshot

NAMING = ("naming",)
ROLES = (
    Role(name="naming", tools={"wiki": ("read",)}, allow=("vault/*",)),
    Role(name="everywhere", allow=("*/read",)),
    Role(name="spelled", allow=("mcp__wiki__read",)),
    Role(name="denying", tools={"wiki": ("read",)}, deny=("git/*",)),
)
SNAPSHOT = compile_snapshot(
    Declaration(
        servers={name: ServerConfig(name=name) for name in ("wiki", "vault", "git")},
        roles={role.name: role for role in ROLES},
        policy=PolicySettings(admin_bypass=True),
    ),
    tenant="default",
    revision=1,
)


def _reached(principal: Principal) -> set[str]:
    standing = standing_of(SNAPSHOT, principal)
    return {server for server in SNAPSHOT.servers if standing.may_reach(server)}


@pytest.mark.parametrize(
    ("roles", "reached"),
    [
        ((), set[str]()),
        (NAMING, {"wiki", "vault"}),
        (("everywhere",), {"wiki", "vault", "git"}),
        (("spelled",), {"wiki", "vault", "git"}),  # where the name parts is not known
        (("denying",), {"wiki"}),
        (("denying", *NAMING), {"wiki", "vault"}),
        (("unknown",), set[str]()),
    ],
)
def test_roles_reach_the_servers_that_a_rule_of_theirs_could_allow(
    roles: tuple[str, ...], reached: set[str]
) -> None:
    assert _reached(Principal(kind=PrincipalKind.KEY, name="k", roles=roles)) == reached


@pytest.mark.parametrize(
    "principal",
    [
        Principal(kind=PrincipalKind.AGENT, name="a", agent_type=AgentType.WORKER),
        Principal(kind=PrincipalKind.USER, name="u", user_roles=(UserRole.USER,)),
        Principal(kind=PrincipalKind.USER, name="admin", servers=ServerPolicy(admin=True)),
    ],
    ids=["an agent's type", "a user role", "the rule for administrators"],
)
def test_what_is_no_role_may_allow_a_tool_of_any_server(principal: Principal) -> None:
    # R9, R12: these ceilings are not looked into
    assert _reached(principal) == {"wiki", "vault", "git"}
