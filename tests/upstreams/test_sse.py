"""The old transport of 2024-11-05, against a fixture on a real socket."""

from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import anyio
import pytest

from remit.errors import UpstreamProtocolError, UpstreamTimeout, UpstreamUnavailable
from remit.model.servers import ServerConfig, ServerState, Session, Transport
from remit.testing.fleets import call_tool, eventually, open_servers, status_of
from remit.testing.upstream import FixtureOptions, executed, open_web_fixture, received

LONE = '{"content":[],"structuredContent":{"lone":"\\ud800","big":9007199254740993, "x":1e-7}}'
TOOLS = (
    "t",
    {"name": "lone", "x-fixture": {"result_json": LONE}},
    {"name": "grow", "x-fixture": {"adds": "new"}},
    {"name": "huge", "x-fixture": {"size": 1_000_000}},
    {"name": "silent", "x-fixture": {"silent": True}},
    {"name": "awaited", "x-fixture": {"delay": 0.3}},
)


def _options(ran: Path) -> FixtureOptions:
    return FixtureOptions(tools=TOOLS, count_file=str(ran), version="2024-11-05")


def _config(url: str, *, max_message: int = 100_000) -> ServerConfig:
    return ServerConfig(
        name="s",
        transport=Transport.SSE,
        url=url,
        session=Session.SHARED,
        max_message=max_message,
        headers={"X-Own": "mine"},
    )


async def test_calls_go_out_by_post_and_answers_come_over_the_stream(ran: Path) -> None:
    # S4.9: a transport of its own.
    with open_web_fixture(_options(ran), transport="sse") as fixture:
        async with open_servers(_config(fixture.url)) as fleet:
            assert status_of(fleet, "s").protocol == "2024-11-05"
            assert await call_tool(fleet, "s", "lone") == LONE.encode()
            async with anyio.create_task_group() as tasks:
                for _ in range(10):
                    tasks.start_soon(call_tool, fleet, "s", "t")
    assert len(executed(ran)) == 11
    assert all(m["headers"]["x-own"] == "mine" for m in received(ran, "tools/call"))
    assert received(ran, "server/discover") == []  # there is no other era on this transport


async def test_new_tools_appear_when_the_server_says_so(ran: Path) -> None:
    with open_web_fixture(_options(ran), transport="sse") as fixture:
        async with open_servers(_config(fixture.url)) as fleet:
            version = fleet.catalogue.version
            await call_tool(fleet, "s", "grow")
            catalogue = await fleet.changed(version)
            assert "new" in [tool.name for tool in catalogue.by_server["s"]]


async def test_an_answer_beyond_max_message_fails_its_call_and_nothing_else(ran: Path) -> None:
    with open_web_fixture(_options(ran), transport="sse") as fixture:
        async with open_servers(_config(fixture.url)) as fleet:
            with pytest.raises(UpstreamProtocolError, match="max_message"):
                await call_tool(fleet, "s", "huge")
            await call_tool(fleet, "s", "t")


async def test_a_call_out_of_time_is_cancelled_at_the_server(ran: Path) -> None:
    with open_web_fixture(_options(ran), transport="sse") as fixture:
        async with open_servers(_config(fixture.url)) as fleet:
            with pytest.raises(UpstreamTimeout):
                await call_tool(fleet, "s", "silent", within=0.2)
            await eventually(lambda: received(ran, "notifications/cancelled"))


async def test_a_stream_that_ends_fails_its_calls_and_is_opened_again(ran: Path) -> None:
    with open_web_fixture(_options(ran), transport="sse") as fixture:
        async with open_servers(_config(fixture.url)) as fleet:
            problems: list[UpstreamUnavailable] = []

            async def ask() -> None:
                try:
                    await call_tool(fleet, "s", "silent")
                except UpstreamUnavailable as error:
                    problems.append(error)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask)
                await eventually(lambda: executed(ran))
                fixture.stop()
                fixture.start()
            assert problems[0].sent
            assert "server 's'" in str(problems[0])
            await call_tool(fleet, "s", "t")


@pytest.mark.parametrize("status", [404, 400])
@pytest.mark.parametrize("session", Session)
async def test_a_forgotten_session_is_opened_again_though_its_stream_goes_on(
    ran: Path, session: Session, status: int
) -> None:
    with open_web_fixture(_options(ran), transport="sse") as fixture:
        fixture.unknown_session = status
        server = replace(_config(fixture.url), session=session)
        async with open_servers(server) as fleet:
            await call_tool(fleet, "s", "t")
            fixture.forget_sessions()
            with pytest.raises(UpstreamUnavailable, match="forgotten the session") as caught:
                await call_tool(fleet, "s", "t")
            assert (caught.value.sent, caught.value.transient) == (False, True)
            await call_tool(fleet, "s", "t")
    assert len(executed(ran)) == 2


async def test_what_was_accepted_before_the_session_was_forgotten_is_still_answered(
    ran: Path,
) -> None:
    answers: list[bytes] = []
    with open_web_fixture(_options(ran), transport="sse") as fixture:
        server = replace(_config(fixture.url), session=Session.PRINCIPAL)
        async with open_servers(server) as fleet:

            async def ask() -> None:
                answers.append(await call_tool(fleet, "s", "awaited"))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask)
                await eventually(lambda: executed(ran))
                fixture.forget_sessions()
                with pytest.raises(UpstreamUnavailable, match="forgotten the session"):
                    await call_tool(fleet, "s", "t")
    assert len(answers) == 1


async def test_a_post_that_is_refused_fails_its_call(ran: Path) -> None:
    with open_web_fixture(_options(ran), transport="sse") as fixture:
        async with open_servers(_config(fixture.url)) as fleet:
            fixture.status = 401
            with pytest.raises(UpstreamUnavailable, match="credentials"):
                await call_tool(fleet, "s", "t")
            fixture.status = 0
            await call_tool(fleet, "s", "t")
    assert len(executed(ran)) == 1


@pytest.mark.parametrize(("status", "hint"), [(401, "credentials"), (500, "HTTP 500")])
async def test_a_stream_that_is_refused_is_a_reason(ran: Path, status: int, hint: str) -> None:
    with open_web_fixture(_options(ran), transport="sse") as fixture:
        fixture.status = status
        async with open_servers(_config(fixture.url)) as fleet:
            assert status_of(fleet, "s").state is ServerState.BACKING_OFF
            assert hint in status_of(fleet, "s").reason


class _Elsewhere(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        pass

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", self.path.strip("/").replace("_", "/"))
        self.end_headers()
        self.wfile.write(b"event: endpoint\ndata: http://127.0.0.1:9/steal\n\n")


@pytest.mark.parametrize(
    ("kind", "hint"), [("text_event-stream", "another origin"), ("text_html", "transport: http")]
)
async def test_what_is_no_stream_of_this_server_is_a_reason(kind: str, hint: str) -> None:
    with HTTPServer(("127.0.0.1", 0), _Elsewhere) as server:
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/{kind}"
        async with open_servers(_config(url)) as fleet:
            assert hint in status_of(fleet, "s").reason
        server.shutdown()
