"""Whatever a tool is given, it answers in words of its own: no fault of ours, no wait without end.

Every argument of every one of the 49 tools that takes a text, a list or an object is given what
databases, paths, formats and logs choke on, the other arguments being right (S2.10, S2.45).
"""

import json
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from tests.data.test_every_tool import ROWS, World

from remit.testing.data_gateway import (
    Callers,
    DataCaller,
    DataGateway,
    open_callers,
    open_data_gateway,
)

REFUSALS: Final = {"INVALID_INPUT", "PERMISSION_DENIED", "RESOURCE_NOT_FOUND"}
"""What the caller could do better, and no fault of ours or of the database's."""

TEXTS: Final = (
    "\x00",
    "a\ud800",
    "'; DROP TABLE customers; --",
    "%s %(x)s {0} {{x}} ${HOME} ../../../etc/passwd \\",
    "\u202e\U0001f600" * 60,
    "x" * 90_000,
)


def hostile(schema: Mapping[str, Any]) -> Iterator[object]:
    """Give what a schema may let through and nobody means."""
    kind = schema.get("type")
    if kind == "string" and "enum" not in schema:
        yield from TEXTS
    elif kind == "array":
        items = schema.get("items", {})
        yield []
        if items.get("type") == "string":
            yield from ([text] for text in TEXTS)
            yield list(TEXTS[:2]) * 20
        for name, inner in items.get("properties", {}).items():
            filled = dict.fromkeys(items.get("required", ()), "customers")
            yield from ([{**filled, name: value}] for value in hostile(inner))
    elif kind == "object":
        yield from ({text: text} for text in TEXTS)
        yield {"city": [[[]]]}
    elif kind in {"integer", "number"}:
        yield from (2**63, -1, 1.0)
    elif kind is None:
        yield from (*TEXTS, 10**400, {"a": "\x00"}, [None])


@pytest.fixture(params=["sqlite", "postgresql"])
def gateway(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[DataGateway]:
    """Start one that keeps what it knows in a database of that kind."""
    url: str = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""
    with open_data_gateway(tmp_path, database_url=url) as gateway:
        yield gateway
    written = gateway.running.log.read_text()
    assert "Traceback" not in written, written


async def answered(caller: DataCaller, tool: str, arguments: Mapping[str, object]) -> None:
    """Call a tool by the JSON door, which takes halves of characters as they are written."""
    reply = await caller.caller.http.post(
        caller.caller.url.replace("/data", "/execute"),
        content=json.dumps({"toolName": f"mcp__data__{tool}", "input": arguments}),
        headers={
            "Authorization": f"Bearer {caller.caller.key}",
            "Content-Type": "application/json",
        },
    )
    told = reply.json()
    if not told["success"]:
        about = (tool, {name: repr(value)[:80] for name, value in arguments.items()}, told)
        assert told["error"]["code"] in REFUSALS, about


async def every_argument(callers: Callers) -> int:
    world, asked = World(callers), 0
    caller = callers.developer("harsh")
    listed = {each["name"]: each["inputSchema"] for each in await caller.caller.tools()}
    for tool, make in ROWS.items():
        right = await make(world)
        for name, schema in listed[tool]["properties"].items():
            for value in hostile(schema):
                await answered(caller, tool, {**right, name: value})
                asked += 1
    return asked


async def test_no_argument_is_too_much(gateway: DataGateway) -> None:
    async with open_callers(gateway) as callers:
        asked = await every_argument(callers)

    assert asked > 400
