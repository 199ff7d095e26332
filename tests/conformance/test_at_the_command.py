"""`remit stdio` carries what a server says and asks to the one caller it has."""

import sys
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from tests.conformance.callers import ERAS, accept, sample, text_of

from remit.testing.gateway import MODERN, Running, environment


@pytest.mark.parametrize("mode", ERAS)
async def test_the_one_caller_is_told_and_asked(gateway: Running, mode: str) -> None:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "remit", "stdio", "--as", "role:caller", "--config", str(gateway.config)],
        cwd=gateway.folder,
        env=environment(),
    )
    heard: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        del total, message
        heard.append(progress)

    asked: dict[str, Any] = {"message": "Who?"}
    tool = "web__test_input_required_result_elicitation"
    async with Client(
        command, mode=mode, cache=None, elicitation_callback=accept, sampling_callback=sample
    ) as client:
        listed: set[str] = set()
        while tool not in listed:  # the server behind may still be starting
            listed = {entry.name for entry in (await client.list_tools()).tools}
        await client.call_tool("web__test_tool_with_progress", {}, progress_callback=note)
        if mode == MODERN:
            result = await client.call_tool(tool, {})
            assert text_of(result) == "Hello, Ada!"
        else:
            result = await client.call_tool("web__test_elicitation", asked)
            assert "action=accept" in text_of(result)
    assert heard == [0, 50, 100]
