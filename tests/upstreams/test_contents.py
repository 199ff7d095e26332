"""Prompts and resources that cannot be offered are left out alone, and cost no tools (T3)."""

import json
from pathlib import Path
from typing import Any

import pytest

from remit.model.contents import Kind
from remit.model.servers import ServerState
from remit.testing.fleets import call_tool, open_servers, status_of
from remit.testing.upstream import fixture_server_config, received
from remit.upstreams.contents import PROMPTS, RESOURCES, TEMPLATES, build_items

GOOD = {"name": "good", "uri": "x://good", "uriTemplate": "x://{good}"}


@pytest.mark.parametrize(
    ("which", "raw", "reason"),
    [
        (PROMPTS, b"42", "no object"),
        (PROMPTS, b"{}", "no name"),
        (PROMPTS, b'{"name":""}', "no name"),
        (PROMPTS, b'{"name":"\\ud800"}', "no text"),
        (PROMPTS, json.dumps(GOOD).encode(), "more than once"),
        (PROMPTS, b'{"name":"p","arguments":{}}', "no list"),
        (PROMPTS, b'{"name":"p","arguments":[{"required":true}]}', "has no name"),
        (RESOURCES, b'{"name":"r"}', "no uri"),
        (RESOURCES, b'{"uri":"x://r"}', "has no name"),
        (RESOURCES, json.dumps(GOOD).encode(), "more than once"),
        (TEMPLATES, b'{"name":"t"}', "no uriTemplate"),
    ],
)
def test_a_broken_entry_is_left_out_alone(which: Any, raw: bytes, reason: str) -> None:
    notes: list[str] = []
    good = json.dumps(GOOD).encode()

    items = build_items("s", which, [good, raw], notes.append)

    assert [item.wire for item in items] == [good]
    (note,) = notes
    assert "entry 2" in note
    assert reason in note


def test_what_a_prompt_requires_is_known() -> None:
    arguments = [{"name": "a", "required": True}, {"name": "b"}, {"name": "c", "required": False}]
    raw = json.dumps({"name": "p", "arguments": arguments}).encode()

    (prompt,) = build_items("s", PROMPTS, [raw], print)

    assert prompt.id == Kind.PROMPT.id("s", "p")
    assert prompt.required == ("a",)


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_a_server_that_keeps_silent_about_prompts_still_offers_its_tools(
    tmp_path: Path, era: str
) -> None:
    server = fixture_server_config(
        "s",
        ["work"],
        tmp_path / "ran",
        contents={"prompts": [{"name": "p"}]},
        options=("--era", era, "--silent", "prompts/list"),
        start_timeout=4.0,
    )
    async with open_servers(server) as fleet:
        status = status_of(fleet, "s")
        assert status.state is ServerState.READY
        assert b"work" in await call_tool(fleet, "s", "work", b"{}")
    assert any("prompts and resources could not be read" in note for note in status.notes)


async def test_a_server_is_not_asked_for_what_it_does_not_have(tmp_path: Path) -> None:
    count = tmp_path / "ran"
    async with open_servers(fixture_server_config("s", ["work"], count)) as fleet:
        assert fleet.catalogue.contents == {}
    asked = ("prompts/list", "resources/list", "resources/templates/list")
    assert [received(count, method) for method in asked] == [[], [], []]
