"""The GitHub server over a fake of GitHub, with faults in between, as its tests need it."""

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from remit.servers.github.server import GitHubServer, open_server
from remit.testing.faulty_web import FaultyWeb, Script, open_faulty_web
from remit.testing.github_fake import TOKENS, GitHubFake


@dataclass
class World:
    """A server, and what stands between it and GitHub.

    Attributes:
        repository: Its full name; calls that name none mean it.
    """

    server: GitHubServer
    web: FaultyWeb
    repository: str

    async def call(self, name: str, **arguments: object) -> dict[str, Any]:
        """Call a tool that must go well, and return its structured result."""
        result = await self.server.call_tool(name, arguments)
        assert result["isError"] is False, result
        return cast("dict[str, Any]", result["structuredContent"])

    async def refused(self, name: str, **arguments: object) -> str:
        """Call a tool that must fail, and return what it says."""
        result = await self.server.call_tool(name, arguments)
        assert result["isError"] is True, result
        content = cast("list[dict[str, str]]", result["content"])
        assert not any(token in content[0]["text"] for token in TOKENS.values())
        return content[0]["text"]


@asynccontextmanager
async def open_world(
    *,
    repository: str = "ada/orders",
    behind: str = "",
    script: Script | None = None,
    user: str = "ada",
    args: tuple[str, ...] = (),
    environ: Mapping[str, str] | None = None,
) -> AsyncGenerator[World]:
    """Open the server before a service behind, or before a script of answers."""
    with open_faulty_web(script, behind) as web:
        own = {
            "GITHUB_TOKEN": TOKENS[user],
            "GITHUB_API_URL": web.url,
            "GITHUB_REPOSITORY": repository,
        }
        async with aclosing(open_server(args, {**own, **(environ or {})}, Path())) as server:
            yield World(server, web, repository)


def fake_or_skip(fake: GitHubFake | None) -> GitHubFake:
    """Return the fake; without one the test is skipped, and fails on CI."""
    if fake is None:
        missing = "the fake of GitHub or its node is not installed (scripts/node-tools all)"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return fake
