"""One table from what went wrong to what the caller is told (R14, R22, R23, R29)."""

import json

import pytest
from aiohttp import ClientSession
from tests.doors.worlds import Reply, Wire, World, build_world, caller, message, serving, tool

from remit.errors import RemitError, UpstreamProtocolError, UpstreamTimeout, UpstreamUnavailable
from remit.model.limits import Limit
from remit.model.roles import Role


async def failing(world: World, wire: Wire, error: Exception, era: str = "modern") -> Reply:
    async def fail(_: bytes, __: bytes) -> bytes:
        raise error

    world.fleet.behaviours["files/read"] = fail
    if era == "modern":
        return await wire.call("files__read", {})
    return await wire.send(message("tools/call", {"name": "files__read"}))


@pytest.mark.parametrize(
    ("error", "code", "outcome"),
    [
        (UpstreamUnavailable("connection refused"), "UPSTREAM_UNAVAILABLE", None),
        (UpstreamUnavailable("it went away", sent=True), "UPSTREAM_UNAVAILABLE", "unknown"),
        (UpstreamTimeout("no answer in 30 s", sent=True), "UPSTREAM_TIMEOUT", "unknown"),
        (UpstreamProtocolError("the answer is nonsense"), "INTERNAL_ERROR", None),
    ],
)
async def test_a_server_that_fails_is_a_result_from_which_the_model_can_recover(
    files_world: World, wire: Wire, error: RemitError, code: str, outcome: str | None
) -> None:
    for era in ("modern", "legacy"):
        reply = await failing(files_world, wire, error, era)

        assert reply.status == 200
        assert reply.result["isError"] is True
        assert reply.result["content"][0]["text"].startswith(str(error))
        meta = reply.result["_meta"]
        assert (meta["remit/code"], meta.get("remit/outcome")) == (code, outcome)
        assert meta["remit/requestId"] == files_world.audit.events[-1].call_id
        assert ("resultType" in reply.result) is (era == "modern")


async def test_bad_arguments_are_a_result_that_names_the_field(http: ClientSession) -> None:
    schema = {"type": "object", "properties": {"depth": {"type": "integer"}}}
    world = build_world(
        {"files": [tool("files", "read", schema)]},
        [Role(name="reader", tools={"files": ("read",)})],
        {"reader-key": caller("r", "reader")},
    )
    async with serving(world) as url:
        reply = await Wire(http, url).call("files__read", {"depth": "deep sea"})

    assert reply.result["isError"] is True
    assert reply.result["_meta"]["remit/code"] == "INVALID_INPUT"
    assert "depth" in reply.result["content"][0]["text"]
    assert b"deep sea" not in reply.body
    assert world.fleet.ran == {}


@pytest.mark.parametrize(
    ("sent", "modern", "legacy"),
    [
        ({"code": -32602, "message": "m", "data": [1]}, (-32602, "m", [1]), (-32602, "m", [1])),
        ({"code": -32002, "message": "gone"}, (-32602, "gone", None), (-32602, "gone", None)),
        ({"code": 7, "message": "own", "data": "d"}, (7, "own", "d"), (7, "own", "d")),
        (
            {"code": -32042, "message": "open this", "data": "link"},
            (-32603, "open this", None),
            (-32042, "open this", "link"),
        ),
        ({"code": -32601, "message": "x"}, (-32603, "x", None), (-32603, "x", None)),
        ({"code": -32020, "message": "x"}, (-32603, "x", None), (-32603, "x", None)),
        ({"code": -32603, "message": "half \ud800"}, *[(-32603, "half \ud800", None)] * 2),
    ],
)
async def test_a_servers_own_error_is_relayed_where_it_can_be_the_callers(
    files_world: World,
    wire: Wire,
    sent: dict[str, object],
    modern: tuple[int, str, object],
    legacy: tuple[int, str, object],
) -> None:
    error = UpstreamProtocolError("internal words", rpc_error=json.dumps(sent).encode())

    for era, expected in (("modern", modern), ("legacy", legacy)):
        said = (await failing(files_world, wire, error, era)).error
        assert (said["code"], said["message"], said.get("data")) == expected


@pytest.mark.parametrize("rpc_error", [b"[]", b'{"code":"x","message":"m"}', b'{"code":1}', b"{"])
async def test_a_servers_error_that_is_none_is_a_plain_failure(
    files_world: World, wire: Wire, rpc_error: bytes
) -> None:
    error = UpstreamProtocolError("the answer is nonsense", rpc_error=rpc_error)

    assert (await failing(files_world, wire, error)).result["isError"] is True


async def test_a_call_that_cannot_be_recorded_is_not_made_and_says_nothing_of_storage(
    files_world: World, wire: Wire
) -> None:
    files_world.audit.is_broken = True

    reply = await wire.call("files__read", {})

    assert reply.result["isError"] is True
    assert "not made" in reply.result["content"][0]["text"]
    assert b"secret" not in reply.body
    assert files_world.fleet.ran == {}


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_a_fault_of_our_own_is_an_internal_error_with_an_id_and_no_details(
    files_world: World, wire: Wire, era: str
) -> None:
    reply = await failing(files_world, wire, RuntimeError("secret place"), era)

    assert (reply.status, reply.error["code"]) == (200, -32603)
    assert reply.error["message"] == "Internal error"
    assert reply.error["data"] == {"requestId": files_world.audit.events[-1].call_id}
    assert b"secret" not in reply.body


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_a_call_that_comes_too_often_is_a_result_that_says_when_to_come_again(
    http: ClientSession, era: str
) -> None:
    # T23, R22
    world = build_world(
        {"files": [tool("files", "read")]},
        [Role(name="reader", tools={"files": ("read",)})],
        {"reader-key": caller("r", "reader")},
        limits=(Limit(calls=1, seconds=60),),
    )
    async with serving(world) as url:
        wire = Wire(http, url)
        replies = [
            await wire.call("files__read", {})
            if era == "modern"
            else await wire.send(message("tools/call", {"name": "files__read"}))
            for _ in range(2)
        ]

    result = replies[1].result
    assert "isError" not in replies[0].result
    assert (replies[1].status, result["isError"]) == (200, True)
    meta = result["_meta"]
    assert meta["remit/code"] == "LIMIT_REACHED"
    assert meta["remit/requestId"] == world.audit.events[-1].call_id
    assert 1 <= meta["remit/retry_after"] <= 60
    assert result["content"][0]["text"] == (
        "limit reached: at most 1 call per minute (limits[0]); the call was not made,"
        f" retry after {meta['remit/retry_after']} s"
    )
    assert ("resultType" in result) is (era == "modern")
