"""What a server says while a call is under way reaches the caller of that call, in both eras."""

from typing import Any

import httpx2
import mcp_types as t
import pytest
from tests.conformance.callers import ERAS, Hand, able_client, client_of, text_of

from remit.testing.gateway import MODERN, Running


@pytest.mark.parametrize("server", ["web", "pipe"])
@pytest.mark.parametrize("mode", ERAS)
async def test_progress_comes_under_the_callers_own_token(
    gateway: Running, server: str, mode: str
) -> None:
    heard: list[tuple[float, float | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        del message
        heard.append((progress, total))

    async with client_of(gateway, server, mode) as client:
        result = await client.call_tool("test_tool_with_progress", {}, progress_callback=note)
    assert text_of(result) == "it is done"
    assert heard == [(0, 100), (50, 100), (100, 100)]


@pytest.mark.parametrize("server", ["web", "pipe"])
@pytest.mark.parametrize(
    ("mode", "level", "heard"),
    [("legacy", None, 3), ("legacy", "error", 0), (MODERN, None, 0), (MODERN, "info", 3)],
)
async def test_log_messages_come_to_whom_asked_for_them(
    gateway: Running, server: str, mode: str, level: t.LoggingLevel | None, heard: int
) -> None:
    told: list[Any] = []

    async def note(params: t.LoggingMessageNotificationParams) -> None:
        told.append(params.data)

    more: dict[str, Any] = {"log_level": level} if mode == MODERN and level else {}
    async with client_of(gateway, server, mode, logging_callback=note, **more) as client:
        if mode == "legacy" and level:
            params = t.SetLevelRequestParams(level=level)
            await client.session.send_request(t.SetLevelRequest(params=params), t.EmptyResult)
        await client.call_tool("test_tool_with_logging", {})
    assert (
        told
        == ["Tool execution started", "Tool processing data", "Tool execution completed"][:heard]
    )


async def test_a_level_that_is_none_is_refused(gateway: Running, http: httpx2.AsyncClient) -> None:
    hand = Hand(http=http, url=f"{gateway.url}/web", key=gateway.key("caller"))
    session = await hand.begin({})
    reply = await session.post("logging/setLevel", {"level": "loud"}, 1)
    assert reply.json()["error"]["code"] == -32602


async def test_a_level_without_a_session_is_refused_since_it_would_be_everybodys(
    gateway: Running, http: httpx2.AsyncClient
) -> None:
    hand = Hand(http=http, url=f"{gateway.url}/web", key=gateway.key("caller"))
    refused = await hand.post("logging/setLevel", {"level": "error"}, 1)
    heard = await hand.post("tools/call", {"name": "test_tool_with_logging"}, 2)
    assert refused.json()["error"]["code"] == -32602
    assert "session" in refused.json()["error"]["message"]
    assert "Tool processing data" in heard.text


@pytest.mark.parametrize("server", ["web", "pipe", "legacy", "modern"])
async def test_an_older_caller_is_asked_on_the_way(gateway: Running, server: str) -> None:
    rounds = server == "modern"  # which cannot ask on the way: the gateway asks in its place
    async with able_client(gateway, server, "legacy") as client:
        if rounds:
            asked = await client.call_tool("test_input_required_result_elicitation", {})
            every = await client.call_tool("test_input_required_result_multiple_inputs", {})
            steps = await client.call_tool("test_input_required_result_multi_round", {})
            assert text_of(every) == "all three were answered"
            assert text_of(steps) == "both steps were taken"
            assert text_of(asked) == "Hello, Ada!"
            return
        asked = await client.call_tool("test_elicitation", {"message": "Who?"})
        sampled = await client.call_tool("test_sampling", {"prompt": "whales"})
    assert "action=accept" in text_of(asked)
    assert text_of(sampled) == "LLM response: about whales"


@pytest.mark.parametrize("server", ["web", "pipe", "modern"])
async def test_a_newer_caller_is_asked_between_rounds(gateway: Running, server: str) -> None:
    async with able_client(gateway, server, MODERN) as client:
        every = await client.call_tool("test_input_required_result_multiple_inputs", {})
        steps = await client.call_tool("test_input_required_result_multi_round", {})
        rooted = await client.call_tool("test_input_required_result_list_roots", {})
    assert text_of(every) == "all three were answered"
    assert text_of(steps) == "both steps were taken"
    assert text_of(rooted) == "Roots: file:///home/ada"


@pytest.mark.parametrize("server", ["web", "pipe", "legacy"])
async def test_nobody_is_asked_what_it_cannot_answer(gateway: Running, server: str) -> None:
    async with client_of(gateway, server, "legacy") as client:
        result = await client.call_tool("test_elicitation", {"message": "Who?"})
    assert result.is_error
    assert text_of(result) == "the caller cannot be asked"


async def test_a_newer_caller_of_an_older_server_cannot_be_asked_and_is_told_so(
    gateway: Running,
) -> None:
    async with able_client(gateway, "legacy", MODERN) as client:
        result = await client.call_tool("test_elicitation", {"message": "Who?"})
    assert result.is_error
    assert text_of(result) == "the caller cannot be asked"


async def test_what_a_caller_can_be_asked_is_told_with_every_request(gateway: Running) -> None:
    async with client_of(gateway, "web", MODERN, sampling_callback=None) as client:
        with pytest.raises(Exception, match="needs sampling"):
            await client.call_tool("test_missing_capability", {})
    async with able_client(gateway, "web", MODERN) as client:
        result = await client.call_tool("test_missing_capability", {})
    assert text_of(result) == "the caller can sample"
