"""Which tool a name means, and whether this caller may (R2, R10, R14)."""

import pytest
from tests.calls.worlds import World, caller, declared, tool

from remit.calls.authorize import UNKNOWN
from remit.calls.directory import MOST_GONE, declared_tools
from remit.errors import BadCall, CallDenied
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId

STATUS = ToolId("git", "status")


def one_tool(*, default_access: str = "allow") -> World:
    role = Role(name="clerk", tools={"git": ("status",)})
    config = ServerConfig(
        name="git", default_access="deny" if default_access == "deny" else "allow"
    )
    return World(declared([role], [config]), {"git": [tool("git", "status"), tool("git", "push")]})


@pytest.mark.parametrize(
    "spelling",
    ["git__status", "mcp__git__status", "mcp_git_status", "git/status"],
)
def test_every_spelling_of_a_tool_means_it(spelling: str) -> None:
    # R2
    world = one_tool()

    authorized = world.authorize(world.call(caller("clerk"), spelling))

    assert authorized.permit.tool_id == STATUS
    assert authorized.permit.decision.allowed
    assert authorized.permit.decision.rule == "roles.clerk.tools.git[0]"
    assert authorized.permit.decision.revision == 7
    assert authorized.call.requested == spelling


@pytest.mark.parametrize("spelling", ["status", "git__status", "git/status"])
def test_on_a_servers_endpoint_its_own_names_count_too(spelling: str) -> None:
    world = one_tool()

    authorized = world.authorize(world.call(caller("clerk"), spelling, scope="git"))

    assert authorized.permit.tool_id == STATUS


@pytest.mark.parametrize("spelling", ["GIT__status", "git__Status", "git_status", "status", ""])
def test_a_name_that_is_nearly_right_means_nothing(spelling: str) -> None:
    # R15: case matters; R1: no name is split
    world = one_tool()

    with pytest.raises(CallDenied) as denied:
        world.authorize(world.call(caller("clerk"), spelling))

    assert (denied.value.server, denied.value.tool, denied.value.layer) == ("", spelling, "")
    assert str(denied.value) == UNKNOWN


def test_another_servers_tool_is_not_found_on_a_servers_endpoint() -> None:
    world = one_tool()

    with pytest.raises(CallDenied) as denied:
        world.authorize(world.call(caller("clerk"), "git__status", scope="jira"))

    assert (denied.value.server, denied.value.layer) == ("jira", "")


@pytest.mark.parametrize("roles", [(), ("nobody",)])
def test_a_caller_without_a_role_that_is_declared_may_nothing(roles: tuple[str, ...]) -> None:
    # R8, R11
    world = one_tool()

    with pytest.raises(CallDenied) as denied:
        world.authorize(world.call(caller(*roles), "git__status"))

    assert (denied.value.server, denied.value.tool) == ("git", "status")
    assert (denied.value.layer, denied.value.rule) == ("ceiling", "")


def test_a_caller_of_another_tenant_may_nothing() -> None:
    world = one_tool()

    with pytest.raises(CallDenied) as denied:
        world.authorize(world.call(caller("clerk", tenant="acme"), "git__status"))

    assert denied.value.layer == "tenant"


def lookalikes(*roles: Role) -> World:
    """Two tools that `mcp__a___x` fits: `_x` of server `a`, and `x` of server `a_`."""
    return World(declared(roles, ["a", "a_"]), {"a": [tool("a", "_x")], "a_": [tool("a_", "x")]})


@pytest.mark.parametrize(
    ("grants", "meant"), [({"a": ("_x",)}, ToolId("a", "_x")), ({"a_": ("x",)}, ToolId("a_", "x"))]
)
def test_a_name_that_fits_several_tools_means_the_one_that_the_caller_may_use(
    grants: dict[str, tuple[str, ...]], meant: ToolId
) -> None:
    # R14: an error would tell of a tool that is hidden
    world = lookalikes(Role(name="some", tools=grants))

    assert world.authorize(world.call(caller("some"), "mcp__a___x")).permit.tool_id == meant


def test_a_name_that_fits_several_tools_of_the_caller_lists_them() -> None:
    # R2
    world = lookalikes(Role(name="both", allow=("a/*", "a_/*")))

    with pytest.raises(BadCall) as bad:
        world.authorize(world.call(caller("both"), "mcp__a___x"))

    assert str(bad.value) == (
        "the name 'mcp__a___x' fits several tools: a/_x, a_/x; use one of them"
    )


def test_only_what_the_caller_may_use_is_listed() -> None:
    # R14: three tools fit, two of them may be used
    role = Role(name="two", allow=("a/*", "a__/*"))
    world = World(
        declared([role], ["a", "a_", "a__"]),
        {"a": [tool("a", "__x")], "a_": [tool("a_", "_x")], "a__": [tool("a__", "x")]},
    )

    with pytest.raises(BadCall) as bad:
        world.authorize(world.call(caller("two"), "mcp__a____x"))

    assert "a/__x, a__/x;" in str(bad.value)
    assert "a_/_x" not in str(bad.value)


def test_a_name_that_fits_several_tools_none_of_which_is_allowed_is_a_denial_with_its_layer() -> (
    None
):
    # S0.23: recorded with layer and rule; R14: refused like any other
    world = lookalikes(Role(name="none", allow=("a/*",), deny=("a/*",)))

    with pytest.raises(CallDenied) as denied:
        world.authorize(world.call(caller("none"), "mcp__a___x"))

    assert (denied.value.server, denied.value.tool) == ("a", "_x")
    assert (denied.value.layer, denied.value.rule) == ("deny", "roles.none.deny[0]")
    assert str(denied.value) == denied.value.reason == "role 'none' denies 'a/*'"


def test_a_tool_that_is_only_declared_has_its_name_already() -> None:
    role = Role(name="clerk", tools={"git": ("status",), "wiki": ("read", "find")})
    world = World(declared([role], ["git", "wiki"]), {})

    assert declared_tools(world.declaration) == {
        STATUS,
        ToolId("wiki", "read"),
        ToolId("wiki", "find"),
    }
    found = world.authorize(world.call(caller("clerk"), "wiki__read"))
    assert found.permit.tool_id == ToolId("wiki", "read")


def test_a_tool_that_was_seen_once_keeps_its_meaning() -> None:
    # R3: the same after a restart
    role = Role(name="clerk", allow=("git/*",))
    world = World(declared([role], ["git"]), {}, seen=[STATUS])
    call = world.call(caller("clerk"), "git__status")
    assert world.authorize(call).permit.tool_id == STATUS

    world.offer({"git": [tool("git", "push")]})
    assert world.authorize(call).permit.tool_id == STATUS
    world.offer({})
    assert world.authorize(world.call(caller("clerk"), "git__push")).permit.tool_id.name == "push"


def test_a_server_that_keeps_renaming_its_tools_does_not_fill_the_memory() -> None:
    world = World(declared([Role(name="clerk", allow=("git/*",))], ["git"]), {})
    world.offer({"git": [tool("git", f"t{number}") for number in range(MOST_GONE + 1)]})
    assert world.directory.names.find("git__t0", None)

    world.offer({"git": [tool("git", "new")]})
    assert world.directory.names.find("git__t0", None) == ()
    assert world.directory.names.find("git__new", None)


def test_the_naming_table_follows_the_catalogue_and_the_declaration() -> None:
    world = World(declared([Role(name="clerk", allow=("git/*",))], ["git"]), {})
    first = world.directory.names
    assert world.directory.names is first

    world.offer({"git": [tool("git", "push")]})
    second = world.directory.names
    assert second.find("git__push", None) == (ToolId("git", "push"),)
    assert world.directory.names is second

    world.declare(declared([Role(name="clerk", tools={"wiki": ("read",)})], ["git", "wiki"]))
    assert world.directory.names.find("wiki__read", None) == (ToolId("wiki", "read"),)
    assert world.directory.names.find("git__push", None) == (ToolId("git", "push"),)


def test_what_was_found_for_a_caller_and_a_tool_is_found_once() -> None:
    world = one_tool()
    here = caller("clerk")
    first = world.authorize(world.call(here, "git__status")).permit

    assert world.authorize(world.call(here, "git__status", b'{"n":1}')).permit is first
    assert world.authorize(world.call(here, "git/status")).permit is not first
    assert world.authorize(world.call(here, "git__status", scope="git")).permit is not first
    assert world.authorize(world.call(caller("clerk"), "git__status")).permit is not first


def test_what_was_found_holds_no_longer_than_its_catalogue_and_its_rules() -> None:
    # R17
    world = one_tool()
    here = caller("clerk")
    first = world.authorize(world.call(here, "git__status")).permit

    world.offer({"git": [tool("git", "status")]})
    second = world.authorize(world.call(here, "git__status")).permit
    world.declare(world.declaration)
    third = world.authorize(world.call(here, "git__status")).permit

    assert len({id(permit) for permit in (first, second, third)}) == 3
    assert (first.decision.revision, third.decision.revision) == (7, 8)
    assert (first.words.revision, third.words.revision) == (7, 8)


def test_a_new_policy_decides_the_next_call() -> None:
    # R17
    world = one_tool()
    call = world.call(caller("clerk"), "git__status")
    world.authorize(call)

    world.declare(declared([Role(name="clerk", tools={"git": ("push",)})], ["git"]))

    with pytest.raises(CallDenied):
        world.authorize(call)
    pushed = world.authorize(world.call(caller("clerk"), "git__push"))
    assert pushed.permit.decision.revision == 8
