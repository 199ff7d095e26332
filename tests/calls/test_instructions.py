"""What a caller is told of a list that is short or empty (R14)."""

from dataclasses import replace

import pytest
from tests.calls.worlds import World, caller, declared, tool

from remit.model.principals import AgentType, UserRole
from remit.model.roles import Role
from remit.model.servers import ServerConfig

GIT = {"git": [tool("git", "status")]}
SERVERS = ["git", "jira", "wiki", "vault"]


def told(world: World, *roles: str, scope: str | None = None, tenant: str = "default") -> str:
    return world.listing.instructions(caller(*roles, tenant=tenant), scope)


def test_a_full_list_needs_no_words() -> None:
    world = World(declared([Role(name="clerk", tools={"git": ("status",)})], SERVERS), GIT)

    assert told(world, "clerk") == ""


@pytest.mark.parametrize(
    "role",
    [
        Role(name="clerk", mcp_servers=("git", "jira"), tools={"git": ("status",)}),
        Role(name="clerk", tools={"git": ("status",), "jira": ("find",)}),
        Role(name="clerk", allow=("git/*", "jira/get_*")),
        Role(name="clerk", allow=("git/*", "mcp__jira__*")),
        Role(name="clerk", allow=("git/*", "*/get_*", "jira/x")),
    ],
)
def test_a_short_list_says_which_of_the_callers_servers_are_missing(role: Role) -> None:
    # R11: named under mcp_servers or tools, or as the server of an allow pattern
    world = World(declared([role], SERVERS), GIT)

    assert told(world, "clerk") == "Not connected at the moment: jira."


def test_missing_servers_come_once_and_in_the_order_of_the_role() -> None:
    roles = [
        Role(name="one", mcp_servers=("wiki", "jira"), tools={"wiki": ("read",)}),
        Role(name="two", mcp_servers=("vault", "wiki", "git"), allow=("git/*",)),
    ]
    world = World(declared(roles, SERVERS), GIT)

    assert told(world, "one", "two") == "Not connected at the moment: wiki, jira, vault."


def test_an_empty_list_whose_servers_are_away_says_so() -> None:
    world = World(declared([Role(name="clerk", tools={"jira": ("find",)})], SERVERS), GIT)

    assert told(world, "clerk") == (
        "Not connected at the moment: jira. "
        "The list of tools is empty until a server above is back."
    )


@pytest.mark.parametrize(
    ("roles", "who"),
    [
        ((), "a caller without role"),
        (("nosuch",), "role nosuch"),
        (("idle",), "role idle"),
        (("idle", "nosuch"), "role idle, nosuch"),
    ],
)
def test_a_list_that_is_empty_by_policy_says_so(roles: tuple[str, ...], who: str) -> None:
    # R8
    world = World(declared([Role(name="idle", mcp_servers=("git",))], SERVERS), GIT)

    assert told(world, *roles) == (
        f"The list of tools is empty by policy: {who} may use none here."
    )


def test_a_caller_is_named_by_every_hat_it_wears() -> None:
    # R9
    world = World(declared([Role(name="idle")], ["git", "mail", "data"]), GIT)
    everything = replace(
        caller("idle"),
        agent_type=AgentType.WORKER,
        user_roles=(UserRole.DATA, UserRole.USER),
        service=True,
    )

    assert world.listing.instructions(everything, "git") == (
        "The list of tools is empty by policy: role idle, a service key, agent type WORKER, "
        "user role data, user may use none here."
    )


def test_the_servers_of_a_toolset_and_an_agent_type_are_missing_while_they_are_away() -> None:
    world = World(declared([], ["git", "mail", "data"]), GIT)

    worker = replace(caller(), agent_type=AgentType.ORCHESTRATOR)
    user = replace(caller(), user_roles=(UserRole.USER,))

    assert "connected at the moment: data. " in world.listing.instructions(user, None)
    assert "connected at the moment: mail. " in world.listing.instructions(worker, "mail")


def test_a_pattern_over_all_servers_waits_for_those_that_are_away_without_naming_them() -> None:
    world = World(declared([Role(name="reader", allow=("*/get_*",))], SERVERS), GIT)

    text = told(world, "reader")

    assert text == (
        "The list of tools is empty at the moment: not every server is connected, "
        "and none that is offers a tool that role reader may use."
    )
    assert not any(server in text for server in SERVERS)


def test_a_pattern_over_all_servers_waits_for_nothing_when_all_are_up_or_disabled() -> None:
    servers = [ServerConfig(name="git"), ServerConfig(name="off", enabled=False)]
    world = World(declared([Role(name="reader", allow=("*/get_*",))], servers), GIT)

    assert "empty by policy" in told(world, "reader")


def test_an_endpoint_of_one_server_speaks_of_that_server_alone() -> None:
    roles = [
        Role(name="clerk", mcp_servers=("jira", "wiki"), tools={"git": ("status",)}),
        Role(name="reader", allow=("*/get_*",)),
    ]
    world = World(declared(roles, SERVERS), GIT)

    assert told(world, "clerk", scope="git") == ""
    assert told(world, "clerk", scope="jira").startswith("Not connected at the moment: jira. ")
    assert "empty by policy" in told(world, "clerk", scope="vault")
    assert "empty at the moment" in told(world, "reader", scope="vault")
    assert "empty by policy" in told(world, "reader", scope="git")


def test_a_server_that_nobody_declared_is_missing_from_the_list_of_all_alone() -> None:
    world = World(declared([Role(name="clerk", tools={"ghost": ("x",)})], SERVERS), GIT)

    assert told(world, "clerk").startswith("Not connected at the moment: ghost.")
    assert told(world, "clerk", scope="ghost").startswith("The list of tools is empty by policy")


def test_nothing_is_told_of_servers_that_the_callers_roles_do_not_name() -> None:
    roles = [
        Role(name="clerk", tools={"git": ("status",)}, deny=("vault/*",)),
        Role(name="other", mcp_servers=("vault", "wiki"), allow=("jira/*",)),
    ]
    world = World(declared(roles, SERVERS), {})

    text = told(world, "clerk")

    assert "git" in text
    assert not any(server in text for server in ("vault", "wiki", "jira"))


def test_a_caller_of_another_tenant_is_told_of_no_server() -> None:
    world = World(declared([Role(name="clerk", allow=("*/*", "jira/*"))], SERVERS), {})

    assert told(world, "clerk", tenant="acme") == (
        "The list of tools is empty by policy: role clerk may use none here."
    )
