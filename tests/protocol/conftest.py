"""Two wikis behind a real door: one server process, one server on a socket, or any mix of them."""

from collections.abc import AsyncGenerator

import aiohttp
import pytest


@pytest.fixture
async def http() -> AsyncGenerator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session
