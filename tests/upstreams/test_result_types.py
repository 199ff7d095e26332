"""A result of a kind that remit cannot carry is no result (MCP 2026-07-28)."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.upstreams.callers import Quiet, call

from remit.errors import UnreadableAnswer
from remit.model.servers import Session
from remit.testing.fleets import call_tool, open_servers
from remit.testing.upstream import fixture_server_config
from remit.upstreams.result_types import carried

QUESTION = {"k": {"method": "elicitation/create", "params": {"message": "Who?"}}}
CARRIED: list[dict[str, Any]] = [
    {"content": []},
    {"resultType": "complete", "content": []},
    {"content": [], "resultType": "complete"},
    {"content": [], "structuredContent": {"resultType": "sideways"}},
    {"resultType": "input_required", "inputRequests": QUESTION},
    {"resultType": "input_required", "requestState": "s"},
]
NOT_CARRIED: list[dict[str, Any]] = [
    {"resultType": "task", "taskId": "t1", "status": "working"},
    {"resultType": "sideways", "content": []},
    {"resultType": 5, "content": []},
    {"resultType": None, "content": []},
    {"resultType": "input_required"},
    {"resultType": "input_required", "inputRequests": {}},
    {"resultType": "sideways", "structuredContent": {"a": 1, "resultType": "complete"}},
]


@pytest.mark.parametrize("result", CARRIED, ids=json.dumps)
def test_what_can_be_carried_stays_as_it_is(result: dict[str, Any]) -> None:
    for separators in ((",", ":"), (", ", ": ")):
        raw = json.dumps(result, separators=separators).encode()
        assert carried(raw) is raw


@pytest.mark.parametrize("result", NOT_CARRIED, ids=json.dumps)
def test_what_cannot_be_carried_is_an_answer_that_cannot_be_read(result: dict[str, Any]) -> None:
    for separators in ((",", ":"), (", ", ": ")):
        with pytest.raises(UnreadableAnswer) as refused:
            carried(json.dumps(result, separators=separators).encode())
        assert refused.value.is_outcome_unknown


@pytest.mark.parametrize("result", [NOT_CARRIED[0], NOT_CARRIED[4]], ids=json.dumps)
async def test_a_server_that_gives_one_is_said_to(ran: Path, result: dict[str, Any]) -> None:
    tools = [{"name": "t", "x-fixture": {"result": result}}]
    server = fixture_server_config(
        "s", tools, ran, options=("--era", "modern"), session=Session.SHARED
    )
    async with open_servers(server) as fleet:
        with pytest.raises(UnreadableAnswer, match="server 's' a"):
            await call_tool(fleet, "s", "t")
        for is_modern in (True, False):
            with pytest.raises(UnreadableAnswer, match="server 's' a"):
                await call(fleet, Quiet(is_modern=is_modern))
