"""Who can call by two things at once, and by neither alone (R9)."""

import pytest

from remit.model.declaration import Declaration
from remit.model.grants import Grant
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId
from remit.policy.hats import pairs_that_can
from remit.policy.snapshot import PolicySnapshot, compile_snapshot

ROLES = (
    Role(name="reader", allow=("*/read",)),
    Role(name="writer", tools={"wiki": ("write",)}),
    Role(name="both", tools={"wiki": ("read",)}),
    Role(name="denier", allow=("*/read",), deny=("wiki/read",)),
    Role(name="guest"),
    Role(name="guest_of_one"),
    Role(name="elsewhere"),
)


def allow(subject: str, *, server: str = "", tool: str = "") -> Grant:
    return Grant(subject=subject, effect="allow", server=server, tool=tool)


def snapshot(*grants: Grant, groups: dict[str, tuple[str, ...]] | None = None) -> PolicySnapshot:
    servers = [
        ServerConfig(name="open"),
        *(ServerConfig(name=name, default_access="deny") for name in ("wiki", "data", "other")),
    ]
    declaration = Declaration(
        servers={server.name: server for server in servers},
        roles={role.name: role for role in ROLES},
        grants=grants,
        groups=groups or {},
    )
    return compile_snapshot(declaration, tenant="acme", revision=1)


BY_ROLE = (("role:writer", "role:reader"),)
"""Without any grant: a role that names the server opens it to one that only allows."""


def test_roles_that_open_and_roles_that_allow_are_paired() -> None:
    assert pairs_that_can(snapshot(), ToolId("wiki", "read")) == BY_ROLE
    assert pairs_that_can(snapshot(), ToolId("wiki", "write")) == ()


@pytest.mark.parametrize(
    ("grant", "opener"),
    [
        (allow("user:ann", server="wiki"), "user:ann"),
        (allow("user:urn:ann", tool="wiki/re*"), "user:urn:ann"),
        (allow("group:g", server="wiki"), "group:g"),
        (allow("group:g", tool="mcp__wiki__read"), "group:g"),
    ],
)
def test_a_user_or_group_whom_a_grant_opens_the_server_is_paired_with_a_role(
    grant: Grant, opener: str
) -> None:
    pairs = pairs_that_can(snapshot(grant), ToolId("wiki", "read"))

    assert pairs == ((opener, "role:reader"), *BY_ROLE)


@pytest.mark.parametrize(
    "grant",
    [
        allow("role:guest", server="wiki"),
        allow("role:guest", tool="*/read"),
    ],
)
def test_a_role_that_a_grant_opens_the_server_is_paired_too(grant: Grant) -> None:
    pairs = pairs_that_can(snapshot(grant), ToolId("wiki", "read"))

    assert pairs == (*BY_ROLE, ("role:guest", "role:reader"))


def test_members_of_a_group_are_named_beside_it() -> None:
    rules = snapshot(
        allow("group:g", server="wiki"),
        allow("group:h", server="other"),
        groups={
            "unheard": ("user:carl", "user:dora"),
            "h": ("user:dora",),
            "g": ("user:urn:carl", "user:carl", "agent:carl"),
        },
    )

    assert pairs_that_can(rules, ToolId("wiki", "read")) == (
        ("group:g", "role:reader"),
        ("user:carl", "role:reader"),
        ("user:urn:carl", "role:reader"),
        *BY_ROLE,
    )


@pytest.mark.parametrize(
    "grant",
    [
        allow("user:ann", server="other"),
        allow("group:g", server="other"),
        allow("role:elsewhere", server="other"),
        allow("user:ann", tool="wiki/write"),
        allow("key:ci", server="wiki"),
        allow("agent:w7", server="wiki"),
        Grant(subject="user:ann", effect="deny", server="other"),
    ],
)
def test_what_opens_something_else_or_for_another_kind_is_left_out(grant: Grant) -> None:
    assert pairs_that_can(snapshot(grant), ToolId("wiki", "read")) == BY_ROLE


def test_whoever_is_denied_is_left_out() -> None:
    rules = snapshot(
        allow("user:ann", server="wiki"),
        Grant(subject="user:ann", effect="deny", tool="*/read"),
        Grant(subject="role:writer", effect="deny", server="wiki"),
    )

    assert pairs_that_can(rules, ToolId("wiki", "read")) == ()


def test_user_roles_are_paired_on_the_servers_that_they_govern() -> None:
    rules = snapshot(allow("user:ann", server="data"), allow("role:guest", server="data"))

    assert pairs_that_can(rules, ToolId("data", "execute")) == (
        ("user:ann", "user-role:admin"),
        ("user:ann", "user-role:data"),
        ("user:ann", "user-role:developer"),
    )
    assert pairs_that_can(rules, ToolId("data", "query"))[0] == ("user:ann", "user-role:user")


def test_a_server_that_is_open_or_unknown_has_no_pairs() -> None:
    rules = snapshot(allow("user:ann", server="open"), allow("user:ann", server="ghost"))

    assert pairs_that_can(rules, ToolId("open", "read")) == ()
    assert pairs_that_can(rules, ToolId("ghost", "read")) == ()
