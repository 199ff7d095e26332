"""Sessions of the older eras: sealed, bound to their caller, good on every worker (T1 to R17)."""

import aiohttp
import pytest
from tests.doors.worlds import Wire, World, caller, initialize, message, serving

from remit.doors.mcp.sessions import LIFETIME, Sessions

ALICE = caller("alice", "reader")


def test_a_session_is_known_to_any_worker_with_the_key() -> None:
    session_id = Sessions(b"key").issue(ALICE, "files", "2025-06-18")

    session = Sessions(b"key").find(session_id, ALICE, "files")

    assert session is not None
    assert session.version == "2025-06-18"
    assert session_id.isascii()
    assert session_id.isprintable()


def test_a_session_is_unknown_to_anyone_and_anywhere_else() -> None:
    sessions = Sessions(b"key")
    session_id = sessions.issue(ALICE, None, "2025-11-25")

    assert sessions.find(session_id, caller("bob", "reader"), None) is None
    assert sessions.find(session_id, ALICE, "files") is None
    assert Sessions(b"other").find(session_id, ALICE, None) is None


def test_a_caller_whose_roles_changed_keeps_its_session() -> None:
    sessions = Sessions(b"key")
    session_id = sessions.issue(ALICE, None, "2025-11-25")

    assert sessions.find(session_id, caller("alice", "editor"), None) is not None


def test_no_character_of_a_session_can_be_altered() -> None:
    sessions = Sessions(b"key")
    session_id = sessions.issue(ALICE, None, "2025-11-25")

    for at, sign in enumerate(session_id):
        altered = session_id[:at] + ("x" if sign != "x" else "y") + session_id[at + 1 :]
        assert sessions.find(altered, ALICE, None) is None


@pytest.mark.parametrize("text", ["", "....", "a.b.c.d", "é.é.é.é", "2025-11-25.zz.00.", "x" * 99])
def test_what_is_no_session_is_unknown(text: str) -> None:
    assert Sessions(b"key").find(text, ALICE, None) is None


def test_an_old_session_is_unknown() -> None:
    now = [1_000_000.0]
    sessions = Sessions(b"key", now=lambda: now[0])
    session_id = sessions.issue(ALICE, None, "2025-11-25")

    now[0] += LIFETIME + 1

    assert sessions.find(session_id, ALICE, None) is None


def test_ended_sessions_are_remembered_up_to_a_bound() -> None:
    sessions = Sessions(b"key", most_ended=2)
    ids = [sessions.issue(ALICE, None, "2025-11-25") for _ in range(3)]
    for session_id in ids:
        session = sessions.find(session_id, ALICE, None)
        assert session is not None
        sessions.end(session.nonce)

    known = [sessions.find(session_id, ALICE, None) is not None for session_id in ids]

    assert known == [True, False, False]


async def test_a_session_survives_a_restart_and_another_worker(
    files_world: World, http: aiohttp.ClientSession, wire: Wire
) -> None:
    session_id = await wire.begin()

    async with serving(files_world) as other_worker:
        reply = await Wire(http, other_worker).send(
            message("tools/list"), headers={"Mcp-Session-Id": session_id}
        )

    assert reply.status == 200


@pytest.mark.parametrize("verb", ["POST", "GET", "DELETE"])
async def test_a_stolen_session_is_not_found(
    http: aiohttp.ClientSession, wire: Wire, verb: str
) -> None:
    session_id = await wire.begin()
    thief = Wire(http, wire.url, "editor-key")

    stolen = await thief.send(
        message("tools/list"), verb=verb, headers={"Mcp-Session-Id": session_id}
    )
    invented = await thief.send(
        message("tools/list"), verb=verb, headers={"Mcp-Session-Id": "invented"}
    )

    assert (stolen.status, stolen.body) == (404, invented.body)
    assert invented.status == 404


async def test_a_deleted_session_is_not_found(wire: Wire) -> None:
    session_id = await wire.begin()
    headers = {"Mcp-Session-Id": session_id}

    ended = await wire.send(verb="DELETE", headers=headers)
    after = await wire.send(message("ping"), headers=headers)
    again = await wire.send(verb="DELETE", headers=headers)

    assert (ended.status, after.status, again.status) == (200, 404, 404)
    assert after.error["code"] == -32001  # by which Claude Code tells it from another 404


async def test_a_session_header_that_comes_twice_is_not_found(
    http: aiohttp.ClientSession, wire: Wire
) -> None:
    session_id = await wire.begin()
    headers = [
        ("Authorization", "Bearer reader-key"),
        ("Mcp-Session-Id", session_id),
        ("Mcp-Session-Id", session_id),
    ]

    async with http.post(f"{wire.url}/mcp", json=message("ping"), headers=headers) as response:
        assert response.status == 404


async def test_a_client_that_keeps_no_session_is_served_request_by_request(wire: Wire) -> None:
    await wire.send(initialize())

    noted = await wire.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    listed = await wire.send(message("tools/list"), headers={"MCP-Protocol-Version": "2025-06-18"})

    assert (noted.status, noted.body) == (202, b"")
    assert listed.status == 200


@pytest.mark.parametrize("verb", ["GET", "DELETE"])
async def test_stream_and_end_need_a_session(wire: Wire, verb: str) -> None:
    reply = await wire.send(verb=verb)

    assert reply.status == 400
    assert "Mcp-Session-Id" in reply.error["message"]


async def test_a_stream_needs_a_client_that_takes_events(wire: Wire) -> None:
    headers = {"Mcp-Session-Id": await wire.begin(), "Accept": "application/json"}

    assert (await wire.send(verb="GET", headers=headers)).status == 406
