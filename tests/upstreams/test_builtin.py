"""Bundled servers, in process."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from remit.errors import UpstreamProtocolError
from remit.model.servers import ServerConfig, ServerState, Session, Transport
from remit.testing.fleets import call_tool, open_servers, status_of


class Echo:
    def __init__(self, arguments: Sequence[str], environ: Mapping[str, str]) -> None:
        if "--broken" in arguments:
            raise ValueError("no repository at /nowhere")
        self.arguments = list(arguments)
        self.environ = dict(environ)
        self.is_closed = False

    def tools(self) -> Sequence[Mapping[str, object]]:
        if "--no-list" in self.arguments:
            raise RuntimeError("sentinel")
        return [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "fail")]

    async def call_tool(
        self, name: str, arguments: Mapping[str, object], /
    ) -> Mapping[str, object]:
        if name == "fail":
            raise RuntimeError("sentinel")
        return {"content": [], "structuredContent": {"args": self.arguments, "got": arguments}}

    async def aclose(self) -> None:
        self.is_closed = True


def _config(name: str = "b", *args: str, builtin: str = "echo") -> ServerConfig:
    return ServerConfig(name=name, transport=Transport.BUILTIN, builtin=builtin, args=args)


async def test_a_bundled_server_is_one_like_any_other() -> None:
    config = _config("b", "--in", "${FOLDER}")
    async with open_servers(config, builtins={"echo": Echo}, environ={"FOLDER": "here"}) as fleet:
        assert status_of(fleet, "b").state is ServerState.READY
        result = json.loads(await call_tool(fleet, "b", "echo", b'{"n":9007199254740993}'))
    assert result["structuredContent"] == {"args": ["--in", "here"], "got": {"n": 9007199254740993}}


async def test_a_lone_surrogate_reaches_a_bundled_server_and_comes_back() -> None:
    async with open_servers(_config(), builtins={"echo": Echo}) as fleet:
        result = json.loads(await call_tool(fleet, "b", "echo", b'{"a":"\\ud800"}'))
    assert result["structuredContent"]["got"] == {"a": "\ud800"}


async def test_an_unforeseen_failure_is_logged_and_keeps_its_inside_to_itself() -> None:
    async with open_servers(_config(), builtins={"echo": Echo}) as fleet:
        with (
            capture_logs() as logs,
            pytest.raises(UpstreamProtocolError, match="server 'b' failed at 'fail'") as caught,
        ):
            await call_tool(fleet, "b", "fail")
        assert "sentinel" not in str(caught.value)
        assert [entry["event"] for entry in logs] == ["bundled server failed"]
        assert b"content" in await call_tool(fleet, "b", "echo")


async def test_a_bundled_server_that_cannot_be_made_is_a_reason() -> None:
    broken = _config("broken", "--broken")
    unknown = _config("unknown", builtin="nothing")
    async with open_servers(broken, unknown, builtins={"echo": Echo}) as fleet:
        assert "no repository at /nowhere" in status_of(fleet, "broken").reason
        assert "'nothing', which remit does not bundle" in status_of(fleet, "unknown").reason


async def test_an_unforeseen_failure_of_one_server_leaves_the_others_alone() -> None:
    servers = (_config("odd", "--no-list"), _config("good"))
    with capture_logs() as logs:
        async with open_servers(*servers, builtins={"echo": Echo}) as fleet:
            assert status_of(fleet, "good").state is ServerState.READY
            assert status_of(fleet, "odd").state is ServerState.BACKING_OFF
            assert status_of(fleet, "odd").reason == "failed in an unforeseen way: RuntimeError"
    assert {
        "event": "server failed",
        "server": "odd",
        "exc_info": True,
        "log_level": "error",
    } in logs


async def test_each_caller_has_a_bundled_server_of_its_own_if_so_declared() -> None:
    made: list[Echo] = []

    def make(arguments: Sequence[str], environ: Mapping[str, str]) -> Echo:
        made.append(Echo(arguments, environ))
        return made[-1]

    config = replace(_config(), session=Session.PRINCIPAL, env={"TOKEN": "${SECRET}"})
    async with open_servers(config, builtins={"echo": make}, environ={"SECRET": "s3"}) as fleet:
        for caller in ("ann", "ben", "ann"):
            await call_tool(fleet, "b", "echo", by=caller)
    assert len(made) == 3  # one that lists the tools, and two
    assert {server.environ["TOKEN"] for server in made} == {"s3"}
    assert all(server.is_closed for server in made)
