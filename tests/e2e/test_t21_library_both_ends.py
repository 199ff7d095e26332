"""T21 with the protocol library at both ends of a real `remit serve`, over either transport."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.session import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import (
    PromptReference,
    ResourceTemplateReference,
    ResourceUpdatedNotification,
    TextContent,
    TextResourceContents,
)
from tests.e2e.conftest import Serve

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.gateway import Running

PAGE = "wiki://page/1"
SERVER = """
import sys
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import Completion

server = MCPServer(sys.argv[1])
notes = {"1": "the first page"}

@server.tool()
async def edit(page: str, text: str, ctx: Context) -> str:
    notes[page] = text
    await ctx.notify_resource_updated(f"wiki://page/{page}")
    return "done"

@server.prompt()
def greet(who: str) -> str:
    return f"greet {who} from {sys.argv[1]}"

@server.resource("wiki://page/1", mime_type="text/plain")
def first() -> str:
    return f"{notes['1']} of {sys.argv[1]}"

@server.resource("wiki://other/{page}")
def other(page: str) -> str:
    return f"page {page} of {sys.argv[1]}"

@server.completion()
async def complete(ref, argument, context):
    return Completion(values=[argument.value + "1"])

server.run("stdio")
"""


@pytest.fixture(scope="module")
def wikis(serve_module: Serve, module_folder: Path) -> Running:
    script = module_folder / "wiki.py"
    script.write_text(SERVER)
    entry = {"command": sys.executable, "session": "shared"}
    document: dict[str, Any] = {
        "mcp_servers": {
            name: {**entry, "args": [str(script), name]} for name in ("wiki", "mirror")
        },
        "roles": {
            "reader": {"allow": ["wiki/*"]},
            "outsider": {"tools": {"wiki": [], "mirror": ["edit"]}},
        },
    }
    return serve_module(document).settle()


@asynccontextmanager
async def client_of(
    running: Running, role: str, mode: str, heard: Any = None
) -> AsyncGenerator[Client]:
    async with (
        httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {running.key(role)}"},
            timeout=30,
            verify=TRUSTS_NOBODY,
        ) as http,
        Client(
            streamable_http_client(running.url, http_client=http),
            mode=mode,
            cache=None,
            message_handler=heard,
        ) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
async def test_t21_the_library_reads_what_the_role_may_and_nothing_else(
    wikis: Running, mode: str
) -> None:
    async with client_of(wikis, "reader", mode) as client:
        prompts = (await client.list_prompts()).prompts
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        prompt = await client.get_prompt("wiki__greet", {"who": "Ada"})
        read = [
            (await client.read_resource(uri)).contents[0]
            for uri in (f"remit://wiki/{PAGE}", PAGE, "remit://wiki/wiki://other/7")
        ]
        named = await client.complete(
            PromptReference(type="ref/prompt", name="wiki__greet"), {"name": "who", "value": "A"}
        )
        made = await client.complete(
            ResourceTemplateReference(type="ref/resource", uri=templates[0].uri_template),
            {"name": "page", "value": "1"},
        )
    async with client_of(wikis, "outsider", mode) as client:
        nothing = [
            (await client.list_prompts()).prompts,
            (await client.list_resources()).resources,
            (await client.list_resource_templates()).resource_templates,
        ]
        with pytest.raises(MCPError, match="Resource not found"):
            await client.read_resource(PAGE)
        with pytest.raises(MCPError, match="Unknown prompt"):
            await client.get_prompt("wiki__greet", {"who": "Eve"})

    assert [one.name for one in prompts] == ["wiki__greet"]
    assert [one.uri for one in resources] == [f"remit://wiki/{PAGE}"]
    assert [one.uri_template for one in templates] == ["remit://wiki/wiki://other/{page}"]
    said = prompt.messages[0].content
    assert isinstance(said, TextContent)
    assert said.text == "greet Ada from wiki"
    texts = [one.text for one in read if isinstance(one, TextResourceContents)]
    assert texts[0] == texts[1]
    assert [text.rpartition(" of ")[2] for text in texts] == ["wiki"] * 3
    assert texts[2] == "page 7 of wiki"
    assert named.completion.values == ["A1"]
    assert made.completion.values == ["11"]
    assert nothing == [[], [], []]
    told = {(row["tool"], row["decision"]) for row in wikis.audit()}
    assert {("prompt:greet", "allow"), ("prompt:greet", "deny")} <= told
    assert {(f"resource:{PAGE}", "allow"), (f"resource:{PAGE}", "deny")} <= told


async def test_t21_the_library_hears_of_updates_in_the_modern_era(wikis: Running) -> None:
    async with (
        client_of(wikis, "reader", "2026-07-28") as client,
        client.listen(resource_subscriptions=[PAGE]) as events,
    ):
        await client.call_tool("wiki__edit", {"page": "1", "text": "another"})
        with anyio.fail_after(20):
            event = await anext(aiter(events))

    assert event == ResourceUpdated(uri=PAGE)


async def test_t21_what_older_clients_follow_comes_from_a_modern_server(wikis: Running) -> None:
    updated = anyio.Event()

    async def heard(message: IncomingMessage) -> None:
        if isinstance(message, ResourceUpdatedNotification) and message.params.uri == PAGE:
            updated.set()

    async with (
        client_of(wikis, "reader", "2026-07-28") as editor,
        client_of(wikis, "reader", "legacy", heard) as client,
    ):
        with pytest.warns(match="subscribe"):
            await client.subscribe_resource(PAGE)  # pyright: ignore[reportDeprecated] - that era
        with anyio.fail_after(20):
            while not updated.is_set():
                await editor.call_tool("wiki__edit", {"page": "1", "text": "another"})
                with anyio.move_on_after(0.3):
                    await updated.wait()


def test_t21_the_command_line_speaks_of_them_in_the_same_words(wikis: Running) -> None:
    told = wikis.remit("explain", "--as", "role:reader", "wiki/prompt:greet")
    who = wikis.remit("who-can", f"wiki/resource:{PAGE}")
    checked = wikis.remit("check", "--connect")

    assert told.startswith("role:reader may call wiki/prompt:greet")
    assert "no server has offered" not in told
    assert "reader" in who
    assert "outsider" not in who
    assert "0 errors" in checked
