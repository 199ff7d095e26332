"""A server that waits for an answer no longer says so, and its caller hears of it."""

import json
from typing import Any

from tests.upstreams.callers import call
from tests.upstreams.served import OlderServer

from remit.doors.mcp.conversation import NOTHING, Telling
from remit.doors.mcp.questions import Questions
from remit.model.conversation import Abilities
from remit.model.servers import ServerConfig
from remit.testing.fleets import open_servers

QUESTION: dict[str, Any] = {
    "message": "Who?",
    "requestedSchema": {"type": "object", "properties": {}},
}
SERVER = OlderServer(
    [
        {"jsonrpc": "2.0", "id": 0, "method": "elicitation/create", "params": QUESTION},
        {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": "nobody's"},
        },
        {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": 0, "reason": "timed out"},
        },
    ]
)


class Heard:
    """What reaches a caller, message by message."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    async def send(self, message: bytes) -> None:
        self.messages.append(json.loads(message))


async def gives_up(config: ServerConfig) -> None:
    heard, questions = Heard(), Questions()
    telling = Telling(
        heard, NOTHING, key="session", abilities=Abilities.ELICIT_FORM, questions=questions
    )
    async with open_servers(config) as fleet:
        await call(fleet, telling)

    asked, taken_back = heard.messages
    assert (asked["method"], asked["params"]) == ("elicitation/create", QUESTION)
    assert taken_back["method"] == "notifications/cancelled"
    assert taken_back["params"] == {"requestId": asked["id"], "reason": "timed out"}
    late = b'"result":{"action":"decline"}'
    assert not questions.answered("session", json.dumps(asked["id"]).encode(), late)


async def test_over_a_pipe() -> None:
    await gives_up(SERVER.over_a_pipe())


async def test_over_http() -> None:
    async with SERVER.over_http() as config:
        await gives_up(config)
