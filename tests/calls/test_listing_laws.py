"""The law of the list: what is shown is exactly what can be called (R10)."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from tests.calls.worlds import World, caller, declared, tool

from remit.errors import BadCall, CallDenied
from remit.model.declaration import Declaration
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId

SERVERS = ["a", "a_", "b", "b.c"]
TOOLS = ["x", "_x", "__x", "get_x", "a.b", "a_b", "ünder", "y" * 80, "b__x", "a/b"]
# Names that the published form of another tool could take.
TAKEN = [World(declared(), {"a": [tool("a", name)]}) for name in ("a.b", "ünder")]
TAKEN_NAMES = [w.listing.published_name(t, "a") for w in TAKEN for t in w.catalogue.tools]

SERVER = st.sampled_from(SERVERS)
NAME = st.sampled_from(TOOLS + TAKEN_NAMES)
PATTERN = st.sampled_from(
    ["*/*", "a/*", "a_/*", "*/get_*", "b.c/a*", "mcp__a__*", "mcp__a_*__x", "*/x", "b/b__x"]
)
NAMES = st.lists(NAME, unique=True, max_size=6)
OFFERS = st.dictionaries(SERVER, NAMES)
TUPLES = st.lists(NAME, max_size=3).map(tuple)
PATTERNS = st.lists(PATTERN, max_size=2).map(tuple)
ROLE = st.builds(
    Role,
    name=st.sampled_from(["one", "two"]),
    mcp_servers=st.lists(SERVER, max_size=2).map(tuple),
    tools=st.dictionaries(SERVER, TUPLES, max_size=3),
    allow=PATTERNS,
    deny=PATTERNS,
)
CONFIG = st.builds(
    ServerConfig,
    name=SERVER,
    enabled=st.sampled_from([True, True, False]),
    default_access=st.sampled_from(["allow", "deny"]),
)
DECLARATION = st.builds(declared, st.lists(ROLE, max_size=2), st.lists(CONFIG, max_size=4))
ROLES = st.lists(st.sampled_from(["one", "two", "nosuch"]), unique=True)


def callable_by(
    world: World, roles: Sequence[str], names: Sequence[str], scope: str | None
) -> set[ToolId]:
    """Return every tool that one of *names* reaches, by trying."""
    reached: set[ToolId] = set()
    for name in names:
        try:
            reached.add(
                world.authorize(world.call(caller(*roles), name, scope=scope)).permit.tool_id
            )
        except CallDenied:
            continue
    return reached


@given(DECLARATION, OFFERS, ROLES, st.sampled_from([None, *SERVERS]))
def test_the_list_is_exactly_what_can_be_called(
    declaration: Declaration, offers: dict[str, list[str]], roles: list[str], scope: str | None
) -> None:
    world = World(
        declaration, {server: [tool(server, n) for n in names] for server, names in offers.items()}
    )
    offered = [t for t in world.catalogue.tools if scope in (None, t.server)]
    published = [world.listing.published_name(t, scope) for t in offered]

    visible = world.listing.visible(caller(*roles), scope)

    assert {t.id for t in visible} == callable_by(world, roles, published, scope)
    assert len(visible) == len({world.listing.published_name(t.id, scope) for t in visible})


@given(DECLARATION, OFFERS, ROLES, st.sampled_from([None, *SERVERS]))
def test_no_spelling_whatever_reaches_a_tool_that_is_not_on_the_list(
    declaration: Declaration, offers: dict[str, list[str]], roles: list[str], scope: str | None
) -> None:
    world = World(
        declaration, {server: [tool(server, n) for n in names] for server, names in offers.items()}
    )
    shown = {t.id for t in world.listing.visible(caller(*roles), scope)}
    for t in world.catalogue.tools:
        for spelling in (
            f"{t.server}__{t.name}",
            f"mcp_{t.server}_{t.name}",
            f"mcp__{t.server}__{t.name}",
            str(t),
            t.name,
        ):
            try:
                call = world.call(caller(*roles), spelling, scope=scope)
                reached = world.authorize(call).permit.tool_id
            except (CallDenied, BadCall):
                continue
            assert reached in shown or reached not in world.catalogue.tools
