"""T1 and R14: listed is callable, hidden is not, and hidden looks like never heard of."""

import json
import re

import pytest
from aiohttp import ClientSession
from tests.doors.worlds import Wire, World, message

from remit.model.events import AuditEvent

REQUEST_ID = re.compile(rb'"requestId":"[0-9a-f-]{36}"')


def but_for_ids(body: bytes) -> bytes:
    """Return an answer without the one part that may differ."""
    cut, count = REQUEST_ID.subn(b'"requestId":""', body)
    assert count == 1
    return cut


async def exposed_names(http: ClientSession, url: str, key: str, path: str = "/mcp") -> list[str]:
    reply = await Wire(http, url, key).modern("tools/list", path=path)
    return [entry["name"] for entry in reply.result["tools"]]


def spellings_of(exposed: str) -> list[str]:
    """T1 b to e."""
    return [
        exposed,
        "delete",
        "DELETE",
        exposed.upper(),
        exposed.title(),
        f" {exposed}",
        f"{exposed} ",
        f"{exposed}\0",
        f"\0{exposed}",
        exposed.replace("d", "ｄ"),  # noqa: RUF001 - a full-width letter is what T1 asks for
    ]


async def test_the_reader_sees_exactly_what_it_may_use(wire: Wire) -> None:
    reply = await wire.modern("tools/list")

    assert sorted(t["name"] for t in reply.result["tools"]) == ["files__list", "files__read"]
    assert b"delete" not in reply.body


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_every_spelling_of_a_hidden_tool_is_refused_like_a_name_nobody_has(
    files_world: World, wire: Wire, http: ClientSession, era: str
) -> None:
    exposed = next(
        name for name in await exposed_names(http, wire.url, "editor-key") if "delete" in name
    )

    async def answer(name: str) -> tuple[int, bytes]:
        if era == "modern":
            reply = await wire.call(name, {"path": "x"})
        else:
            reply = await wire.send(
                message("tools/call", {"name": name, "arguments": {"path": "x"}})
            )
        return reply.status, but_for_ids(reply.body)

    expected = await answer("no_such_tool")
    answers = [await answer(name) for name in spellings_of(exposed)]

    assert answers == [expected] * len(answers)
    assert json.loads(expected[1])["error"]["code"] == -32602
    assert expected[0] == (400 if era == "modern" else 200)
    assert files_world.fleet.ran == {}
    assert_all_denied(files_world.audit.events, len(answers) + 1)


@pytest.mark.parametrize("name", ["delete", "files__delete", "files/delete", "mcp__files__delete"])
async def test_a_hidden_tool_is_as_unknown_at_its_servers_own_endpoint(
    files_world: World, wire: Wire, name: str
) -> None:
    hidden = await wire.call(name, path="/mcp/files")
    unknown = await wire.call("no_such_tool", path="/mcp/files")

    assert but_for_ids(hidden.body) == but_for_ids(unknown.body)
    assert files_world.fleet.ran == {}


async def test_a_denial_carries_the_id_by_which_the_record_tells_the_rule(
    files_world: World, wire: Wire
) -> None:
    reply = await wire.call("files__delete")

    (event,) = files_world.audit.events
    assert event.call_id == reply.error["data"]["requestId"]
    assert (event.server, event.tool, event.decision) == ("files", "delete", "deny")
    assert (event.layer, event.revision) == ("ceiling", 1)


async def test_an_invisible_server_and_an_unknown_one_answer_alike(wire: Wire) -> None:
    answers = [
        (
            (await wire.modern("tools/list", path=path)).body,
            (await wire.modern("server/discover", path=path)).body,
            but_for_ids((await wire.call("add", path=path)).body),
        )
        for path in ("/mcp/notes", "/mcp/never-declared")
    ]

    assert answers[0] == answers[1]
    assert json.loads(answers[0][0])["result"]["tools"] == []
    assert "empty by policy" in json.loads(answers[0][1])["result"]["instructions"]


async def test_a_role_that_explains_denials_is_told_the_rule_of_a_real_tool_only(
    wire: Wire, http: ClientSession
) -> None:
    student = Wire(http, wire.url, "student-key")

    refused = (await student.call("files__delete")).error["data"]
    unknown = (await student.call("no_such_tool")).error["data"]

    assert set(refused) == {"requestId", "reason", "layer", "rule", "ask"}
    assert refused["layer"] == "ceiling"
    assert "administrator" in refused["ask"]
    assert set(unknown) == {"requestId"}


async def test_a_tool_of_another_server_cannot_be_reached_through_a_servers_endpoint(
    files_world: World, http: ClientSession, wire: Wire
) -> None:
    editor = Wire(http, wire.url, "editor-key")

    reply = await editor.call("notes__add", path="/mcp/files")

    assert reply.error["message"] == "Unknown tool"
    assert files_world.fleet.ran == {}


async def test_bad_arguments_of_a_hidden_tool_tell_nothing(wire: Wire) -> None:
    hidden = await wire.call("files__delete", ["no object"])
    unknown = await wire.call("no_such_tool", ["no object"])

    assert but_for_ids(hidden.body) == but_for_ids(unknown.body)


def assert_all_denied(events: list[AuditEvent], count: int) -> None:
    assert len(events) == count
    assert {event.decision for event in events} == {"deny"}
    assert {event.principal for event in events} == {"key:r"}
    assert len({event.call_id for event in events}) == count
