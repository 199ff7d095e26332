"""The GitHub server over a fake of GitHub, with faults in between, as its tests need it."""

import os
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import pytest
from tests.servers.rest_worlds import Clock

from remit.servers.github.server import GitHubServer
from remit.servers.rest.client import RestClient
from remit.servers.rest.credentials import Credential
from remit.servers.rest.service import Service
from remit.testing.faulty_web import FaultyWeb, Script, open_faulty_web
from remit.testing.github_fake import TOKENS, GitHubFake


@dataclass
class World:
    """A server, and what stands between it and GitHub.

    Attributes:
        repository: Its full name; calls that name none mean it.
        clock: Moved by pauses alone, so that no test waits for them.
    """

    server: GitHubServer
    web: FaultyWeb
    repository: str
    clock: Clock

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
    attempt: float = 10.0,
    time_limit: float = 28.0,
) -> AsyncGenerator[World]:
    """Open the server in Ada's name before a service behind, or before a script of answers."""
    clock = Clock()
    with open_faulty_web(script, behind) as web:
        service = Service(
            name="GitHub",
            base=web.url,
            setting="GITHUB_API_URL",
            credential=Credential.bearer(TOKENS["ada"]),
            attempt=attempt,
        )
        client = RestClient(service, sleep=clock.sleep, clock=clock.time)
        server = GitHubServer(client, repository=repository, time_limit=time_limit)
        async with aclosing(server):
            yield World(server, web, repository, clock)


def fake_or_skip(fake: GitHubFake | None) -> GitHubFake:
    """Return the fake; without one the test is skipped, and fails on CI."""
    if fake is None:
        missing = "the fake of GitHub or its node is not installed (scripts/node-tools all)"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return fake
