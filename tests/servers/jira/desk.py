"""Asking the Jira server as a client would; every answer is held to its tool's own schema."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema_rs

from remit.servers.jira.server import JiraServer, open_server

TOKEN = "jira-token-that-nobody-may-see"


class Desk:
    """A server and what is asked of it."""

    def __init__(self, server: JiraServer) -> None:
        self.server = server
        self._shapes = {
            str(tool["name"]): jsonschema_rs.validator_for(dict(_schema(tool)))
            for tool in server.tools()
        }

    async def ask(self, tool: str, **arguments: object) -> Any:
        """Return the structured result of a call that must go well."""
        result = await self.server.call_tool(tool, arguments)
        assert not result["isError"], result
        structured = result["structuredContent"]
        self._shapes[tool].validate(structured)
        assert TOKEN not in str(result)
        return structured

    async def refused(self, tool: str, **arguments: object) -> str:
        """Return the message of a call that must not go well."""
        result: Any = await self.server.call_tool(tool, arguments)
        assert result["isError"], result
        assert TOKEN not in str(result)
        return str(result["content"][0]["text"])


def _schema(tool: Any) -> dict[str, object]:
    return tool["outputSchema"]


@asynccontextmanager
async def open_desk(url: str, user: str = "", *args: str, **more: str) -> AsyncGenerator[Desk]:
    """Open the server for the Jira at *url*."""
    environ = {"JIRA_URL": url, "JIRA_USERNAME": user, "JIRA_API_TOKEN": TOKEN, **more}
    server = open_server(args, environ, Path())
    try:
        yield Desk(server)
    finally:
        await server.aclose()
