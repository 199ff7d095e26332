"""What HTTP and JSON-RPC ask of a request before anything is called (issue 2, 'must show')."""

import aiohttp
import anyio
import pytest
from tests.doors.worlds import (
    MODERN,
    UUID,
    Wire,
    World,
    envelope,
    initialize,
    message,
    modern_headers,
    serving,
)

from remit.model.declaration import HttpSettings


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"MCP-Protocol-Version": None}, "mcp-protocol-version"),
        ({"MCP-Protocol-Version": "2025-11-25"}, "mcp-protocol-version"),
        ({"Mcp-Method": None}, "mcp-method"),
        ({"Mcp-Method": "tools/list"}, "mcp-method"),
        ({"Mcp-Name": None}, "mcp-name"),
        ({"Mcp-Name": "files__delete"}, "mcp-name"),
    ],
)
async def test_a_header_that_differs_from_the_body_is_a_mismatch(
    files_world: World, wire: Wire, headers: dict[str, str | None], said: str
) -> None:
    reply = await wire.modern("tools/call", {"name": "files__read"}, headers=headers)

    assert (reply.status, reply.error["code"], reply.json["id"]) == (400, -32020, 1)
    assert said in reply.error["message"]
    assert files_world.fleet.ran == {}


async def test_a_routing_header_that_comes_twice_is_a_mismatch(
    http: aiohttp.ClientSession, wire: Wire
) -> None:
    full = {"name": "files__read", "_meta": envelope()}
    headers = [
        ("Authorization", "Bearer reader-key"),
        *((name, value) for name, value in modern_headers("tools/call", full).items() if value),
        ("Mcp-Name", "files__delete"),
    ]

    async with http.post(
        f"{wire.url}/mcp", json=message("tools/call", full), headers=headers
    ) as response:
        answer = await response.json()

    assert (response.status, answer["error"]["code"]) == (400, -32020)


async def test_an_unknown_revision_is_told_which_ones_there_are(wire: Wire) -> None:
    meta = envelope(**{"io.modelcontextprotocol/protocolVersion": "2099-01-01"})

    reply = await wire.modern(
        "tools/list", {"_meta": meta}, headers={"MCP-Protocol-Version": "2099-01-01"}
    )

    assert (reply.status, reply.error["code"]) == (400, -32022)
    assert reply.error["data"] == {"supported": [MODERN], "requested": "2099-01-01"}


@pytest.mark.parametrize(
    "meta", [None, {}, "text", {"io.modelcontextprotocol/protocolVersion": MODERN}]
)
async def test_a_modern_request_without_its_envelope_is_invalid(wire: Wire, meta: object) -> None:
    params = {} if meta is None else {"_meta": meta}

    reply = await wire.send(
        message("tools/list", params), headers=modern_headers("tools/list", params)
    )

    assert (reply.status, reply.error["code"]) == (400, -32602)


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        (b"[]", -32600, "batches"),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, "batches"),
        (b"{", -32700, "JSON"),
        (b"", -32700, "JSON"),
        (b"\xff", -32700, "UTF-8"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\xff"}}', -32700, "UTF-8"),
        (b"[" * 100_000, -32700, "JSON"),
        (b"null", -32600, "object"),
        (b'"text"', -32600, "object"),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, "id"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, "id"),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, "id"),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, "id"),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600, "jsonrpc"),
        (b'{"id":1,"method":"ping"}', -32600, "jsonrpc"),
        (b'{"jsonrpc":"2.0","id":1}', -32600, "method"),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600, "method"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602, "params"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":NaN}', -32700, "JSON"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"} x', -32700, "JSON"),
    ],
)
async def test_what_is_no_message_is_answered_with_what_is_wrong(
    wire: Wire, body: bytes, code: int, said: str
) -> None:
    reply = await wire.send(body)

    assert (reply.status, reply.error["code"]) == (400, code)
    assert said in reply.error["message"]


@pytest.mark.parametrize("raw_id", [b'"a\\u0062"', b"-7", b"9007199254740993", b'"\\ud800"', b'""'])
async def test_an_id_comes_back_byte_for_byte(wire: Wire, raw_id: bytes) -> None:
    reply = await wire.send(b'{"jsonrpc":"2.0","id": %b ,"method":"ping"}' % raw_id)

    assert reply.body == b'{"jsonrpc":"2.0","id":%b,"result":{}}' % raw_id


async def test_of_a_repeated_member_the_last_is_decided_on_and_nothing_else_is_forwarded(
    files_world: World, wire: Wire
) -> None:
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files__delete",'
        b'"arguments":{"a":1},"name":"files__read","arguments":{"b":2},"task":{"ttl":1}}}'
    )

    reply = await wire.send(body)

    assert reply.result["content"][0]["text"] == "done"
    assert files_world.fleet.received == [(b'{"b":2}', b"")]


async def test_a_body_over_four_mebibytes_is_refused_whole(wire: Wire) -> None:
    reply = await wire.send(b" " * (4 * 1024 * 1024 + 1))

    assert reply.status == 413
    assert "4194304" in reply.error["message"]


async def test_a_body_that_is_announced_and_does_not_come_is_not_waited_for_long(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.doors.asgi.BODY_TIME", 0.05)
    host, port = wire.url.removeprefix("http://").split(":")
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer reader-key\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    with anyio.fail_after(20):
        async with await anyio.connect_tcp(host, int(port)) as stream:
            await stream.send(head.encode())
            answer = await stream.receive()

    assert answer.startswith(b"HTTP/1.1 408 ")


async def test_a_body_of_unknown_length_is_refused_as_it_grows(
    http: aiohttp.ClientSession, wire: Wire
) -> None:
    async def chunks():  # noqa: ANN202 - aiohttp's own type of it is private
        for _ in range(5):
            yield b" " * 1024 * 1024

    headers = {"Authorization": "Bearer reader-key", "Content-Type": "application/json"}
    async with http.post(f"{wire.url}/mcp", data=chunks(), headers=headers) as response:
        assert response.status == 413


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/jsonx", "application/x-www-form-urlencoded"]
)
async def test_a_message_of_another_content_type_is_refused(wire: Wire, kind: str | None) -> None:
    reply = await wire.send(initialize(), headers={"Content-Type": kind})

    assert reply.status == 415


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON ;a=b"])
async def test_a_content_type_is_read_without_parameters_in_any_letters(
    wire: Wire, kind: str
) -> None:
    assert (await wire.send(initialize(), headers={"Content-Type": kind})).status == 200


@pytest.mark.parametrize(
    ("accept", "status", "kind"),
    [
        ("application/json, text/event-stream", 200, "application/json"),
        ("application/json", 200, "application/json"),
        ("*/*", 200, "application/json"),
        ("application/*", 200, "application/json"),
        ("Application/JSON ; q=1", 200, "application/json"),
        ("text/event-stream", 200, "text/event-stream"),
        ("text/*", 200, "text/event-stream"),
        ("text/html", 406, "application/json"),
        ("application/jsonx", 406, "application/json"),
    ],
)
async def test_the_answer_has_the_form_that_the_client_accepts(
    wire: Wire, accept: str, status: int, kind: str
) -> None:
    reply = await wire.send(initialize(), headers={"Accept": accept})

    assert (reply.status, reply.headers["content-type"]) == (status, kind)
    if kind == "text/event-stream":
        assert reply.body.startswith(b'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":')
        assert reply.body.endswith(b"}\n\n")


async def test_a_client_that_takes_events_only_gets_its_session_too(wire: Wire) -> None:
    reply = await wire.send(initialize(), headers={"Accept": "text/event-stream"})

    assert "mcp-session-id" in reply.headers


async def test_what_is_accepted_may_stand_on_several_lines(
    http: aiohttp.ClientSession, wire: Wire
) -> None:
    headers = [
        ("Authorization", "Bearer reader-key"),
        ("Accept", "text/html"),
        ("Accept", "application/json;q=0.5"),
    ]

    async with http.post(f"{wire.url}/mcp", json=initialize(), headers=headers) as response:
        assert response.status == 200


@pytest.mark.parametrize(
    ("method", "status"), [("roots/list", 404), ("ping", 404), ("initialize", 404), ("x", 404)]
)
async def test_an_unknown_method_is_not_found_in_the_modern_era(
    wire: Wire, method: str, status: int
) -> None:
    reply = await wire.modern(method)

    assert (reply.status, reply.error["code"]) == (status, -32601)


@pytest.mark.parametrize("method", ["roots/list", "tasks/list"])
async def test_an_unknown_method_is_a_plain_error_in_the_older_eras(
    wire: Wire, method: str
) -> None:
    reply = await wire.send(message(method))

    assert (reply.status, reply.error["code"]) == (200, -32601)


async def test_a_cursor_that_was_never_given_is_invalid(wire: Wire) -> None:
    reply = await wire.modern("tools/list", {"cursor": "page-2"})

    assert (reply.status, reply.error["code"]) == (400, -32602)


@pytest.mark.parametrize("params", [{}, {"name": 5}, {"name": None}, {"name": ["x"]}])
async def test_a_call_without_a_name_is_invalid(wire: Wire, params: dict[str, object]) -> None:
    reply = await wire.send(message("tools/call", params))

    assert (reply.status, reply.error["code"]) == (200, -32602)
    assert "name" in reply.error["message"]


async def test_a_modern_notification_is_taken_and_dropped(wire: Wire) -> None:
    body = b'{"jsonrpc":"2.0","method":"notifications/cancelled"}'

    taken = await wire.send(body, headers={"MCP-Protocol-Version": MODERN})
    refused = await wire.send(body, headers={"MCP-Protocol-Version": "2099-01-01"})

    assert (taken.status, taken.body) == (202, b"")
    assert (refused.status, refused.error["code"]) == (400, -32022)


async def test_a_modern_response_is_invalid_and_an_older_one_is_ignored(wire: Wire) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"result":{}}'

    modern = await wire.send(body, headers={"MCP-Protocol-Version": MODERN})
    legacy = await wire.send(body)

    assert (modern.status, modern.error["code"]) == (400, -32600)
    assert legacy.status == 202


@pytest.mark.parametrize("verb", ["GET", "DELETE"])
async def test_the_modern_era_has_post_only(wire: Wire, verb: str) -> None:
    reply = await wire.send(verb=verb, headers={"MCP-Protocol-Version": MODERN})

    assert (reply.status, reply.headers["allow"]) == (405, "POST")


async def test_other_verbs_are_not_allowed(wire: Wire) -> None:
    reply = await wire.send(verb="PUT")

    assert (reply.status, reply.headers["allow"]) == (405, "GET, POST, DELETE")


@pytest.mark.parametrize(
    "path",
    [
        "/mcp/execute/more",
        "/mcp/a/b",
        "/mcp//",
        "/mcp/.hidden",
        f"/mcp/{UUID}/execute/more",
        f"/mcp/{UUID}/{UUID}",
        f"/mcp/{UUID}/files/{UUID}",
    ],
)
async def test_what_is_no_endpoint_is_not_found(wire: Wire, path: str) -> None:
    reply = await wire.send(initialize(), path=path)

    assert reply.status == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:9"}, 200),
        ({"Host": "LocalHost:9"}, 200),
        ({"Host": "[::1]:9"}, 200),
        ({"Host": "127.8.0.1"}, 200),
        ({"Host": ""}, 421),
        ({"Host": "evil.example.test"}, 421),
        ({"Host": "127.0.0.1.evil.example.test"}, 421),
        ({"Host": "localhost:80@evil.example.test"}, 421),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Origin": "https://127.0.0.1"}, 200),
        ({"Origin": "https://app.example.test"}, 200),
        ({"Origin": "https://evil.example.test"}, 403),
        ({"Origin": "http://localhost:80@evil.example.test"}, 403),
        ({"Origin": "https://app.example.test.evil.example.test"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "chrome-extension://localhost"}, 403),
        ({"Host": "gateway.example.test", "Origin": "https://gateway.example.test"}, 200),
    ],
)
async def test_pages_that_reach_for_a_gateway_on_loopback_are_turned_away(
    files_world: World, http: aiohttp.ClientSession, headers: dict[str, str | None], status: int
) -> None:
    files_world.http = HttpSettings(
        public_url="https://gateway.example.test",
        allowed_origins=("https://app.example.test/",),
    )
    async with serving(files_world) as url:
        reply = await Wire(http, url).send(initialize(), headers=headers)

    assert reply.status == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": ""}, 421),
        ({"Host": "localhost:80@evil.example.test"}, 421),
        ({"Host": "evil.example.test"}, 421),
        ({"Origin": ":"}, 403),
    ],
)
async def test_a_gateway_without_a_public_url_is_known_by_names_of_loopback_alone(
    wire: Wire, headers: dict[str, str], status: int
) -> None:
    reply = await wire.send(initialize(), headers=headers)

    assert reply.status == status


async def test_a_gateway_open_to_the_network_checks_origins_but_no_host_names(
    files_world: World, http: aiohttp.ClientSession
) -> None:
    files_world.is_loopback = False
    async with serving(files_world) as url:
        wire = Wire(http, url)
        host = await wire.send(initialize(), headers={"Host": "any.example.test"})
        origin = await wire.send(initialize(), headers={"Origin": "http://localhost:3000"})

    assert (host.status, origin.status) == (200, 403)
