"""A child that hangs is opened anew; one that is only busy is not (T8)."""

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.upstreams.callers import Quiet

from remit.errors import UpstreamTimeout, UpstreamUnavailable
from remit.model.conversation import Answering
from remit.model.servers import ServerConfig, ServerState, Session, ToolSettings
from remit.testing.fleets import BRISK, call_tool, eventually, open_servers, status_of
from remit.testing.upstream import executed, fixture_server_config, received
from remit.upstreams.channel import Channel
from remit.upstreams.deadline import PausableDeadline, TimeLimits
from remit.upstreams.dialogue import Dialogue
from remit.upstreams.era import Era
from remit.upstreams.fleet import Fleet
from remit.upstreams.liveness import Liveness, patience
from remit.upstreams.session import Signals
from remit.upstreams.transcript import Transcript

SOON = 0.2
"""Seconds of silence after which a child counts as hung here."""

PACE = replace(BRISK, silence=SOON)


def server(
    name: str, tools: Sequence[str | Mapping[str, Any]], ran: Path, *options: str
) -> ServerConfig:
    """Return a server whose calls take no longer than its silence may last."""
    return fixture_server_config(
        name, tools, ran, options=options, session=Session.SHARED, timeout=SOON / 2
    )


async def stop_and_leave(fleet: Fleet, name: str) -> int:
    """Stop the server's child, call it in vain, and return its id."""
    (child,) = status_of(fleet, name).processes
    os.kill(child, signal.SIGSTOP)
    with pytest.raises(UpstreamTimeout):
        await call_tool(fleet, name, "t", within=0.1)
    return child


async def replaced(fleet: Fleet, name: str, child: int) -> None:
    """Wait until the server is up with another child."""

    def is_another() -> bool:
        status = status_of(fleet, name)
        return status.state is ServerState.READY and status.processes not in ((), (child,))

    await eventually(is_another)


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_a_child_that_hangs_is_opened_anew(ran: Path, era: str) -> None:
    async with open_servers(server("s", ["t"], ran, "--era", era), pace=PACE) as fleet:
        child = await stop_and_leave(fleet, "s")
        with pytest.raises(UpstreamUnavailable, match="'s' hangs: it answered no probe") as caught:
            await call_tool(fleet, "s", "t")
        assert caught.value.sent
        await replaced(fleet, "s", child)
        assert b"t {}" in await call_tool(fleet, "s", "t")


async def test_the_child_of_one_caller_that_hangs_is_opened_anew(ran: Path) -> None:
    own = replace(server("s", ["t"], ran), session=Session.PRINCIPAL)
    async with open_servers(own, pace=PACE) as fleet:
        before = set(status_of(fleet, "s").processes)
        await call_tool(fleet, "s", "t")
        (child,) = set(status_of(fleet, "s").processes) - before
        os.kill(child, signal.SIGSTOP)
        with pytest.raises(UpstreamTimeout):
            await call_tool(fleet, "s", "t", within=0.1)
        await eventually(lambda: child not in status_of(fleet, "s").processes)
        assert b"t {}" in await call_tool(fleet, "s", "t")


BUSY = {
    "works on one call and answers the probe": ((), {"delay": 600}),
    "never answers the call, and the probe": ((), {"silent": True}),
    "writes to its error output": (("--serial",), {"stderr": 10, "delay": 0.15}),
}


@pytest.mark.parametrize("kind", list(BUSY))
async def test_a_child_that_shows_any_sign_of_life_stays(ran: Path, kind: str) -> None:
    options, quirks = BUSY[kind]
    busy = server("busy", [{"name": "t", "x-fixture": quirks}], ran, *options)
    async with open_servers(busy, server("hung", ["t"], ran), pace=PACE) as fleet:
        (child,) = status_of(fleet, "busy").processes
        with pytest.raises(UpstreamTimeout):
            await call_tool(fleet, "busy", "t", within=0.1)
        # judged after the busy one
        await replaced(fleet, "hung", await stop_and_leave(fleet, "hung"))
        assert status_of(fleet, "busy").processes == (child,)
        assert status_of(fleet, "busy").state is ServerState.READY


async def test_a_child_may_be_silent_for_as_long_as_is_declared_by_now(ran: Path) -> None:
    kept, hung = server("kept", ["t"], ran), server("hung", ["t"], ran)
    async with open_servers(kept, hung, pace=PACE) as fleet:
        fleet.reconfigure({"kept": replace(kept, timeout=600), "hung": hung})
        child = await stop_and_leave(fleet, "kept")
        # judged after the one that is kept
        await replaced(fleet, "hung", await stop_and_leave(fleet, "hung"))
        assert status_of(fleet, "kept").processes == (child,)
        os.kill(child, signal.SIGCONT)


async def test_callers_that_leave_are_no_reason_to_probe_again_and_again(ran: Path) -> None:
    slow = server("s", [{"name": "t", "x-fixture": {"silent": True}}], ran, "--era", "legacy")
    async with open_servers(slow, pace=replace(BRISK, silence=600)) as fleet:
        for _ in range(3):
            with pytest.raises(UpstreamTimeout):
                await call_tool(fleet, "s", "t", within=0.05)
        await eventually(lambda: len(executed(ran)) == 3)
        await eventually(lambda: len(received(ran, "notifications/cancelled")) == 3)
        assert len(received(ran, "ping")) == 1


async def test_calls_that_are_answered_are_no_reason_to_probe(ran: Path) -> None:
    async with open_servers(server("s", ["t"], ran, "--era", "legacy"), pace=PACE) as fleet:
        for _ in range(3):
            await call_tool(fleet, "s", "t")
    assert received(ran, "ping") == []


def looked_after(hangs: Callable[[str], None]) -> tuple[Channel, Liveness]:
    """Return a conversation with a child that says nothing, and what looks after it."""
    transcript = Transcript()
    channel = Channel(lambda _frame, _number: True, transcript=transcript, signals=Signals())
    liveness = Liveness(
        channel, Era.modern(), transcript=transcript, silence=lambda: 0.01, hangs=hangs
    )
    return channel, liveness


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking(Quiet):
    """A caller that takes its time to answer."""

    asked: list[Answering] = field(default_factory=list[Answering])

    async def ask(self, method: str, params: bytes, answer: Answering) -> None:
        assert (method, params) == ("elicitation/create", b"{}")
        self.asked.append(answer)


async def test_a_child_does_not_hang_while_it_waits_for_somebodys_answer() -> None:
    ended: list[str] = []
    channel, asking = looked_after(lambda _: ended.append("the one that asks"))
    _, silent = looked_after(lambda _: ended.append("the one that says nothing"))
    caller = Thinking()
    with PausableDeadline(TimeLimits(), 600) as deadline:
        dialogue = Dialogue(caller, deadline)
        channel.heard.begin(1, dialogue)
        await dialogue.ask("elicitation/create", b"{}", lambda _: None)
        asking.doubt()
        silent.doubt()
        await eventually(lambda: ended)
        assert ended == ["the one that says nothing"]
        caller.asked[0](b'"result":{}')
        await eventually(lambda: len(ended) == 2)


def test_a_child_may_be_silent_for_longer_than_any_call_of_it_may_take() -> None:
    config = ServerConfig(name="s", timeout=30)
    assert patience(config, 120) == 120
    assert patience(replace(config, timeout=100), 120) == 200
    slow = replace(config, tools={"import": ToolSettings(timeout=600)})
    assert patience(slow, 120) == 1200
