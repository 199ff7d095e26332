"""What the check needs besides arguments: a schema that compiles, a server that is up, time."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
import structlog.testing
from tests.calls.worlds import OPEN, Listener, authorized, declared, tool, world_with

from remit.calls.schema_cost import evaluations
from remit.calls.states import States
from remit.calls.validate import MOST_COMPILED, ServerSource, Validator
from remit.errors import BadCall, UpstreamUnavailable
from remit.model.servers import ServerConfig, ToolSettings
from remit.model.tools import Tool, ToolId
from remit.upstreams.catalogue import Catalogue


def about(schema: object) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"properties": {"a": {"pattern": "("}}},
        {"$ref": "#/nowhere"},
        {"$schema": "https://example.test/unknown"},
        [],
        "text",
        7,
        {"$ref": "\ud800"},
    ],
)
def test_a_schema_that_cannot_be_compiled_leaves_the_check_to_the_server(schema: object) -> None:
    world = world_with(tool("s", "t", schema))

    with structlog.testing.capture_logs() as logged:
        valid = world.validate(authorized(world, b'{"a":"anything"}'))

    assert valid.tool is not None
    assert valid.tool.id == ToolId("s", "t")
    (entry,) = logged
    assert entry["event"] == "input schema cannot be compiled"
    assert (entry["log_level"], entry["tool"]) == ("warning", "s/t")
    assert entry["error"] not in ("", "None")
    with pytest.raises(BadCall, match="must be a JSON object"):
        world.validate(authorized(world, b"[]"))


def doubling(steps: int, last: object) -> dict[str, Any]:
    """Return a schema of *steps* steps that applies its last part two to that power times."""
    parts: dict[str, Any] = {
        f"s{step}": {"allOf": [{"$ref": f"#/$defs/s{step + 1}"}] * 2} for step in range(steps)
    }
    return {"$defs": {**parts, f"s{steps}": last}, "$ref": "#/$defs/s0"}


def test_a_schema_that_would_take_for_ever_leaves_the_check_to_the_server() -> None:
    # A check that has begun cannot be stopped, and it stops everything else.
    world = world_with(tool("s", "t", doubling(60, {"required": ["a"]})))

    with structlog.testing.capture_logs() as logged:
        world.validate(authorized(world, b"{}"))

    assert [entry["event"] for entry in logged] == ["input schema takes too long to be checked"]


@pytest.mark.parametrize(
    "schema",
    [
        doubling(6, {"required": ["a"]}),
        {"required": ["a"], "properties": {"children": {"items": {"$ref": "#"}}}},
        {"required": ["a"], "properties": {"x": {"$recursiveRef": "#"}}},
        {"$defs": {"n": {"$anchor": "n", "required": ["a"]}}, "$ref": "#n"},
        {
            "properties": {"~%": {"enum": [{"$ref": "#/nowhere"}]}},
            "$ref": "#/x~1y%20/0",
            "x/y ": [{"required": ["a"]}],
        },
    ],
)
def test_a_schema_with_references_is_checked(schema: dict[str, Any]) -> None:
    world = world_with(tool("s", "t", schema))

    with pytest.raises(BadCall, match="required"):
        world.validate(authorized(world, b"{}"))


@pytest.mark.parametrize(
    ("schema", "count"),
    [
        (True, 1),
        ({"$ref": "#"}, math.inf),
        ({"allOf": [{"$ref": "#/nowhere"}]}, math.inf),
        ({"not": {"if": {"$ref": "#/not"}}}, math.inf),
        ({"properties": {"definitions": {"anyOf": [True, True]}}}, 4),
        ({"dependentSchemas": {"a": {"$ref": "#"}}}, math.inf),
        ({"patternProperties": {"a": {"$ref": "#"}}}, 3),
        ({"$id": "x:y", "properties": {"a": {"$ref": "x:y"}}}, 4),
        ({"definitions": {"a": True, "b": True}, "const": {"a": 1}}, 1),
        (doubling(10, True), 2**12 - 2),
    ],
)
def test_what_a_schema_may_cost_is_counted(schema: object, count: float) -> None:
    assert evaluations(schema) == count


@pytest.mark.parametrize("source", [b"", b"{", b"[" * 100_000, b"\xff"])
def test_a_schema_that_cannot_be_read_leaves_the_check_to_the_server(source: bytes) -> None:
    world = world_with(Tool(id=ToolId("s", "t"), wire=b"{}", input_schema=source))

    valid = world.validate(authorized(world, b"{}"))

    assert isinstance(valid.tool, Tool)
    assert valid.tool.input_schema == source


@pytest.mark.parametrize("kind", ["http", "https", "file"])
def test_no_schema_is_ever_fetched(kind: str, listener: Listener) -> None:
    address = f"{kind}://127.0.0.1:{listener.port}/schema.json"

    world = world_with(tool("s", "t", {"properties": {"a": {"$ref": address}}}))
    world.validate(authorized(world, b'{"a":1}'))

    assert listener.visits == []


def test_a_schema_is_compiled_once_for_all_calls_of_all_tools_that_share_it() -> None:
    world = world_with(tool("s", "t", 1), tool("s", "u", 1))

    with structlog.testing.capture_logs() as logged:  # what cannot be compiled says so, once
        for name in ("t", "u", "t"):
            world.validate(authorized(world, b"{}", name))

    assert len(logged) == 1


def test_a_schema_that_changes_is_compiled_anew() -> None:
    world = world_with(tool("s", "t", about({"type": "string"})))
    call = authorized(world, b'{"a":1}')
    with pytest.raises(BadCall):
        world.validate(call)

    world.offer({"s": [tool("s", "t", about({"type": "integer"}))]})

    world.validate(call)


class OneTool:
    """A catalogue whose one tool changes its schema."""

    def __init__(self) -> None:
        self.catalogue = Catalogue()

    def offer(self, schema: object) -> None:
        self.catalogue = Catalogue.build(1, {"s": [tool("s", "t", schema)]})


def test_a_server_that_changes_its_schemas_for_ever_fills_no_memory() -> None:
    world = world_with(tool("s", "t"))
    call = authorized(world, b"{}")
    source = OneTool()
    servers: ServerSource = world
    validate = Validator(source, servers, States(b"key"))

    def compiled(schemas: Iterator[object]) -> int:
        with structlog.testing.capture_logs() as logged:  # each of these says when it is compiled
            for schema in schemas:
                source.offer(schema)
                validate(call)
        return len(logged)

    assert compiled(iter(range(MOST_COMPILED))) == MOST_COMPILED
    assert compiled(iter([0])) == 0  # full, and it holds the first
    assert compiled(iter([-1, 0])) == 2  # one more, and it began anew


@pytest.mark.parametrize(
    ("config", "timeout"),
    [
        (ServerConfig(name="s"), 30.0),
        (ServerConfig(name="s", timeout=5), 5.0),
        (ServerConfig(name="s", timeout=9999), 600.0),
        (ServerConfig(name="s", timeout=5, tools={"t": ToolSettings(timeout=90)}), 90.0),
        (ServerConfig(name="s", timeout=5, tools={"t": ToolSettings(timeout=9999)}), 600.0),
        (ServerConfig(name="s", timeout=5, tools={"t": ToolSettings(retry="never")}), 5.0),
        (ServerConfig(name="s", timeout=5, tools={"u": ToolSettings(timeout=90)}), 5.0),
    ],
)
def test_a_call_has_the_time_that_its_tool_or_server_gives_it(
    config: ServerConfig, timeout: float
) -> None:
    # R24
    world = world_with(tool("s", "t"), config=config)

    assert world.validate(authorized(world, b"{}")).timeout == timeout


def test_a_tool_whose_server_is_away_says_which_and_why() -> None:
    world = world_with(tool("s", "t"))
    call = authorized(world, b"[]")  # never looked at

    world.offer({})

    with pytest.raises(UpstreamUnavailable) as away:
        world.validate(call)
    assert str(away.value) == ("s/t is not available now: server 's' is failed: it never came up")
    assert not away.value.sent


def test_a_tool_whose_server_is_declared_no_more_is_not_available() -> None:
    world = world_with(tool("s", "t"))
    call = authorized(world, b"{}")

    world.declare(declared([OPEN], []))

    with pytest.raises(UpstreamUnavailable, match="s/t is not available now"):
        world.validate(call)
