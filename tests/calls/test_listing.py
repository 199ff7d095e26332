"""What `tools/list` sends: the caller's tools, in the servers' own bytes."""

import json

import pytest
from tests.calls.worlds import World, caller, declared, tool

from remit.calls.listing import MOST_CACHED, published_entry
from remit.errors import CallDenied
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.model.tools import Tool, ToolId

CLERK = Role(name="clerk", tools={"git": ("status",)}, allow=("jira/*",), deny=("jira/delete_*",))
HERE = caller("clerk")


def build() -> World:
    return World(
        declared([CLERK], ["git", "jira"]),
        {
            "jira": [tool("jira", "find"), tool("jira", "delete_all"), tool("jira", "a.b")],
            "git": [tool("git", "status"), tool("git", "push")],
        },
    )


def wired(wire: bytes) -> Tool:
    return Tool(id=ToolId("s", "t"), wire=wire, description="what it does")


def names(listed: bytes) -> list[str]:
    return [entry["name"] for entry in json.loads(listed)]


def test_a_caller_sees_exactly_what_it_may_call_sorted_by_server_and_name() -> None:
    world = build()

    visible = world.listing.visible(HERE, None)

    assert [str(tool.id) for tool in visible] == ["git/status", "jira/a.b", "jira/find"]


def test_an_endpoint_of_one_server_shows_that_servers_tools() -> None:
    world = build()

    assert [str(t.id) for t in world.listing.visible(HERE, "jira")] == ["jira/a.b", "jira/find"]
    assert world.listing.visible(HERE, "nosuch") == ()


def test_what_a_server_offers_is_there_whoever_may_call_it() -> None:
    world = build()

    assert [str(t.id) for t in world.listing.offered("git")] == ["git/push", "git/status"]
    assert world.listing.offered("nosuch") == ()
    world.offer({"git": [tool("git", "merge")]})
    assert [str(t.id) for t in world.listing.offered("git")] == ["git/merge"]


def test_tools_are_published_under_the_names_of_their_endpoint() -> None:
    # R2, R3
    world = build()

    everywhere = names(world.listing.tools_json(HERE, None, legacy=False))
    on_jira = names(world.listing.tools_json(HERE, "jira", legacy=False))

    assert everywhere[0] == "git__status"
    assert everywhere[1].startswith("jira__a_b_")
    assert everywhere[2] == "jira__find"
    assert on_jira[0].startswith("a_b_")
    assert on_jira[1] == "find"
    assert world.listing.published_name(ToolId("git", "status"), None) == "git__status"
    assert world.listing.published_name(ToolId("git", "status"), "git") == "status"


def test_an_empty_list_is_an_empty_array() -> None:
    assert build().listing.tools_json(caller("nobody"), None, legacy=False) == b"[]"


def test_callers_in_the_same_roles_are_sent_the_same_bytes() -> None:
    world = build()

    first = world.listing.tools_json(caller("clerk", name="a"), None, legacy=False)

    assert world.listing.tools_json(caller("clerk", name="b"), None, legacy=False) is first
    assert world.listing.tools_json(caller("clerk", name="b"), "git", legacy=False) is not first


def test_a_new_catalogue_is_a_new_list() -> None:
    world = build()
    before = world.listing.tools_json(HERE, None, legacy=False)

    world.offer({"git": [tool("git", "status", title="Status")]})

    after = world.listing.tools_json(HERE, None, legacy=False)
    assert names(after) == ["git__status"]
    assert b'"Status"' in after
    assert after != before


def test_a_new_policy_is_a_new_list() -> None:
    # R17
    world = build()
    assert len(world.listing.visible(HERE, None)) == 3

    world.declare(declared([Role(name="clerk", tools={"git": ("push",)})], ["git", "jira"]))

    assert names(world.listing.tools_json(HERE, None, legacy=False)) == ["git__push"]


def test_the_same_catalogue_and_policy_are_the_same_list() -> None:
    world = build()

    assert world.listing.visible(HERE, None) is world.listing.visible(HERE, None)


def test_callers_whom_the_rules_do_not_tell_apart_share_a_view() -> None:
    world = build()
    first = world.listing.visible(HERE, None)

    assert world.listing.visible(caller("clerk", name="another"), None) is first
    assert world.listing.visible(caller("clerk", "hat"), None) is first
    assert world.listing.visible(caller("hat"), None) is not first


def test_more_kinds_of_callers_than_the_cache_holds_start_it_anew() -> None:
    world = build()
    first = world.listing.visible(HERE, None)
    for number in range(MOST_CACHED - 1):
        world.listing.visible(caller("clerk", f"hat{number}"), None)
    assert world.listing.visible(HERE, None) is first

    world.listing.visible(caller("clerk", "one more"), None)
    world.listing.visible(caller("clerk", "and another"), None)

    again = world.listing.visible(HERE, None)
    assert again == first
    assert again is not first


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize(
    "rest",
    [
        b'"inputSchema":{ "type" : "object","x":[ ] }',
        b'"annotations":{"readOnlyHint":true},"_meta":{"a":null},"title":"T"',
        b'"somethingNew":{"kept":[1,2,{"a":{}}]}',
        b'"n":[1.0,1.10,1E5,-0,1e999,9007199254740993,0.1000000000000000055511151231257827]',
        b'"n":' + b"9" * 5000,
        '"description":"Grüße \U0001f600"'.encode(),
        rb'"description":"\u00fc \/ \ud83d\ude00 \ud800 lone"',
        rb'"\ud800":1,"n":1.10',
        b'"outputSchema":{"type":"object","n":1.10}',
    ],
)
def test_an_entry_keeps_everything_but_the_name_byte_for_byte(rest: bytes, legacy: bool) -> None:
    # T17: numbers equal as text
    entry = published_entry(wired(b'{"name":"t",' + rest + b"}"), "s__t", legacy=legacy)

    assert entry == b'{"name":"s__t",' + rest + b"}"


def test_a_name_is_replaced_wherever_it_stands() -> None:
    entry = published_entry(wired(b' { "title" : "T" , "name" : "t" } '), "s__t", legacy=False)

    assert json.loads(entry) == {"title": "T", "name": "s__t"}


@pytest.mark.parametrize(
    "schema",
    [
        b'{"type":"array"}',
        b'{"type":["object"]}',
        b'{"oneOf":[{"type":"object"}]}',
        b"{}",
        b"true",
        b'["object"]',
        b"null",
        b'{"type":"object","n":' + b"9" * 5000 + b"}",
    ],
)
def test_an_older_caller_is_spared_an_output_schema_that_is_no_objects(schema: bytes) -> None:
    wire = b'{"name":"t","outputSchema":' + schema + b',"title":"T"}'

    assert published_entry(wired(wire), "n", legacy=True) == b'{"name":"n","title":"T"}'
    assert schema in published_entry(wired(wire), "n", legacy=False)


def test_one_odd_output_schema_costs_an_older_caller_nothing_else() -> None:
    good, odd = {"type": "object"}, {"type": "array"}
    world = World(
        declared([Role(name="clerk", allow=("s/*",))], ["s"]),
        {"s": [tool("s", "a", outputSchema=good), tool("s", "b", outputSchema=odd)]},
    )

    legacy = json.loads(world.listing.tools_json(HERE, None, legacy=True))
    modern = json.loads(world.listing.tools_json(HERE, None, legacy=False))

    assert [entry.get("outputSchema") for entry in legacy] == [good, None]
    assert [entry.get("outputSchema") for entry in modern] == [good, odd]
    assert [entry["name"] for entry in legacy] == ["s__a", "s__b"]


@pytest.mark.parametrize(
    "wire", [b"nonsense", b"[]", b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"]
)
def test_a_tool_that_cannot_be_read_takes_no_other_off_the_list(wire: bytes) -> None:
    assert json.loads(published_entry(wired(wire), "s__t", legacy=True)) == {
        "name": "s__t",
        "description": "what it does",
        "inputSchema": {"type": "object"},
    }


def test_the_cost_of_a_tool_is_its_published_bytes_over_four_rounded_up() -> None:
    # product.md, details that tests rely on
    tools = [tool("git", f"t{n}", title="é" * n, outputSchema=True) for n in range(4)]
    world = World(declared([], ["git"]), {"git": tools})

    for offered in tools:
        for scope in (None, "git"):
            name = world.listing.published_name(offered.id, scope)
            size = len(published_entry(offered, name, legacy=False))
            cost = world.listing.token_cost(offered, scope)
            assert isinstance(cost, int)
            assert 4 * (cost - 1) < size <= 4 * cost


def test_the_cost_of_a_tool_follows_what_its_server_offers_now() -> None:
    world = World(declared([], ["git"]), {"git": [tool("git", "t")]})
    before, longer = tool("git", "t"), tool("git", "t", title="é" * 100)

    costs = [world.listing.token_cost(each) for each in (before, longer, before, longer)]

    assert costs[0] == costs[2] < costs[1] == costs[3]


def test_what_a_caller_is_shown_it_may_call_by_that_very_name() -> None:
    world = build()

    for scope in (None, "git", "jira"):
        for shown in world.listing.visible(HERE, scope):
            name = world.listing.published_name(shown.id, scope)
            assert world.authorize(world.call(HERE, name, scope=scope)).permit.tool_id == shown.id


def test_a_disabled_servers_tools_are_neither_shown_nor_callable() -> None:
    world = World(
        declared([CLERK], [ServerConfig(name="git", enabled=False)]),
        {"git": [tool("git", "status")]},
    )

    assert world.listing.visible(HERE, None) == ()
    with pytest.raises(CallDenied):
        world.authorize(world.call(HERE, "git__status"))
