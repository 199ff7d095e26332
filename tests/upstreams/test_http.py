"""Streamable HTTP in both eras, against a fixture on a real socket."""

import json
import ssl
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import pytest
from tests.upstreams.served import RESULTS

from remit.errors import UpstreamProtocolError, UpstreamTimeout, UpstreamUnavailable
from remit.model.servers import ServerConfig, ServerState, Transport
from remit.testing.fleets import BRISK, call_tool, eventually, open_servers, status_of
from remit.testing.raw import CLOSE, Step, open_raw_server
from remit.testing.upstream import (
    FixtureOptions,
    WebFixture,
    executed,
    open_web_fixture,
    received,
)
from remit.upstreams.fleet import Fleet

LONE = '{"content":[],"structuredContent":{"lone":"\\ud800","big":9007199254740993, "x":1e-7}}'


def _options(ran: Path, *tools: str | Mapping[str, Any], **more: Any) -> FixtureOptions:
    return FixtureOptions(tools=tools or ("t",), count_file=str(ran), **more)


def _config(url: str, **more: Any) -> ServerConfig:
    return ServerConfig(name="s", transport=Transport.HTTP, url=url, **more)


@pytest.mark.parametrize("streams", [False, True], ids=["json", "stream"])
@pytest.mark.parametrize(
    ("era", "protocol"),
    [("modern", "2026-07-28"), ("legacy", "2025-11-25"), ("both", "2026-07-28")],
)
async def test_a_call_goes_through_in_either_era(
    ran: Path, era: str, protocol: str, streams: bool
) -> None:
    tool = {"name": "t", "x-fixture": {"result_json": LONE}}
    with open_web_fixture(_options(ran, tool, "u", era=era, streams=streams)) as fixture:
        async with open_servers(_config(fixture.url)) as fleet:
            assert status_of(fleet, "s").protocol == protocol
            assert await call_tool(fleet, "s", "t") == LONE.encode()
            assert b"u {" in await call_tool(fleet, "s", "u", b'{"a":1}')
    assert [call.name for call in executed(ran)] == ["t", "u"]


async def test_a_modern_request_is_described_by_its_headers(ran: Path) -> None:
    # protocol.md 1.2
    schema = {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    }
    tool = {"name": "prüfen", "inputSchema": schema}
    with open_web_fixture(_options(ran, tool, era="modern")) as fixture:
        async with open_servers(_config(fixture.url, headers={"X-Own": "mine"})) as fleet:
            await call_tool(fleet, "s", "prüfen", b'{"region":"eu"}', meta=b'{"a":1}')
    (message,) = received(ran, "tools/call")
    headers = message["headers"]
    assert headers["mcp-method"] == "tools/call"
    assert headers["mcp-name"] == "=?base64?cHLDvGZlbg==?="
    assert headers["mcp-protocol-version"] == "2026-07-28"
    assert headers["mcp-param-region"] == "eu"
    assert headers["x-own"] == "mine"
    assert {"application/json", "text/event-stream"} <= set(headers["accept"].split(", "))
    assert message["params"]["_meta"]["a"] == 1


async def test_a_legacy_session_is_opened_used_and_given_back(ran: Path) -> None:
    with open_web_fixture(_options(ran, era="legacy")) as fixture:
        async with open_servers(_config(fixture.url)) as fleet:
            await call_tool(fleet, "s", "t")
            (session,) = fixture.sessions
        assert fixture.sessions == set()
    (opening,) = received(ran, "initialize")
    assert "mcp-session-id" not in opening["headers"]
    assert "mcp-protocol-version" not in opening["headers"]
    for method in ("notifications/initialized", "tools/list", "tools/call"):
        (message,) = received(ran, method)
        assert message["headers"]["mcp-session-id"] == session
        assert message["headers"]["mcp-protocol-version"] == "2025-11-25"


async def test_a_legacy_server_without_sessions_needs_none(ran: Path) -> None:
    with open_web_fixture(_options(ran, era="legacy", sessions=False)) as fixture:
        async with open_servers(_config(fixture.url)) as fleet:
            assert b"content" in await call_tool(fleet, "s", "t")


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (404, b"Session not found"),
        (400, b"Bad Request: No valid session ID provided"),
        (400, b"Bad Request: Server not initialized"),
        (401, b"Unauthorized: Session not found"),
    ],
)
async def test_a_forgotten_session_is_opened_once_for_all_and_every_call_runs_once(
    ran: Path, status: int, said: bytes
) -> None:
    # T10
    with open_web_fixture(_options(ran, era="legacy")) as fixture:
        fixture.unknown_session, fixture.unknown_said = status, said
        async with open_servers(_config(fixture.url)) as fleet:
            await call_tool(fleet, "s", "t")
            fixture.forget_sessions()
            async with anyio.create_task_group() as tasks:
                for _ in range(10):
                    tasks.start_soon(call_tool, fleet, "s", "t")
            assert status_of(fleet, "s").state is ServerState.READY
    assert len(received(ran, "initialize")) == 2
    assert len(executed(ran)) == 11


async def test_a_server_that_answers_503_is_not_taken_for_one_that_forgot(ran: Path) -> None:
    with open_web_fixture(_options(ran, era="legacy")) as fixture:
        fixture.unknown_session = 503
        async with open_servers(_config(fixture.url)) as fleet:
            session = fixture.sessions.copy()
            fixture.forget_sessions()
            with pytest.raises(UpstreamUnavailable, match="server 's' answered HTTP 503"):
                await call_tool(fleet, "s", "t")
            fixture.sessions |= session
            await call_tool(fleet, "s", "t")
    assert len(received(ran, "initialize")) == 1


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_refused_credentials_are_named_and_start_no_new_session(ran: Path, era: str) -> None:
    # T10
    with open_web_fixture(_options(ran, era=era)) as fixture:
        async with open_servers(_config(fixture.url)) as fleet:
            await call_tool(fleet, "s", "t")
            opened = len(received(ran, "initialize"))
            fixture.status = 401
            for _ in range(5):
                with pytest.raises(
                    UpstreamUnavailable, match=r"server 's' .*credentials"
                ) as caught:
                    await call_tool(fleet, "s", "t")
                assert not caught.value.sent
            assert len(received(ran, "initialize")) == opened
            await eventually(lambda: status_of(fleet, "s").state is ServerState.BACKING_OFF)
            assert "bearer_token_env_var" in status_of(fleet, "s").reason
            assert fleet.catalogue.by_server == {}
            fixture.status = 0
            await eventually(lambda: status_of(fleet, "s").state is ServerState.READY)
            await call_tool(fleet, "s", "t")
    assert len(executed(ran)) == 2


async def test_credentials_refused_at_the_start_are_the_reason(ran: Path) -> None:
    with open_web_fixture(_options(ran)) as fixture:
        fixture.status = 401
        async with open_servers(_config(fixture.url)) as fleet:
            status = status_of(fleet, "s")
            assert status.state is ServerState.BACKING_OFF
            assert "credentials" in status.reason
    assert received(ran, "initialize") == []


async def test_a_server_that_goes_away_takes_its_tools_along_and_brings_them_back(
    ran: Path,
) -> None:
    # T10, T12: connection refused for a while.
    with open_web_fixture(_options(ran, era="legacy")) as fixture:
        async with open_servers(_config(fixture.url)) as fleet:
            version = fleet.catalogue.version
            fixture.stop()
            with pytest.raises(UpstreamUnavailable, match="server 's'"):
                await call_tool(fleet, "s", "t")
            gone = await fleet.changed(version)
            assert gone.tools == {}
            assert "connection refused" in status_of(fleet, "s").reason
            with pytest.raises(UpstreamUnavailable, match="server 's' cannot be reached") as caught:
                await call_tool(fleet, "s", "t")
            assert not caught.value.sent
            fixture.start()
            back = await fleet.changed(gone.version)
            assert len(back.tools) == 1
            await call_tool(fleet, "s", "t")


async def test_a_modern_call_out_of_time_is_dropped_and_a_legacy_one_cancelled(ran: Path) -> None:
    slow = {"name": "slow", "x-fixture": {"delay": 1.0}}
    for era in ("modern", "legacy"):
        with open_web_fixture(_options(ran, slow, era=era)) as fixture:
            async with open_servers(_config(fixture.url)) as fleet:
                with pytest.raises(UpstreamTimeout) as caught:
                    await call_tool(fleet, "s", "slow", within=0.1)
                assert caught.value.sent
                if era == "legacy":
                    await eventually(lambda: received(ran, "notifications/cancelled"))
    (cancelled,) = received(ran, "notifications/cancelled")
    assert cancelled["params"]["requestId"] == received(ran, "tools/call")[-1]["id"]


async def test_calls_beyond_max_concurrency_wait_and_say_so_when_out_of_time(ran: Path) -> None:
    # T8: the limit counts from acceptance.
    slow = {"name": "slow", "x-fixture": {"delay": 0.5}}
    with open_web_fixture(_options(ran, slow, "t")) as fixture:
        async with (
            open_servers(_config(fixture.url, max_concurrency=1)) as fleet,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(call_tool, fleet, "s", "slow")
            await eventually(lambda: executed(ran))
            with pytest.raises(UpstreamTimeout, match="upstream busy") as caught:
                await call_tool(fleet, "s", "t", within=0.05)
            assert not caught.value.sent
            await call_tool(fleet, "s", "t")
    assert [call.name for call in executed(ran)] == ["slow", "t"]


@pytest.mark.parametrize("streams", [False, True], ids=["json", "stream"])
async def test_an_answer_beyond_max_message_fails_its_call_and_nothing_else(
    ran: Path, streams: bool
) -> None:
    huge = {"name": "huge", "x-fixture": {"size": 1_000_000}}
    with open_web_fixture(_options(ran, huge, "t", streams=streams)) as fixture:
        async with open_servers(_config(fixture.url, max_message=100_000)) as fleet:
            with pytest.raises(UpstreamProtocolError, match="max_message"):
                await call_tool(fleet, "s", "huge")
            await call_tool(fleet, "s", "t")


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_new_tools_appear_when_the_server_says_so(ran: Path, era: str) -> None:
    grow = {"name": "grow", "x-fixture": {"adds": "new"}}
    with open_web_fixture(_options(ran, grow, era=era)) as fixture:
        async with open_servers(_config(fixture.url)) as fleet:
            version = fleet.catalogue.version
            # A stream for notifications is opened beside the first requests.
            await eventually(lambda: fixture.listeners)
            await call_tool(fleet, "s", "grow")
            catalogue = await fleet.changed(version)
            assert [tool.name for tool in catalogue.by_server["s"]] == ["grow", "new"]


async def test_new_tools_are_noticed_without_a_word_from_the_server(ran: Path) -> None:
    with open_web_fixture(_options(ran)) as fixture:
        async with open_servers(_config(fixture.url), pace=replace(BRISK, relist=0.05)) as fleet:
            version = fleet.catalogue.version
            fixture.behaviour.add_tool("quiet")
            catalogue = await fleet.changed(version)
            assert [tool.name for tool in catalogue.by_server["s"]] == ["t", "quiet"]


async def test_a_list_that_is_as_it_was_is_not_looked_through_again(ran: Path) -> None:
    with open_web_fixture(_options(ran)) as fixture:
        async with open_servers(_config(fixture.url), pace=replace(BRISK, relist=0.05)) as fleet:
            upstream = fleet.upstreams["s"]
            before = upstream.offer
            await eventually(lambda: upstream.offer is not before)
            assert before is not None
            assert upstream.offer is not None
            assert upstream.offer.tools is before.tools


async def test_what_a_server_offers_after_a_restart_is_read_with_the_next_call(ran: Path) -> None:
    with open_web_fixture(_options(ran, era="legacy")) as fixture:
        async with open_servers(_config(fixture.url)) as fleet:
            version = fleet.catalogue.version
            fixture.behaviour.add_tool("newer")
            fixture.forget_sessions()
            await call_tool(fleet, "s", "t")
            catalogue = await fleet.changed(version)
            assert [tool.name for tool in catalogue.by_server["s"]] == ["t", "newer"]


async def test_a_server_that_hangs_up_at_an_unknown_method_is_asked_by_the_handshake() -> None:
    def answer(number: int, result: Mapping[str, Any]) -> list[Step]:
        body = json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        return [head % len(body) + body]

    listed = answer(3, RESULTS["tools/list"])  # whoever asks for a stream gets the same, and none
    noted: list[Step] = [b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"]
    opened = answer(2, {**RESULTS["initialize"], "capabilities": {}})
    async with (
        open_raw_server([CLOSE], opened, noted, listed, listed) as server,
        open_servers(_config(server.url)) as fleet,
    ):
        assert status_of(fleet, "s").state is ServerState.READY
        assert [tool.name for tool in fleet.catalogue.by_server["s"]] == ["t"]


async def test_what_is_no_mcp_server_is_told_what_it_may_be(ran: Path) -> None:
    with open_web_fixture(_options(ran), transport="sse") as fixture:
        for path, hint in (("/mcp", "transport: sse"), ("/sse", "transport: sse")):
            url = fixture.url.replace("/sse", path)
            async with open_servers(_config(url)) as fleet:
                status = status_of(fleet, "s")
                assert status.state is ServerState.BACKING_OFF
                assert hint in status.reason


class _Redirecting(BaseHTTPRequestHandler):
    target = ""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(307)
        self.send_header("Location", self.target)
        self.send_header("Content-Length", "0")
        self.end_headers()


async def test_a_redirect_to_another_origin_is_not_followed(ran: Path) -> None:
    # Our credentials are for the server that the operator named.
    with open_web_fixture(_options(ran)) as fixture:
        handler = type("Handler", (_Redirecting,), {"target": fixture.url})
        with HTTPServer(("127.0.0.1", 0), handler) as server:
            Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            url = f"http://127.0.0.1:{server.server_address[1]}/secret?key=sentinel"
            async with open_servers(_config(url, headers={"Authorization": "Bearer x"})) as fleet:
                status = status_of(fleet, "s")
            server.shutdown()
    assert status.state is ServerState.BACKING_OFF
    assert f"redirects to 127.0.0.1:{fixture.port}" in status.reason
    assert "sentinel" not in status.reason
    assert received(ran, "server/discover") == []


async def test_a_redirect_on_the_same_origin_is_followed(ran: Path) -> None:
    with open_web_fixture(_options(ran)) as fixture:
        fixture.redirect_from = "/old"
        async with open_servers(_config(fixture.url.replace("/mcp", "/old"))) as fleet:
            assert b"content" in await call_tool(fleet, "s", "t")


async def test_an_error_of_the_server_comes_with_its_own_words(ran: Path) -> None:
    error = {"code": -32050, "message": "not today"}
    tool = {"name": "t", "x-fixture": {"error": error}}
    for era in ("modern", "legacy"):
        with open_web_fixture(_options(ran, tool, era=era)) as fixture:
            async with open_servers(_config(fixture.url)) as fleet:
                with pytest.raises(UpstreamProtocolError, match="not today") as caught:
                    await call_tool(fleet, "s", "t")
        assert json.loads(caught.value.rpc_error) == error


async def _ten_at_once(fleet: Fleet) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(call_tool, fleet, "s", "t")


async def test_callers_share_one_connection_unless_told_otherwise(ran: Path) -> None:
    # R27
    with open_web_fixture(_options(ran, era="legacy")) as fixture:
        async with open_servers(_config(fixture.url)) as fleet:
            await _ten_at_once(fleet)
            await call_tool(fleet, "s", "t", by="somebody else")
            assert len(fixture.sessions) == 1


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "HTTP 200 without a message"),
        (b"nonsense", "cannot be read"),
        (b"[]", "cannot be read"),
        (b'{"jsonrpc":"2.0","id":99,"result":{}}', "cannot be read"),
    ],
)
async def test_nonsense_instead_of_an_answer_is_an_error(ran: Path, body: bytes, told: str) -> None:
    with open_web_fixture(_options(ran)) as fixture:
        async with open_servers(_config(fixture.url)) as fleet:
            fixture.body = body
            with pytest.raises(UpstreamProtocolError, match=told):
                await call_tool(fleet, "s", "t")
            fixture.body = None
            await call_tool(fleet, "s", "t")


async def test_a_page_instead_of_an_answer_is_told() -> None:
    page = b"<!doctype html><title>Sign in</title>"
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=utf-8\r\nContent-Length: %d\r\n\r\n"
    )
    async with (
        open_raw_server(*[[head % len(page) + page]] * 4) as server,
        open_servers(_config(server.url)) as fleet,
    ):
        assert "a page (text/html) instead of a message" in status_of(fleet, "s").reason


def test_a_fixture_listens_where_it_did_before(ran: Path) -> None:
    fixture = WebFixture(_options(ran))
    fixture.start()
    port = fixture.port
    fixture.stop()
    fixture.start()
    assert fixture.port == port
    fixture.stop()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://127.0.0.1/sentinel", "cannot be used"),
        ("http://127.0.0.1:99999/sentinel", "cannot be used"),
        ("sentinel", "cannot be used"),
        ("http://no-such-host.invalid/sentinel", "no such host"),
    ],
)
async def test_a_url_that_leads_nowhere_is_a_reason_without_its_secrets(
    url: str, reason: str
) -> None:
    async with open_servers(_config(url)) as fleet:
        status = status_of(fleet, "s")
    assert status.state is ServerState.BACKING_OFF
    assert reason in status.reason
    assert "sentinel" not in status.reason


async def test_a_plain_server_is_not_spoken_to_under_an_https_url(ran: Path) -> None:
    with open_web_fixture(_options(ran)) as fixture:
        async with open_servers(_config(fixture.url.replace("http:", "https:"))) as fleet:
            assert "TLS" in status_of(fleet, "s").reason


async def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subject = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    files = ("-keyout", str(key), "-out", str(certificate))
    making = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    subprocess.run(["openssl", *making, *files, *subject], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    with HTTPServer(("127.0.0.1", 0), _Redirecting) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        url = f"https://127.0.0.1:{server.server_address[1]}/mcp"
        async with open_servers(_config(url)) as fleet:
            assert "certificate" in status_of(fleet, "s").reason
        server.shutdown()


async def test_tools_that_cannot_be_read_again_stay_and_the_server_is_degraded(ran: Path) -> None:
    with open_web_fixture(_options(ran)) as fixture:
        async with open_servers(_config(fixture.url), pace=replace(BRISK, relist=0.05)) as fleet:
            for nonsense in ('{"tools":7}', '{"tools":[],"nextCursor":7}'):
                fixture.behaviour.list_as = nonsense
                await eventually(lambda: status_of(fleet, "s").state is ServerState.DEGRADED)
                assert "could not be read again" in status_of(fleet, "s").reason
                assert len(fleet.catalogue.by_server["s"]) == 1
                fixture.behaviour.list_as = ""
                await eventually(lambda: status_of(fleet, "s").state is ServerState.READY)


async def test_one_broken_tool_of_a_page_is_left_out_alone(ran: Path) -> None:
    broken = {"name": "broken", "x-fixture": {"raw": '{"name":"\\ud800","inputSchema":{}}'}}
    with open_web_fixture(_options(ran, "a", broken, "b")) as fixture:
        async with open_servers(_config(fixture.url)) as fleet:
            assert [tool.name for tool in fleet.catalogue.by_server["s"]] == ["a", "b"]
            assert "entry 2" in status_of(fleet, "s").notes[0]


@pytest.mark.parametrize("streams", [False, True], ids=["json", "stream"])
async def test_an_answer_that_is_not_utf8_fails_its_call_and_nothing_else(
    ran: Path, streams: bool
) -> None:
    broken = {"name": "broken", "x-fixture": {"result_json": '{"a":"\udcff"}'}}
    with open_web_fixture(_options(ran, broken, "t", streams=streams)) as fixture:
        async with open_servers(_config(fixture.url)) as fleet:
            with pytest.raises(UpstreamProtocolError, match="cannot be read"):
                await call_tool(fleet, "s", "broken")
            await call_tool(fleet, "s", "t")


async def test_a_stream_that_ends_without_an_answer_is_an_error(ran: Path) -> None:
    with open_web_fixture(_options(ran, streams=True)) as fixture:
        async with open_servers(_config(fixture.url)) as fleet:
            fixture.body = b': alive\n\ndata: {"jsonrpc":"2.0","id":999,"result":{}}\n\n'
            with pytest.raises(UpstreamUnavailable, match="without an answer") as caught:
                await call_tool(fleet, "s", "t")
            assert caught.value.sent
            fixture.body = None
            await call_tool(fleet, "s", "t")
