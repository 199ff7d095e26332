"""Who was sent to a page (elicitation of mode `url`) is told when that is done with."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.upstreams.callers import Quiet, call
from tests.upstreams.served import OlderServer

from remit.model.conversation import Abilities
from remit.model.servers import ServerConfig
from remit.testing.fleets import open_servers

COMPLETE = "notifications/elicitation/complete"
DONE = {"jsonrpc": "2.0", "method": COMPLETE, "params": {"elicitationId": "e-1"}}
SERVER = OlderServer([DONE])
CALLERS: list[tuple[Abilities, list[Any]]] = [
    (Abilities.ELICIT_URL, [(COMPLETE, DONE["params"])]),
    (Abilities.ELICIT_FORM, []),
    (Abilities.NONE, []),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening(Quiet):
    """A caller that wants to hear everything."""

    told: list[Any] = field(default_factory=list[Any])

    async def tell(self, method: str, params: bytes) -> None:
        self.told.append((method, json.loads(params)))


async def heard_of(config: ServerConfig, abilities: Abilities) -> list[Any]:
    listening = Listening(abilities=abilities)
    async with open_servers(config) as fleet:
        await call(fleet, listening)
    return listening.told


@pytest.mark.parametrize(("abilities", "heard"), CALLERS)
async def test_over_a_pipe(abilities: Abilities, heard: list[Any]) -> None:
    assert await heard_of(SERVER.over_a_pipe(), abilities) == heard


@pytest.mark.parametrize(("abilities", "heard"), CALLERS)
async def test_over_http(abilities: Abilities, heard: list[Any]) -> None:
    async with SERVER.over_http() as config:
        assert await heard_of(config, abilities) == heard
