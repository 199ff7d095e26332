"""A gateway in a process of its own for each test."""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from remit.testing.gateway import Running, start_gateway


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Give a function that starts a gateway on a document."""
    started: list[Running] = []

    def begin(document: Mapping[str, Any], **environ: str) -> Running:
        config = tmp_path / "remit.yaml"
        config.write_text(yaml.safe_dump(dict(document), sort_keys=False))
        running = start_gateway(tmp_path, config, environ)
        started.append(running)
        return running

    yield begin
    for running in started:
        running.stop()


@pytest.fixture
async def http() -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient() as client:
        yield client
