"""A list is made once for all who see the same, and goes out as it is kept, without a copy."""

import json
from asyncio import selector_events
from collections.abc import Iterable
from typing import Any

import pytest
from anyio.abc import ByteStream
from tests.doors.worlds import MODERN, World, envelope

Piece = bytes | bytearray | memoryview


@pytest.fixture
def gathered(monkeypatch: pytest.MonkeyPatch) -> list[Piece]:
    """What connections were given to send in pieces, in order."""
    pieces: list[Piece] = []
    transport: Any = vars(selector_events)["_SelectorSocketTransport"]
    writelines = transport.writelines

    def note(self: object, list_of_data: Iterable[Piece]) -> None:
        given = list(list_of_data)
        pieces.extend(given)
        writelines(self, given)

    monkeypatch.setattr(transport, "writelines", note)
    return pieces


def _request(number: int, *, modern: bool) -> bytes:
    body = {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/list",
        "params": {"_meta": envelope()} if modern else {},
    }
    data = json.dumps(body).encode()
    lines = [f"mcp-protocol-version: {MODERN}", "mcp-method: tools/list"] if modern else []
    head = "\r\n".join(
        (
            "POST /mcp HTTP/1.1",
            "host: localhost",
            "authorization: Bearer reader-key",
            "content-type: application/json",
            "accept: application/json, text/event-stream",
            *lines,
            f"content-length: {len(data)}",
        )
    )
    return f"{head}\r\n\r\n".encode() + data


async def _answer(line: ByteStream) -> dict[str, object]:
    data = b""
    while b"\r\n\r\n" not in data:
        data += await line.receive()
    head, _, body = data.partition(b"\r\n\r\n")
    size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < size:
        body += await line.receive()
    assert len(body) == size
    return json.loads(body)


@pytest.mark.parametrize("modern", [True, False], ids=["2026-07-28", "older"])
async def test_the_bytes_of_a_list_are_those_that_are_kept_each_time(
    files_world: World, line: ByteStream, gathered: list[Piece], modern: bool
) -> None:
    kept = files_world.listing.tools_json(files_world.keys["reader-key"], None, legacy=not modern)
    for number in (1, 2, 3):
        await line.send(_request(number, modern=modern))
        answer = await _answer(line)
        assert answer["id"] == number
        assert isinstance(answer["result"], dict)
        assert answer["result"]["tools"] == json.loads(kept)
        assert ("ttlMs" in answer["result"]) is modern  # until when it costs its client nothing

    assert sum(piece is kept for piece in gathered) == 3
