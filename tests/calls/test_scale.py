"""What a call or a list costs does not grow with the number of things (function calls, not time).

2,000 tools on 200 servers with 500 roles stand against 40 tools on 2 servers with 9 roles; the
caller may use 40 tools in both. `python -m bench.scale` measures the same in time.
"""

import gc
import sys
from collections.abc import Callable
from types import FrameType

import anyio
import pytest
from tests.calls.worlds import World, caller, declared, tool

from remit.admin import offers
from remit.calls.inforce import PolicyInForce
from remit.model.calls import Call
from remit.model.roles import Role
from remit.model.tools import Tool, ToolId
from remit.policy.engine import roles_that_can
from remit.upstreams.catalogue import Catalogue

SEEN = 40
HERE = caller("bench")


def build(*, tools: int, servers: int, roles: int) -> World:
    each = tools // servers
    names = [f"s{number:03}" for number in range(servers)]
    bench = Role(name="bench", allow=tuple(f"{name}/*" for name in names[: SEEN // each]))
    others = [
        Role(
            name=f"role{number}",
            tools={names[number % servers]: ("t0",)},
            allow=(f"{names[number * 7 % servers]}/t*",),
            deny=("*/t1",),
        )
        for number in range(roles - 1)
    ]
    offered = {name: [tool(name, f"t{number}") for number in range(each)] for name in names}
    return World(declared([bench, *others], names), offered)


@pytest.fixture(scope="module")
def small() -> World:
    return build(tools=SEEN, servers=2, roles=9)


@pytest.fixture(scope="module")
def large() -> World:
    return build(tools=2000, servers=200, roles=500)


def calls_in(work: Callable[[], object]) -> int:
    """Return how many functions *work* calls, C functions included, and nobody's finalizers."""
    count = 0

    def note(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before, collects = sys.getprofile(), gc.isenabled()
    gc.disable()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    return count


def _call(world: World, name: str = "s000__t0") -> None:
    world.authorize(
        Call(id="1", principal=HERE, requested=name, scope=None, arguments=b"{}", started=0.0)
    )


WARM: dict[str, Callable[[World], object]] = {
    "a call": _call,
    "a list": lambda world: world.listing.tools_json(HERE, None, legacy=False),
    "a list of one server": lambda world: world.listing.tools_json(HERE, "s000", legacy=True),
    "what a client is told first": lambda world: (
        world.listing.instructions(HERE, None),
        world.listing.items.capabilities(HERE, None),
    ),
    "everything that is known": lambda world: world.directory.known,
    "the first list of one more caller in the same roles": lambda world: (
        world.listing.tools_json(caller("bench", name="another"), None, legacy=False),
        world.listing.items.capabilities(caller("bench", name="another"), None),
    ),
}


@pytest.mark.parametrize("ask", WARM.values(), ids=WARM.keys())
def test_what_was_asked_before_costs_the_same_however_much_there_is(
    small: World, large: World, ask: Callable[[World], object]
) -> None:
    for world in (small, large):
        ask(world)

    assert calls_in(lambda: ask(large)) <= calls_in(lambda: ask(small))


def test_a_first_list_decides_on_no_tool_of_a_server_that_its_caller_cannot_reach(
    small: World, large: World
) -> None:
    asked: list[int] = []
    for world in (small, large):
        fresh = World(world.policy.declaration, _offers(world))
        assert len(fresh.listing.visible(HERE, None)) == SEEN
        asked.append(len(fresh.snapshot.decisions))

    assert asked == [SEEN, SEEN]


def test_who_can_decides_for_those_roles_alone_that_name_the_server(large: World) -> None:
    fresh = PolicyInForce(large.policy.declaration, tenant="default", revision=1)
    able = roles_that_can(fresh.snapshot, ToolId("s000", "t0"))

    assert "bench" in able
    assert len(able) <= len(fresh.snapshot.decisions) < 12


async def test_servers_that_come_together_are_compared_with_the_grants_at_once(
    large: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # each comparison reads the whole policy
    compared: list[int] = []
    lint = offers.lint

    def note(declaration: object, offered: dict[str, frozenset[str]]) -> object:
        compared.append(len(offered))
        return lint(declaration, offered)  # pyright: ignore[reportArgumentType] - passed on

    class Offers:
        catalogue = Catalogue.build(1, _offers(large))

        async def changed(self, version: int) -> Catalogue:
            del version
            seen.set()
            await anyio.sleep_forever()
            return self.catalogue

    seen = anyio.Event()
    monkeypatch.setattr(offers, "lint", note)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(offers.report_offers, Offers(), large.policy, "default")
            await seen.wait()
            tasks.cancel_scope.cancel()

    assert compared == [200]


def _offers(world: World) -> dict[str, list[Tool]]:
    catalogue = world.catalogue
    return {
        server: [catalogue.tools[one] for one in ids] for server, ids in catalogue.by_server.items()
    }
