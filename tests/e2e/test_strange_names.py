"""Long and strange tool names: published in one alphabet, called under their own (T3, R3)."""

import re
from pathlib import Path
from typing import Any

import httpx2
from tests.e2e.conftest import Serve

from remit.testing.gateway import Caller, Running, fixture_entry
from remit.testing.upstream import executed

SERVER = "a-server-with-a-name-of-forty-characters"
NAMES = [
    "n" * 66 + "AAAA",
    "n" * 66 + "BBBB",
    "with.dot",
    "with/slash",
    "with:colon",
    "with space",
    "naïve_ß",
    "工具",
]
LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")


def document(folder: Path, names: list[str]) -> dict[str, Any]:
    tools = [
        {"name": name, "title": f"Title of {name}", "description": f"What {name} does."}
        for name in names
    ]
    return {
        "version": "1.0",
        "mcp_servers": {SERVER: fixture_entry(tools, folder / "ran")},
        "roles": {"anything": {"allow": [f"{SERVER}/*"]}},
    }


async def published(caller: Caller) -> dict[str, str]:
    """Return original name, which title and description keep, to published name."""
    names: dict[str, str] = {}
    for tool in await caller.tools():
        original = tool["title"].removeprefix("Title of ")
        assert tool["description"] == f"What {original} does."
        names[original] = tool["name"]
    return names


async def called(running: Running, http: httpx2.AsyncClient, path: str) -> dict[str, str]:
    """Call every tool of an endpoint under its published name; return original to published."""
    count_file = running.folder / "ran"
    caller = Caller(http, running.base + path, running.keys["anything"])
    names = await published(caller)
    for original, name in names.items():
        before = len(executed(count_file))
        assert "result" in await caller.call(name, {"from": path})
        (call,) = executed(count_file)[before:]
        assert (call.name, call.arguments) == (original, {"from": path})
    return names


async def test_t3_names_are_legal_apart_and_reach_the_server_as_they_were_also_after_a_restart(
    tmp_path: Path, serve: Serve, http: httpx2.AsyncClient
) -> None:
    first = serve(document(tmp_path, [*NAMES[:4], "", *NAMES[4:]])).settle()
    first.key("anything")
    paths = ["/mcp", f"/mcp/{SERVER}"]

    before = [await called(first, http, path) for path in paths]
    notes = first.servers()[SERVER]["notes"]
    first.stop()
    # In the other order, since the order of the server's list must not matter either.
    again = serve(document(tmp_path, NAMES[::-1])).settle()
    again.keys = first.keys
    after = [await called(again, http, path) for path in paths]

    assert len(SERVER) == 40
    for names in before:
        assert set(names) == set(NAMES)
        assert len(set(names.values())) == len(NAMES)
        assert all(LEGAL.fullmatch(name) for name in names.values())
    assert after == before
    # The tool without a name is left out alone, and both administrator and log are told why.
    assert notes == ["left out entry 5 of its list: it has no name"]
    assert notes[0] in first.log.read_text()
