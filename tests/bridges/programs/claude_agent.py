# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Claude Code under the Claude Agent SDK, with a stub of its API on the loopback."""

import asyncio
import json
import os
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient
from inside import GIVEN, WAYS, change, happen, report, toolset, until_ran, working_day
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from remit.bridges.claude import RemitServer
from remit.bridges.toolset import Toolset

PREFIX = "mcp__remit__"


class Scripted:
    """A model behind the Messages API: makes the calls it was told, one a turn, then answers."""

    def __init__(self) -> None:
        self.steps: list[Any] = []
        self.offered: list[list[str]] = []
        self.shown: dict[str, Any] = {}
        self.heard: list[Any] = []
        self.all_at_once: dict[str, Any] = {}

    async def messages(self, request: Request) -> Response:
        asked = await request.json()
        tools = {tool["name"]: tool for tool in asked["tools"] if tool["name"].startswith(PREFIX)}
        gone = _withdrawn(asked["messages"])
        self.offered.append([name.removeprefix(PREFIX) for name in tools if name not in gone])
        self.shown = {name.removeprefix(PREFIX): tool for name, tool in tools.items()}
        self.heard = [
            [_text(block["content"]), block.get("is_error", False)]
            for message in asked["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
            if block["type"] == "tool_result"
        ]
        await happen(self.steps)
        calls = [self.steps.pop(0)] if self.steps else []
        if self.all_at_once:
            calls, self.all_at_once = list(self.all_at_once.items()), {}
        return StreamingResponse(_said(asked["model"], calls), media_type="text/event-stream")


def _withdrawn(messages: list[Any]) -> set[str]:
    """Return the tools that the model was told are gone; Claude Code goes on to show them."""
    gone: set[str] = set()
    for message in messages:
        for there, names in _NEWS.findall(_text(message["content"])):
            change = gone.difference_update if "became" in there else gone.update
            change(names.split())
    return gone


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(one.get("text", "") for one in content)


_NEWS = re.compile(r"The following tools (.*):\n((?:mcp__\S+\n?)+)")


async def _said(model: str, calls: list[Any]) -> AsyncIterator[str]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {
        "id": _new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
    }
    yield _event("message_start", message={**message, "stop_reason": None, "usage": usage})
    blocks = [_call(name, arguments) for name, arguments in calls]
    blocks = blocks or [({"type": "text", "text": ""}, {"type": "text_delta", "text": "done"})]
    for index, (block, delta) in enumerate(blocks):
        yield _event("content_block_start", index=index, content_block=block)
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    reason = "tool_use" if calls else "end_turn"
    yield _event("message_delta", delta={"stop_reason": reason}, usage=usage)
    yield _event("message_stop")


def _call(name: str, arguments: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    use = {"type": "tool_use", "id": _new_id("toolu"), "name": PREFIX + name, "input": {}}
    return use, {"type": "input_json_delta", "partial_json": json.dumps(arguments)}


def _new_id(kind: str) -> str:
    return f"{kind}_{os.urandom(6).hex()}"


def _event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


@asynccontextmanager
async def served(model: Scripted) -> AsyncIterator[dict[str, str]]:
    """Serve the API, and give what Claude Code has to be told."""

    async def nothing(_: Request) -> Response:
        return JSONResponse({})

    routes = [
        Route("/v1/messages", model.messages, methods=["POST"]),
        Route("/{path:path}", nothing, methods=["GET", "POST", "HEAD"]),
    ]
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="error"))
    async with asyncio.TaskGroup() as group:
        listening = socket.create_server(("127.0.0.1", 0))
        group.create_task(server.serve([listening]))
        yield {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{listening.getsockname()[1]}",
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CONFIG_DIR": os.fspath(Path.cwd() / "claude"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            **({"ENABLE_TOOL_SEARCH": "false"} if "arguments" in GIVEN else {}),
        }
        server.should_exit = True


@asynccontextmanager
async def claude(server: RemitServer, environ: dict[str, str]) -> AsyncIterator[ClaudeSDKClient]:
    options = ClaudeAgentOptions(
        **server.options, env=environ, tools=[], setting_sources=[], model="claude-scripted"
    )
    async with ClaudeSDKClient(options) as client:
        server.follow(client)
        yield client


async def turn(client: ClaudeSDKClient) -> Any:
    await client.query("Go on")
    last: Any = None
    async for message in client.receive_response():
        last = message
    return last.result


async def day(way: str, times: int, model: Scripted, environ: dict[str, str]) -> dict[str, Any]:
    """Go through everything that a bridge is held to."""
    told: dict[str, Any] = {}
    progress: list[Any] = []
    async with toolset("reader", way) as tools, toolset("writer", way) as others:
        server = RemitServer(tools, on_progress=lambda *news: progress.append(news))
        async with claude(RemitServer(others), environ) as client:
            await turn(client)
            told["writer"] = model.offered[-1]
            model.offered = model.offered[-1:]
        async with claude(server, environ) as client:
            model.steps = working_day(tools)
            told["last"] = await turn(client)
            told["reader"], told["heard"] = model.offered[1], model.heard
            told["demoted"], told["progress"] = model.offered[-1], list(progress)
            model.steps = [
                lambda: change("promoted", tools, new=["desk__read", "desk__write"]),
                ("desk__steps", {}),
            ]
            await turn(client)
            told["promoted"] = model.offered[-1]
            await change("as before", tools, gone=["desk__write"])
            await turn(client)
            told["taken at a prompt"] = model.offered[-1]
            await change("promoted", tools, new=["desk__write"])
            await turn(client)
            told["given at a prompt"] = model.offered[-1]
            await change("as before", tools, gone=["desk__write"])
            model.steps = [("desk__slow", {})]
            await client.query("Wait")
            await until_ran("slow", times)
            await client.interrupt()
            async for _ in client.receive_response():
                pass
            told["cancelled"] = True
    return told


async def broken(environ: dict[str, str]) -> dict[str, Any]:
    wrong = {
        "remote": Toolset.remote(GIVEN["url"], key="rmt_wrong"),
        "local": Toolset.local(GIVEN["config"], subject="role:nobody"),
        "away": Toolset.remote("http://127.0.0.1:9", key="rmt_wrong"),
    }
    told = {}
    for name, tools in wrong.items():
        async with claude(RemitServer(tools), environ) as client:
            told[name] = await turn(client)
    return told


async def published() -> dict[str, Any]:
    """Call every tool that is published, all in one turn."""
    model = Scripted()
    async with served(model) as environ, toolset("reader", "local") as tools:
        server = RemitServer(tools)
        async with claude(server, environ) as client:
            wanted = {
                name: of for name, of in GIVEN["arguments"].items() if name not in server.left_out
            }
            model.all_at_once = wanted
            await turn(client)
    answers = dict(zip(wanted, (text for text, _ in model.heard), strict=True))
    shown = {name: tool["input_schema"] for name, tool in model.shown.items()}
    return {"offered": shown, "left_out": server.left_out, "answers": answers}


async def main() -> None:
    if "arguments" in GIVEN:
        report(await published())
        return
    model = Scripted()
    async with served(model) as environ:
        told = {}
        for times, way in enumerate(WAYS, start=1):
            told[way] = await day(way, times, model, environ)
        told["broken"] = await broken(environ)
    report(told)


asyncio.run(main())
