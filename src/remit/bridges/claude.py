# pyright: basic, reportMissingImports=false
# The SDK is in an environment of its own, which the type checker does not see.
"""Tools of a principal for agents of the Claude Agent SDK, as a server in the same process.

    Claude Code ─tools/list, tools/call─▶ RemitServer ─▶ Toolset
                ◀─switched off and on── hooks: the list has changed

Claude Code asks a server for its tools once, when it connects, and hears of no change from servers
in the program. Hooks look after each call and at each prompt, and let it connect anew.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from remit.bridges.answers import blocks_of, failed
from remit.bridges.frameworks import LeftOut, ToolProgress, not_installed, progress_of
from remit.bridges.toolset import Toolset
from remit.client.tools import CallResult, ToolDefinition
from remit.errors import RemitError

try:
    import mcp_types
    from claude_agent_sdk import ClaudeSDKClient, HookMatcher, McpSdkServerConfig
    from mcp.server.lowlevel import Server
    from pydantic import ValidationError
except ModuleNotFoundError as missing:
    raise not_installed("claude", missing) from missing

_PROPERTY: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""What Anthropic's API takes as the name of an argument."""


class RemitServer:
    """What a principal may use, for `ClaudeAgentOptions(**server.options)`.

    The toolset stays its owner's to close.

    Attributes:
        left_out: Tools that Claude cannot take, and why.
    """

    def __init__(
        self, toolset: Toolset, *, name: str = "remit", on_progress: ToolProgress | None = None
    ) -> None:
        """Take the tools of *toolset*; nothing is asked before Claude Code connects.

        Args:
            toolset: Whose tools.
            name: Of the server; a tool is called `mcp__{name}__{tool}`.
            on_progress: Hears how far a call is; the SDK hands on nothing of it.
        """
        self.left_out = LeftOut("Claude")
        self._toolset = toolset
        self._name = name
        self._on_progress = on_progress
        self._listed: tuple[ToolDefinition, ...] | None = None
        self._under_way = 0
        self._client: ClaudeSDKClient | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Its part of `ClaudeAgentOptions`: the server, leave to call its tools, and hooks."""
        return {
            "mcp_servers": {self._name: self.config},
            "allowed_tools": self.allowed_tools,
            "hooks": self.hooks,
        }

    @property
    def config(self) -> McpSdkServerConfig:
        """The server, for `mcp_servers`, under the name that it was given."""
        server = Server(self._name, on_list_tools=self._list, on_call_tool=self._call)
        return McpSdkServerConfig(type="sdk", name=self._name, instance=server)

    @property
    def allowed_tools(self) -> list[str]:
        """Leave to call all of its tools, those of later on among them; remit decides each call."""
        return [f"mcp__{self._name}"]

    @property
    def hooks(self) -> dict[str, list[HookMatcher]]:
        """What looks for changes, once `follow` was called."""
        looking = HookMatcher(hooks=[self._look])
        moments = ("UserPromptSubmit", "PostToolUse", "PostToolUseFailure")
        return {moment: [looking] for moment in moments}

    def follow(self, client: ClaudeSDKClient) -> None:
        """Let Claude Code know of changes by *client*, which has the hooks of this server."""
        self._client = client

    async def _look(self, happened: Any, *_: Any) -> dict[str, Any]:
        client, before = self._client, self._listed
        # Whoever is switched off loses the calls under way; the last of them looks again.
        if self._under_way:
            return {}
        try:
            now = await self._toolset.tools()
        except RemitError as error:  # else Claude Code goes on without its tools, and says nothing
            return {"continue_": False, "stopReason": f"no tools of remit: {error}"}
        if client is None or now == before or self._under_way:
            return {}
        await client.toggle_mcp_server(self._name, enabled=False)
        await client.toggle_mcp_server(self._name, enabled=True)
        event = happened["hook_event_name"]
        news = self._news(_names(before or ()), _names(now))
        return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": news}}

    def _news(self, before: set[str], now: set[str]) -> str:
        """Return what to tell the model: Claude Code goes on to show it what was taken away."""
        told = [
            ("The following tools just became available and are ready to use:", now - before),
            ("The following tools are no longer available. Do not call them:", before - now),
        ]
        lines = [
            "\n".join([line, *(f"mcp__{self._name}__{name}" for name in sorted(names))])
            for line, names in told
            if names
        ]
        return "\n\n".join(lines) or "The descriptions of some tools have changed."

    async def _list(self, _context: Any, _params: Any) -> mcp_types.ListToolsResult:
        self._listed = await self._toolset.tools()
        offered: list[mcp_types.Tool] = []
        for tool in self._listed:
            properties = tool.input_schema.get("properties") or {}
            unfit = [name for name in properties if not _PROPERTY.fullmatch(name)]
            if unfit:
                self.left_out.note(tool.name, f"Claude takes no argument called {unfit[0]!r}")
            else:
                offered.append(_listed(tool))
        return mcp_types.ListToolsResult(tools=offered)

    async def _call(self, _context: Any, params: Any) -> mcp_types.CallToolResult:
        progress = progress_of(self._on_progress, params.name)
        self._under_way += 1
        try:
            result = await self._toolset.call(
                params.name, params.arguments or {}, progress=progress
            )
        except RemitError as error:  # would be told as a fault of the protocol
            result = failed(str(error))
        finally:
            self._under_way -= 1
        return _answer(result)


def _names(tools: Sequence[ToolDefinition]) -> set[str]:
    return {tool.name for tool in tools}


def _listed(tool: ToolDefinition) -> mcp_types.Tool:
    return mcp_types.Tool.model_validate(
        {
            "name": tool.name,
            "title": tool.title or None,
            "description": tool.description or tool.name,
            "inputSchema": {"properties": {}, **tool.input_schema},
            "annotations": tool.annotations or None,
        }
    )


def _answer(result: CallResult) -> mcp_types.CallToolResult:
    answer = {"content": blocks_of(result), "isError": result.is_error}
    try:
        return mcp_types.CallToolResult.model_validate(answer)
    except ValidationError:  # a block that the protocol library does not know
        text = mcp_types.TextContent(type="text", text=result.text)
        return mcp_types.CallToolResult(content=[text], is_error=result.is_error)
