"""Tools of the fixture that answer at once, tell of their way, or ask the caller back."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

import anyio
import mcp_types as t
from mcp import MCPError
from mcp.server.subscriptions import PromptsListChanged, SubscriptionBus, ToolsListChanged
from mcp.shared.message import ServerMessageMetadata
from mcp_types import INVALID_PARAMS, MISSING_REQUIRED_CLIENT_CAPABILITY

from remit.testing.conformance.contents import (
    ALL_DEFAULTS,
    ALL_ENUMS,
    NO_ARGUMENTS,
    SCHEMA_2020_12,
    asked,
    audio,
    embedded,
    form,
    image,
    sampled,
    text,
)
from remit.testing.conformance.rounds import ROUNDS, Answer, Context, said

STEP: Final = 0.05
"""Seconds between two notices."""

VISITOR: Final = "test_comes_and_goes"
"""A tool, and a prompt, of which each call of a trigger changes whether it is there."""


class Moods(Protocol):
    """What the triggers change."""

    bus: SubscriptionBus
    tool_is_there: bool
    prompt_is_there: bool


Run = Callable[[Context, Mapping[str, Any], Moods], Awaitable[Answer]]


async def _simple_text(_: Context, __: Mapping[str, Any], ___: Moods) -> Answer:
    return said("This is a simple text response for testing.")


async def _image(_: Context, __: Mapping[str, Any], ___: Moods) -> Answer:
    return t.CallToolResult(content=[image()])


async def _audio(_: Context, __: Mapping[str, Any], ___: Moods) -> Answer:
    return t.CallToolResult(content=[audio()])


async def _embedded(_: Context, __: Mapping[str, Any], ___: Moods) -> Answer:
    words = "This is an embedded resource content."
    return t.CallToolResult(content=[embedded("test://embedded-resource", "text/plain", words)])


async def _mixed(_: Context, __: Mapping[str, Any], ___: Moods) -> Answer:
    resource = embedded(
        "test://mixed-content-resource", "application/json", '{"test":"data","value":123}'
    )
    return t.CallToolResult(content=[text("Multiple content types test:"), image(), resource])


async def _error(_: Context, __: Mapping[str, Any], ___: Moods) -> Answer:
    words = "This tool intentionally returns an error for testing"
    return t.CallToolResult(content=[text(words)], is_error=True)


async def _progress(ctx: Context, _: Mapping[str, Any], __: Moods) -> Answer:
    for percent in (0, 50, 100):
        await ctx.session.report_progress(percent, 100)
        await anyio.sleep(STEP)
    return said("it is done")


async def _logging(ctx: Context, _: Mapping[str, Any], __: Moods) -> Answer:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message(  # pyright: ignore[reportDeprecated] - still relayed
            "info", words, related_request_id=ctx.request_id
        )
        await anyio.sleep(STEP)
    return said("it was told")


async def _missing_capability(ctx: Context, _: Mapping[str, Any], __: Moods) -> Answer:
    able = ctx.session.client_capabilities
    if able is None or able.sampling is None:
        raise MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY,
            "this tool needs sampling",
            {"requiredCapabilities": {"sampling": {}}},
        )
    return said("the caller can sample")


async def _trigger_tools(_: Context, __: Mapping[str, Any], moods: Moods) -> Answer:
    moods.tool_is_there = not moods.tool_is_there
    await moods.bus.publish(ToolsListChanged())
    return said("the list of tools has changed")


async def _trigger_prompts(_: Context, __: Mapping[str, Any], moods: Moods) -> Answer:
    moods.prompt_is_there = not moods.prompt_is_there
    await moods.bus.publish(PromptsListChanged())
    return said("the list of prompts has changed")


async def _sampling(ctx: Context, given: Mapping[str, Any], _: Moods) -> Answer:
    able = ctx.session.client_capabilities
    if able is None or able.sampling is None:
        return t.CallToolResult(content=[text("the caller cannot sample")], is_error=True)
    answer = await ctx.session.send_request(
        sampled(str(given.get("prompt", ""))), t.CreateMessageResult, metadata=_on_the_way(ctx)
    )
    blocks = answer.content if isinstance(answer.content, list) else [answer.content]
    words = " ".join(block.text for block in blocks if isinstance(block, t.TextContent))
    return said(f"LLM response: {words}")


async def _elicitation(ctx: Context, given: Mapping[str, Any], _: Moods) -> Answer:
    question = form(
        str(given.get("message", "")),
        username={"type": "string", "description": "User's response"},
        email={"type": "string", "description": "User's email address"},
    )
    return await _ask(ctx, question, "User response")


async def _defaults(ctx: Context, _: Mapping[str, Any], __: Moods) -> Answer:
    return await _ask(ctx, asked("Look at the defaults", ALL_DEFAULTS), "Elicitation completed")


async def _enums(ctx: Context, _: Mapping[str, Any], __: Moods) -> Answer:
    return await _ask(ctx, asked("Make your choices", ALL_ENUMS), "Elicitation completed")


async def _ask(ctx: Context, question: t.ElicitRequest, title: str) -> Answer:
    able = ctx.session.client_capabilities
    if able is None or able.elicitation is None:
        return t.CallToolResult(content=[text("the caller cannot be asked")], is_error=True)
    answer = await ctx.session.send_request(question, t.ElicitResult, metadata=_on_the_way(ctx))
    content = t.ElicitResult.model_validate(answer).model_dump_json(
        by_alias=True, exclude_none=True
    )
    return said(f"{title}: action={answer.action}, content={content}")


def _on_the_way(ctx: Context) -> ServerMessageMetadata:
    """Return what sends a question on the stream of the request that needs it."""
    return ServerMessageMetadata(related_request_id=ctx.request_id)


RUNS: Final[Mapping[str, Run]] = {
    "test_simple_text": _simple_text,
    "test_image_content": _image,
    "test_audio_content": _audio,
    "test_embedded_resource": _embedded,
    "test_multiple_content_types": _mixed,
    "test_error_handling": _error,
    "test_tool_with_progress": _progress,
    "test_tool_with_logging": _logging,
    "test_logging_tool": _logging,
    "test_missing_capability": _missing_capability,
    "test_trigger_tool_change": _trigger_tools,
    "test_trigger_prompt_change": _trigger_prompts,
    "test_sampling": _sampling,
    "test_elicitation": _elicitation,
    "test_elicitation_sep1034_defaults": _defaults,
    "test_elicitation_sep1330_enums": _enums,
    "test_custom_header": _simple_text,
    "json_schema_2020_12_tool": _simple_text,
    VISITOR: _simple_text,
}
_SCHEMAS: Final[Mapping[str, dict[str, Any]]] = {
    "json_schema_2020_12_tool": SCHEMA_2020_12,
    "test_sampling": {
        "type": "object",
        "properties": {"prompt": {"type": "string"}},
        "required": ["prompt"],
    },
    "test_elicitation": {
        "type": "object",
        "properties": {"message": {"type": "string"}},
        "required": ["message"],
    },
    "test_custom_header": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    },
}


def offered(moods: Moods) -> list[t.Tool]:
    """Return the tools as they are listed now."""
    names = [*RUNS, *ROUNDS]
    return [
        t.Tool(
            name=name,
            description=f"The suite calls it as {name}",
            input_schema=_SCHEMAS.get(name, NO_ARGUMENTS),
        )
        for name in names
        if name != VISITOR or moods.tool_is_there
    ]


def schema_of(name: str) -> Mapping[str, Any] | None:
    """Return a tool's input schema."""
    return _SCHEMAS.get(name, NO_ARGUMENTS)


async def run(ctx: Context, params: t.CallToolRequestParams, moods: Moods) -> Answer:
    """Run a tool."""
    rounds = ROUNDS.get(params.name)
    if rounds is not None:
        return rounds(ctx, params)
    plain = RUNS.get(params.name)
    if plain is None:
        raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
    return await plain(ctx, params.arguments or {}, moods)
