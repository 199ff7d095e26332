"""A caller's era and what it can be asked are those of the connection that its calls take."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send
from tests.upstreams.callers import Quiet, call
from tests.upstreams.served import RESULTS, serving

from remit.model.conversation import Abilities
from remit.model.servers import ServerConfig, Transport
from remit.testing.fleets import open_servers
from remit.testing.upstream import (
    FixtureOptions,
    executed,
    fixture_server_config,
    open_web_fixture,
    received,
)


@pytest.mark.parametrize("era", ["both", "legacy"])
async def test_a_server_hears_in_the_handshake_what_its_caller_can_be_asked(
    ran: Path, era: str
) -> None:
    server = fixture_server_config("s", ["t"], ran, options=("--era", era))
    able = Quiet(abilities=Abilities.SAMPLE | Abilities.ELICIT_FORM)
    async with open_servers(server) as fleet:
        await call(fleet, able)
        await call(fleet, Quiet())
        await call(fleet, able)
    said = [message["params"]["capabilities"] for message in received(ran, "initialize")]
    first, second, third = (entry.pid for entry in executed(ran))
    assert {"elicitation": {"form": {}}, "sampling": {}} in said
    assert {} in said
    assert first == third != second


async def test_a_newer_caller_takes_the_newer_era(ran: Path) -> None:
    server = fixture_server_config("s", ["t"], ran)
    async with open_servers(server) as fleet:
        await call(fleet, Quiet(is_modern=True, abilities=Abilities.SAMPLE))
    assert received(ran, "initialize") == []


async def test_a_server_that_refuses_the_handshake_is_called_in_the_newer_era(ran: Path) -> None:
    server = fixture_server_config("s", ["t"], ran, options=("--era", "modern"))
    able = Quiet(abilities=Abilities.SAMPLE)
    async with open_servers(server) as fleet:
        await call(fleet, able)
        await call(fleet, able)
        tried = len(received(ran, "initialize"))
    called = received(ran, "tools/call")
    key = "io.modelcontextprotocol/clientCapabilities"
    assert [message["params"]["_meta"][key] for message in called] == [{"sampling": {}}] * 2
    assert tried == 1


async def test_mirrored_arguments_that_no_schema_explains_are_passed_on(ran: Path) -> None:
    options = FixtureOptions(tools=["t"], count_file=str(ran), era="modern")
    with open_web_fixture(options) as web:
        config = ServerConfig(name="s", transport=Transport.HTTP, url=web.url)
        async with open_servers(config) as fleet:
            await call(fleet, None, headers={"mcp-param-region": "eu"})
    (called,) = received(ran, "tools/call")
    assert called["headers"]["mcp-param-region"] == "eu"


async def test_another_round_carries_answers_and_state_as_they_are(ran: Path) -> None:
    server = fixture_server_config("s", ["t"], ran, options=("--era", "modern"))
    async with open_servers(server) as fleet:
        await call(fleet, None, responses=b'{"a":{"action":"accept"}}', state=b'"kept"')
    (called,) = received(ran, "tools/call")
    assert called["params"]["inputResponses"] == {"a": {"action": "accept"}}
    assert called["params"]["requestState"] == "kept"


async def test_a_server_that_keeps_no_session_is_called_in_the_newer_era_for_whom_it_may_ask(
    ran: Path,
) -> None:
    options = FixtureOptions(tools=["t"], count_file=str(ran), sessions=False)
    with open_web_fixture(options) as web:
        config = ServerConfig(name="s", transport=Transport.HTTP, url=web.url)
        async with open_servers(config) as fleet:
            able = Quiet(abilities=Abilities.ELICIT_FORM)
            await call(fleet, able)
            await call(fleet, Quiet())
            await call(fleet, able)
    said = [message["params"].get("_meta", {}) for message in received(ran, "tools/call")]
    key = "io.modelcontextprotocol/clientCapabilities"
    asked: dict[str, Any] = {"elicitation": {"form": {}}}
    assert [meta.get(key) for meta in said] == [asked, None, asked]
    hands = [message["params"]["capabilities"] for message in received(ran, "initialize")]
    assert hands == [asked, {}]


class _OneSession:
    """A server of the handshake that has one session for all its clients."""

    def __init__(self) -> None:
        self.handshakes = 0
        self.calls = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = json.loads(await Request(scope, receive).body() or b"{}")
        method, answer = message.get("method"), {"jsonrpc": "2.0", "id": message.get("id")}
        self.handshakes += method == "initialize"
        self.calls += method == "tools/call"
        if method == "initialize" and self.handshakes > 1:
            refused = {"code": -32600, "message": "Invalid Request: Server already initialized"}
            response: Response = JSONResponse({**answer, "error": refused}, 400)
        elif method in RESULTS:
            response = JSONResponse({**answer, "result": RESULTS[method]})
        else:
            response = Response(status_code=405 if method is None or "id" in message else 202)
        await response(scope, receive, send)


async def test_a_server_with_one_session_is_called_on_it_by_callers_that_can_be_asked() -> None:
    server = _OneSession()
    async with serving(server) as config, open_servers(config) as fleet:
        await call(fleet, Quiet(abilities=Abilities.SAMPLE))
        await call(fleet, Quiet(abilities=Abilities.ELICIT_FORM))
        await call(fleet, Quiet())
    assert server.calls == 3
    assert server.handshakes == 2  # that of the shared connection, and one in vain


async def test_a_state_without_a_question_goes_back_without_answers(ran: Path) -> None:
    tool = {"name": "t", "x-fixture": {"rounds": 2}}
    server = fixture_server_config("s", [tool], ran, options=("--era", "modern"))
    async with open_servers(server) as fleet:
        await call(fleet, Quiet())
    rounds = [message["params"] for message in received(ran, "tools/call")]
    assert [sent.get("requestState") for sent in rounds] == [None, "1", "2"]
    assert not any("inputResponses" in sent for sent in rounds)
