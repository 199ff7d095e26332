"""A state that a caller keeps between two rounds opens for that caller and that call alone."""

from typing import Any

import httpx2
import pytest
from tests.conformance.callers import Hand

from remit.testing.gateway import Running

TOOL = "test_input_required_result_request_state"
CONFIRMED = {"confirm": {"action": "accept", "content": {"ok": True}}}


def hand(gateway: Running, http: httpx2.AsyncClient, server: str, role: str = "caller") -> Hand:
    return Hand(http=http, url=f"{gateway.url}/{server}", key=gateway.key(role))


async def test_the_servers_own_state_comes_back_to_it_whole(
    gateway: Running, http: httpx2.AsyncClient
) -> None:
    caller = hand(gateway, http, "web")
    first = (await caller.modern_call(TOOL, {}))["result"]
    assert first["resultType"] == "input_required"
    assert first["inputRequests"]["confirm"]["method"] == "elicitation/create"
    second = await caller.modern_call(
        TOOL, {}, requestState=first["requestState"], inputResponses=CONFIRMED
    )
    assert second["result"]["content"][0]["text"] == "state-ok"


@pytest.mark.parametrize(
    ("how", "change"),
    [
        ("by another caller", {"role": "other"}),
        ("at another server", {"server": "modern"}),
        ("for another tool", {"tool": "test_input_required_result_tampered_state"}),
        ("with other arguments", {"arguments": {"more": 1}}),
        ("altered", {"suffix": "A"}),
        ("made up", {"state": "r1.AAAA"}),
        ("none at all", {"state": {"a": 1}}),
    ],
)
async def test_a_state_that_is_brought_back_elsewhere_is_refused(
    gateway: Running, http: httpx2.AsyncClient, how: str, change: dict[str, Any]
) -> None:
    first = (await hand(gateway, http, "web").modern_call(TOOL, {}))["result"]
    state = change.get("state", first["requestState"])
    if "suffix" in change:
        state += change["suffix"]
    caller = hand(gateway, http, change.get("server", "web"), change.get("role", "caller"))
    reply = await caller.modern_call(
        change.get("tool", TOOL),
        change.get("arguments", {}),
        requestState=state,
        inputResponses=CONFIRMED,
    )
    assert reply["error"]["code"] == -32602, how
    assert reply["error"]["message"] == "Invalid or expired requestState"
