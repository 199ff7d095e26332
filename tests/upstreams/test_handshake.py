"""Which era a server speaks, with servers that say whatever a test wants."""

import asyncio
import gc
import json
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import pytest

from remit.errors import UpstreamError, UpstreamProtocolError, UpstreamUnavailable
from remit.model.conversation import Abilities
from remit.upstreams.channel import Channel
from remit.upstreams.era import Era
from remit.upstreams.handshake import negotiate
from remit.upstreams.session import Signals
from remit.upstreams.transcript import Transcript
from remit.upstreams.wire import joined, json_bytes

Answer = Mapping[str, Any]
DISCOVERED: Answer = {"result": {"supportedVersions": ["2026-07-28"]}}
INITIALIZED: Answer = {"result": {"protocolVersion": "2025-06-18"}}
UNKNOWN: Answer = {"error": {"code": -32601, "message": "Method not found"}}


def _unsupported(*versions: str, **data: Any) -> Answer:
    return {"error": {"code": -32022, "message": "no", "data": {"supported": versions, **data}}}


class Script:
    """The other end of a channel: what it answers to each method, or does when it hears it."""

    def __init__(self, answers: Mapping[str, Answer | Callable[["Script"], None]]) -> None:
        self._answers = answers
        self.heard: list[str] = []
        self.ids: dict[str, int] = {}
        self.params: dict[str, Any] = {}
        self.channel = Channel(self._hear, transcript=Transcript(), signals=Signals())

    def say(self, method: str, answer: Answer) -> None:
        """Answer the request of that method."""
        message = {"jsonrpc": "2.0", "id": self.ids[method], **answer}
        self.channel.receive(json.dumps(message).encode())

    def _hear(self, frame: bytes, number: int | None) -> bool:
        message = json.loads(frame)
        method = message["method"]
        self.heard.append(method)
        self.params[method] = message.get("params")
        if number is not None:
            self.ids[method] = number
        answer = self._answers.get(method)
        if callable(answer):
            answer(self)
        elif answer is not None:
            self.say(method, answer)
        return True


async def _negotiate(script: Script) -> str:
    with anyio.fail_after(30):
        return (await negotiate(script.channel, is_legacy=False, patience=0.05)).version


@pytest.mark.parametrize(
    ("probe", "version"),
    [
        (DISCOVERED, "2026-07-28"),
        ({"result": {"supportedVersions": ["2025-11-25"]}}, "2025-06-18"),
        ({"result": {}}, "2025-06-18"),
        (UNKNOWN, "2025-06-18"),
        ({"error": {"code": 0, "message": "before initialization"}}, "2025-06-18"),
        ({"error": "nonsense"}, "2025-06-18"),
        ({"nothing": 1}, "2025-06-18"),
        (_unsupported("2027-01-01", "2026-07-28"), "2026-07-28"),
        (_unsupported("2025-11-25"), "2025-06-18"),
        ({"error": {"code": -32022, "message": "no"}}, "2026-07-28"),
        ({"error": {"code": -32022, "message": "no", "data": {"supported": 7}}}, "2026-07-28"),
    ],
)
async def test_the_answer_to_the_probe_decides(probe: Answer, version: str) -> None:
    # protocol.md 1.5: never keyed on one code.
    script = Script({"server/discover": probe, "initialize": INITIALIZED})
    assert await _negotiate(script) == version
    if version == "2026-07-28":
        assert script.heard == ["server/discover"]
    else:
        assert script.heard == ["server/discover", "initialize", "notifications/initialized"]


@pytest.mark.parametrize("probe", [UNKNOWN, None])
async def test_a_server_that_turns_out_to_be_old_hears_what_it_can_ask(
    probe: Answer | None,
) -> None:
    known = {} if probe is None else {"server/discover": probe}
    script = Script({**known, "initialize": INITIALIZED})
    with anyio.fail_after(30):
        await negotiate(
            script.channel, is_legacy=False, abilities=Abilities.LIST_ROOTS, patience=0.05
        )
    assert script.params["initialize"]["capabilities"] == {"roots": {}}


async def test_a_server_of_an_era_to_come_is_a_reason() -> None:
    script = Script({"server/discover": _unsupported("2031-01-01")})
    with pytest.raises(UpstreamProtocolError, match="speaks only 2031-01-01"):
        await _negotiate(script)


async def test_what_a_modern_server_announces_is_listened_to() -> None:
    result = {**DISCOVERED["result"], "capabilities": {"tools": {"listChanged": True}}}
    script = Script({"server/discover": {"result": result}})
    assert await _negotiate(script) == "2026-07-28"
    assert script.heard == ["server/discover", "subscriptions/listen"]
    script.channel.close("was stopped")


async def test_a_server_that_ignores_the_probe_is_asked_the_older_way() -> None:
    script = Script({"initialize": INITIALIZED})
    assert await _negotiate(script) == "2025-06-18"
    assert script.heard == ["server/discover", "initialize", "notifications/initialized"]


async def test_a_slow_modern_server_is_not_taken_for_an_old_one() -> None:
    # The first success decides, whatever failed before it.
    def late(script: Script) -> None:
        script.say("initialize", UNKNOWN)
        script.say("server/discover", DISCOVERED)

    assert await _negotiate(Script({"initialize": late})) == "2026-07-28"


async def test_a_slow_legacy_server_may_refuse_the_probe_first() -> None:
    def late(script: Script) -> None:
        script.say("server/discover", UNKNOWN)
        script.say("initialize", INITIALIZED)

    assert await _negotiate(Script({"initialize": late})) == "2025-06-18"


@pytest.mark.parametrize(
    ("probe", "initialize"), [(UNKNOWN, INITIALIZED), (DISCOVERED, UNKNOWN)], ids=["old", "new"]
)
async def test_the_answer_that_does_not_decide_is_no_fault_in_the_log(
    probe: Answer, initialize: Answer
) -> None:
    # mcp-atlassian starts slowly, and answers both requests at once
    def late(script: Script) -> None:
        script.say("server/discover", probe)
        script.say("initialize", initialize)

    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))

    await _negotiate(Script({"initialize": late}))

    gc.collect()
    assert told == []


async def test_a_server_that_refuses_both_ways_says_why() -> None:
    def late(script: Script) -> None:
        script.say("server/discover", UNKNOWN)
        script.say("initialize", {"error": {"code": 1, "message": "no licence"}})

    with pytest.raises(UpstreamProtocolError, match="no licence"):
        await _negotiate(Script({"initialize": late}))


async def test_a_connection_that_ends_in_between_is_a_reason() -> None:
    def end(script: Script) -> None:
        script.channel.close("exited with code 1")

    for method in ("server/discover", "initialize"):
        with pytest.raises(UpstreamUnavailable, match="code 1"):
            await _negotiate(Script({method: end}))


async def test_nothing_is_sent_once_the_conversation_is_over() -> None:
    # an answer of somebody who was asked may come later than the end
    script = Script({})
    script.channel.close("was stopped")
    script.channel.notify("notifications/cancelled")
    assert script.heard == []


async def test_an_answer_that_nobody_waits_for_any_more_is_dropped_in_silence() -> None:
    transcript = Transcript()
    channel = Channel(lambda _frame, _number: True, transcript=transcript, signals=Signals())
    with anyio.move_on_after(0.01):
        await channel.ask("tools/call", b"{}")
    channel.receive(b'{"jsonrpc":"2.0","id":1,"result":{}}')
    assert transcript.notes == ()
    channel.receive(b'{"jsonrpc":"2.0","id":2,"result":{}}')
    assert len(transcript.notes) == 1


async def test_what_never_left_is_not_called_sent() -> None:
    # R23 asks which calls provably did not run.
    channel = Channel(lambda _frame, _number: False, transcript=Transcript(), signals=Signals())
    problems: list[UpstreamUnavailable] = []

    async def ask() -> None:
        try:
            await channel.ask("tools/call", b"{}")
        except UpstreamUnavailable as error:
            problems.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        channel.close("exited with code 1")
        with pytest.raises(UpstreamUnavailable):
            await channel.ask("tools/call", b"{}")
    assert [problem.sent for problem in problems] == [False]


def test_our_own_meta_wins_over_the_callers_but_for_what_the_caller_can_be_asked() -> None:
    able: dict[str, object] = {"sampling": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
    meta = joined(
        {
            "io.modelcontextprotocol/clientCapabilities": json_bytes(able),
            "io.modelcontextprotocol/clientInfo": json_bytes({"name": "somebody"}),
            "progressToken": b"1",
            "lone": b'"\\ud800"',
        }
    )
    modern = json.loads(Era.modern().params(b'"name":"t"', meta))
    assert modern["name"] == "t"
    assert modern["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {"sampling": {}}
    assert modern["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] == "remit"
    assert modern["_meta"]["lone"] == "\ud800"
    assert "progressToken" not in modern["_meta"]
    legacy = Era("2025-11-25")
    assert json.loads(legacy.params(b"", meta)) == {"_meta": {"lone": "\ud800"}}
    assert legacy.params(b'"name":"t"') == b'{"name":"t"}'
    assert legacy.params(b"", b'{"progressToken":1}') == b"{}"
    with pytest.raises(UpstreamError, match="cannot be asked"):
        legacy.params(b"", b"[]")
