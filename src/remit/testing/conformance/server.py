"""The fixture server of the conformance suite, on the protocol library's low-level server.

    python -m remit.testing.conformance.server --port 9000
    python -m remit.testing.conformance.server --stdio

It speaks both eras, or over HTTP only the one of `--era`; there it prints its URL on one line as
soon as it listens.
"""

import argparse
import os
import socket
import sys
import warnings
from typing import Any, Final

import anyio
import mcp_types as t
import uvicorn
from mcp import MCPDeprecationWarning, MCPError
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, SubscriptionBus
from mcp_types import INVALID_PARAMS, INVALID_REQUEST
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from remit.testing.conformance.contents import PNG, embedded, form, image, text
from remit.testing.conformance.rounds import Answer, Context, content_of, needed
from remit.testing.conformance.tools import VISITOR, offered, run, schema_of

NAME: Final = "conformance-fixture"

_RESOURCES: Final = {
    "test://static-text": ("text/plain", "This is the content of the static text resource."),
    "test://static-binary": ("image/png", ""),
    "test://watched-resource": ("text/plain", "Somebody watches this."),
}
_TEMPLATE: Final = "test://template/{id}/data"
_ARGUMENTS: Final = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
    VISITOR: (),
}
"""The prompts, each with the arguments that it needs."""


class Fixture:
    """What the server offers, and what the suite's triggers change of it."""

    def __init__(self) -> None:
        self.bus: SubscriptionBus = InMemorySubscriptionBus()
        self.tool_is_there = False
        self.prompt_is_there = False
        self._watched: set[str] = set()

    async def list_tools(
        self, _: Context, __: t.PaginatedRequestParams | None
    ) -> t.ListToolsResult:
        """Answer `tools/list`."""
        return t.ListToolsResult(tools=offered(self), ttl_ms=0, cache_scope="private")

    async def call_tool(self, ctx: Context, params: t.CallToolRequestParams) -> Answer:
        """Answer `tools/call`; in the older eras a change is told on the standing stream."""
        before = self.tool_is_there, self.prompt_is_there
        answer = await run(ctx, params, self)
        if ctx.protocol_version < t.LATEST_PROTOCOL_VERSION:
            if self.tool_is_there != before[0]:
                await ctx.session.send_tool_list_changed()
            if self.prompt_is_there != before[1]:
                await ctx.session.send_prompt_list_changed()
        return answer

    async def list_resources(
        self, _: Context, __: t.PaginatedRequestParams | None
    ) -> t.ListResourcesResult:
        """Answer `resources/list`."""
        resources = [
            t.Resource(
                uri=uri, name=uri.partition("//")[2], description="For the suite", mime_type=kind
            )
            for uri, (kind, _) in _RESOURCES.items()
        ]
        return t.ListResourcesResult(resources=resources, ttl_ms=0, cache_scope="private")

    async def list_templates(
        self, _: Context, __: t.PaginatedRequestParams | None
    ) -> t.ListResourceTemplatesResult:
        """Answer `resources/templates/list`."""
        template = t.ResourceTemplate(
            uri_template=_TEMPLATE,
            name="template",
            description="For the suite",
            mime_type="application/json",
        )
        return t.ListResourceTemplatesResult(
            resource_templates=[template], ttl_ms=0, cache_scope="private"
        )

    async def read(self, _: Context, params: t.ReadResourceRequestParams) -> t.ReadResourceResult:
        """Answer `resources/read`."""
        contents = _contents(str(params.uri))
        if contents is None:
            raise MCPError(INVALID_PARAMS, "Resource not found", {"uri": str(params.uri)})
        return t.ReadResourceResult(contents=[contents], ttl_ms=0, cache_scope="private")

    async def subscribe(self, _: Context, params: t.SubscribeRequestParams) -> t.EmptyResult:
        """Answer `resources/subscribe`."""
        self._watched.add(str(params.uri))
        return t.EmptyResult()

    async def unsubscribe(self, _: Context, params: t.UnsubscribeRequestParams) -> t.EmptyResult:
        """Answer `resources/unsubscribe`."""
        self._watched.discard(str(params.uri))
        return t.EmptyResult()

    async def list_prompts(
        self, _: Context, __: t.PaginatedRequestParams | None
    ) -> t.ListPromptsResult:
        """Answer `prompts/list`."""
        prompts = [
            t.Prompt(
                name=name,
                description="For the suite",
                arguments=[
                    t.PromptArgument(name=argument, description="Needed", required=True)
                    for argument in arguments
                ],
            )
            for name, arguments in _ARGUMENTS.items()
            if name != VISITOR or self.prompt_is_there
        ]
        return t.ListPromptsResult(prompts=prompts, ttl_ms=0, cache_scope="private")

    async def get_prompt(
        self, _: Context, params: t.GetPromptRequestParams
    ) -> t.GetPromptResult | t.InputRequiredResult:
        """Answer `prompts/get`."""
        given = params.arguments or {}
        match params.name:
            case "test_prompt_with_arguments":
                words = f"Prompt with arguments: arg1='{given.get('arg1')}', "
                blocks = [text(f"{words}arg2='{given.get('arg2')}'")]
            case "test_prompt_with_embedded_resource":
                words = "Embedded resource content for testing."
                blocks = [
                    embedded(given.get("resourceUri", ""), "text/plain", words),
                    text("Please process the embedded resource above."),
                ]
            case "test_prompt_with_image":
                blocks = [image(), text("Please analyze the image above.")]
            case "test_input_required_result_prompt":
                filled = content_of(params.input_responses, "user_context")
                if filled is None:
                    message = "What context should the prompt use?"
                    return needed({"user_context": form(message, context={"type": "string"})})
                blocks = [text(f"In the context of {filled.get('context')}")]
            case name if name in _ARGUMENTS:
                blocks = [text("This is a simple prompt for testing.")]
            case name:
                raise MCPError(INVALID_PARAMS, f"Unknown prompt: {name}")
        messages = [t.PromptMessage(role="user", content=block) for block in blocks]
        return t.GetPromptResult(messages=messages)

    async def complete(self, _: Context, params: t.CompleteRequestParams) -> t.CompleteResult:
        """Answer `completion/complete`."""
        words = [word for word in ("paris", "park", "party", "test") if word]
        values = [word for word in words if word.startswith(params.argument.value)]
        completion = t.Completion(values=values, total=len(values), has_more=False)
        return t.CompleteResult(completion=completion)


def _contents(uri: str) -> t.TextResourceContents | t.BlobResourceContents | None:
    if uri in _RESOURCES:
        kind, words = _RESOURCES[uri]
        if not words:
            return t.BlobResourceContents(uri=uri, mime_type=kind, blob=PNG)
        return t.TextResourceContents(uri=uri, mime_type=kind, text=words)
    before, after = _TEMPLATE.split("{id}")
    number = uri.removeprefix(before).removesuffix(after)
    if before + number + after != uri or "/" in number:
        return None
    words = f'{{"id":"{number}","templateTest":true,"data":"Data for ID: {number}"}}'
    return t.TextResourceContents(uri=uri, mime_type="application/json", text=words)


async def _set_level(_: Context, __: t.SetLevelRequestParams) -> t.EmptyResult:
    return t.EmptyResult()


def build() -> Server[Any]:
    """Return the server."""
    fixture = Fixture()
    with warnings.catch_warnings():
        # The suite still asks for what 2026-07-28 has deprecated.
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        server = Server[Any](
            NAME,
            version="1",
            get_tool_input_schema=schema_of,
            on_list_tools=fixture.list_tools,
            on_call_tool=fixture.call_tool,
            on_list_resources=fixture.list_resources,
            on_list_resource_templates=fixture.list_templates,
            on_read_resource=fixture.read,
            on_subscribe_resource=fixture.subscribe,
            on_unsubscribe_resource=fixture.unsubscribe,
            on_subscriptions_listen=ListenHandler(fixture.bus),
            on_list_prompts=fixture.list_prompts,
            on_get_prompt=fixture.get_prompt,
            on_completion=fixture.complete,
            on_set_logging_level=_set_level,
        )
    server.middleware.append(
        RequestStateBoundary(
            RequestStateSecurity(keys=[os.urandom(32)]), default_audience=server.name
        )
    )
    return server


async def _serve_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


class _OneEra:
    """Refuses the messages of the other era, as a server does that never heard of it."""

    def __init__(self, app: ASGIApp, *, modern: bool) -> None:
        self._app = app
        self._modern = modern

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] == "http":
            version = Headers(scope=scope).get("mcp-protocol-version", "")
            if (version == t.LATEST_PROTOCOL_VERSION) is not self._modern:
                error = {"code": INVALID_REQUEST, "message": "not of this era"}
                refusal = JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 400)
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _serve_http(server: Server[Any], port: int, era: str) -> None:
    app: ASGIApp = server.streamable_http_app()
    if era != "both":
        app = _OneEra(app, modern=era == "modern")
    with socket.create_server(("127.0.0.1", port)) as listening:
        sys.stdout.write(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp\n")
        sys.stdout.flush()
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listening])


def main() -> None:
    """Serve until the end."""
    parser = argparse.ArgumentParser(description="Serve what the conformance suite calls.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--era", choices=("both", "legacy", "modern"), default="both")
    parser.add_argument("--stdio", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    server = build()
    if given.stdio:
        anyio.run(_serve_stdio, server)
    else:
        _serve_http(server, given.port, given.era)


if __name__ == "__main__":
    main()
