"""A gateway in a process of its own, over a fixture server, and both clients of it."""

import json
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest
from tests.client.either import Either, open_either

from remit.testing.gateway import Running, fixture_entry, start_gateway

MIRRORED = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}
TOOLS: list[str | dict[str, Any]] = [
    "read",
    "delete",
    {
        "name": "slow",
        "title": "Slow",
        "description": "Takes its time.",
        "annotations": {"readOnlyHint": True},
        "x-fixture": {"progress": ['"progress":1,"total":2,"message":"half"', '"progress":2']},
    },
    {"name": "stuck", "x-fixture": {"progress": ['"progress":1'], "silent": True}},
    {"name": "silent", "x-fixture": {"silent": True}},
    {"name": "failing", "x-fixture": {"error": {"code": -32050, "message": "no such flight"}}},
    {"name": "picky", "x-fixture": {"error": {"code": -32602, "message": "Unknown customer"}}},
    {
        "name": "typed",
        "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
        "outputSchema": {"type": "object"},
        "x-fixture": {"result": {"content": [], "structuredContent": {"n": 3}}},
    },
    {"name": "query", "inputSchema": MIRRORED},
    {"name": "later", "x-fixture": {"rounds": 2}},
    {"name": "never", "x-fixture": {"rounds": 99}},
]
READERS = (
    "read",
    "slow",
    "silent",
    "stuck",
    "failing",
    "picky",
    "typed",
    "query",
    "later",
    "never",
)
HURRIED = ("asynchronous", "synchronous")
"""Roles that may make one call, each for the client of that kind."""

DOOMED: list[str | dict[str, Any]] = [{"name": "die", "x-fixture": {"exit": 3}}]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    folder = tmp_path_factory.mktemp("client")
    config = folder / "remit.yaml"
    document = {
        "version": "1.0",
        "mcp_servers": {
            "tools": fixture_entry(TOOLS, folder / "ran", session="shared"),
            "doomed": fixture_entry(DOOMED, folder / "doomed", session="shared"),
        },
        "roles": {
            "reader": {"tools": {"tools": [*READERS], "doomed": ["die"]}},
            **{role: {"tools": {"tools": ["later"]}} for role in HURRIED},
            "student": {"tools": {"tools": ["read"]}, "denials": "explain"},
        },
        "limits": [
            {"role": "student", "calls": 2, "per": "day"},
            *({"role": role, "calls": 1, "per": "day"} for role in HURRIED),
        ],
    }
    config.write_text(json.dumps(document))
    running = start_gateway(folder, config).settle()
    yield running
    running.stop()


@pytest.fixture
def count_file(gateway: Running) -> Path:
    """Where the fixture server writes down what it was asked."""
    return gateway.folder / "ran"


@pytest.fixture(params=["asynchronous", "synchronous"])
async def reader(gateway: Running, request: pytest.FixtureRequest) -> AsyncGenerator[Either]:
    async with open_either(request.param, gateway.base, key=gateway.key("reader")) as either:
        yield either
