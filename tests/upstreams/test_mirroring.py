"""A caller's era and what it can be asked are those of the connection that its calls take."""

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from remit.model.conversation import Abilities, Answering, Extras
from remit.model.principals import Principal, PrincipalKind
from remit.model.servers import ServerConfig, Transport
from remit.model.tools import ToolId
from remit.testing.fleets import open_servers
from remit.testing.upstream import (
    FixtureOptions,
    executed,
    fixture_server_config,
    open_web_fixture,
    received,
)
from remit.upstreams.fleet import Fleet


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet:
    """A caller that is never told anything."""

    is_modern: bool = False
    abilities: Abilities = Abilities.NONE
    key: Hashable = "session"
    progress_token: bytes = b""
    log_level: str = ""
    asked_level: str = ""

    async def tell(self, method: str, params: bytes) -> None:
        raise AssertionError(f"was told {method} {params!r}")

    async def ask(self, method: str, params: bytes, answer: Answering) -> None:
        raise AssertionError(f"was asked {method} {params!r} {answer!r}")


async def call(fleet: Fleet, conversation: Quiet | None, **extras: Any) -> None:
    await fleet.invoke(
        ToolId("s", "t"),
        arguments=b"{}",
        meta=b"",
        principal=Principal(kind=PrincipalKind.KEY, name="ann"),
        timeout=20,
        extras=Extras(conversation=conversation, **extras),
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
