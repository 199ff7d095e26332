"""How the common MCP clients are connected to an endpoint: a text each, to be copied.

None holds a key: `rmt_…` or `$REMIT_KEY` stands in its place, as in `docs/get-started.md`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any, Final

NAME: Final = "remit"
"""What clients call the server."""

NO_KEY: Final = "rmt_…"
"""Stands where a key goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How one client is connected.

    Attributes:
        key: Of the setup, for links and tests.
        title: The client, for people.
        where: Where the text goes, and what else there is to know.
        text: What is copied.
    """

    key: str
    title: str
    where: str
    text: str


def mcp_servers(url: str, key: str = NO_KEY) -> str:
    """Return the JSON that most clients read (S2.22)."""
    headers = {"Authorization": f"Bearer {key}"}
    return _json({"mcpServers": {NAME: {"type": "http", "url": url, "headers": headers}}})


def setups(url: str, *, base: str, server: str = "") -> Sequence[Setup]:
    """Return a setup for each of the common clients.

    Args:
        url: The endpoint.
        base: The root of the gateway's own URLs.
        server: The one server that the endpoint is of; empty for that of all servers.
    """
    return (
        Setup(
            key="claude-code",
            title="Claude Code",
            where="Once in a terminal, with the key in REMIT_KEY.",
            text=f"claude mcp add --transport http {NAME} {quote(url)} \\\n"
            '  --header "Authorization: Bearer $REMIT_KEY"',
        ),
        Setup(
            key="json",
            title="Most clients (mcpServers)",
            where="In the client's configuration, such as .mcp.json of a project.",
            text=mcp_servers(url),
        ),
        _claude_desktop(url),
        Setup(
            key="cursor",
            title="Cursor",
            where="In ~/.cursor/mcp.json, or .cursor/mcp.json of a project;"
            " the key is in REMIT_KEY of the environment that Cursor starts in.",
            text=_json({"mcpServers": {NAME: _entry(url, "${env:REMIT_KEY}")}}),
        ),
        _vs_code(url),
        Setup(
            key="curl",
            title="curl",
            where="In a terminal, with the key in REMIT_KEY: lists the tools.",
            text=f'curl -s {quote(url)} -H "Authorization: Bearer $REMIT_KEY" \\\n'
            '  -H "Content-Type: application/json" \\\n'
            """  -d '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'""",
        ),
        _python(base, server),
    )


def _claude_desktop(url: str) -> Setup:
    bridge = {
        "command": "npx",
        "args": ["-y", "mcp-remote", url, "--header", "Authorization:${REMIT_HEADER}"],
        "env": {"REMIT_HEADER": f"Bearer {NO_KEY}"},
    }
    return Setup(
        key="claude-desktop",
        title="Claude Desktop",
        where="In claude_desktop_config.json. It starts its servers itself, so that mcp-remote"
        " stands in between (Node.js is needed; --allow-http for plain http beyond this machine).",
        text=_json({"mcpServers": {NAME: bridge}}),
    )


def _vs_code(url: str) -> Setup:
    asked = {
        "type": "promptString",
        "id": "remit-key",
        "description": "Key of remit",
        "password": True,
    }
    entry = {"type": "http", **_entry(url, "${input:remit-key}")}
    return Setup(
        key="vs-code",
        title="VS Code",
        where="In .vscode/mcp.json; VS Code asks for the key once and keeps it.",
        text=_json({"inputs": [asked], "servers": {NAME: entry}}),
    )


def _python(base: str, server: str) -> Setup:
    only = f'server="{server}"' if server else ""
    return Setup(
        key="python",
        title="Python",
        where="With remit installed, and the key in REMIT_KEY.",
        text=f"from remit import Client\n\n"
        f'with Client("{base}") as client:  # the key comes from $REMIT_KEY\n'
        f"    for tool in client.list_tools({only}):\n"
        "        print(tool.name)",
    )


def _entry(url: str, key: str) -> dict[str, Any]:
    return {"url": url, "headers": {"Authorization": f"Bearer {key}"}}


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
