"""Gateways in processes of their own, one for each test or one for a module."""

import json
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.gateway import Running, start_gateway
from remit.testing.issuer import FakeIssuer, open_issuer

Serve = Callable[..., Running]


@contextmanager
def gateways(folder: Path) -> Generator[Serve]:
    """Give what starts gateways on a document; all are stopped, and none wrote a traceback."""
    started: list[Running] = []

    def begin(document: Mapping[str, Any] | None = None, **environ: str) -> Running:
        config = folder / "remit.yaml"
        if document is not None:
            config.write_text(json.dumps(document, indent=2, ensure_ascii=False))
        running = start_gateway(folder, config, environ)
        started.append(running)
        return running

    try:
        yield begin
    finally:
        for running in started:
            running.stop()
    for running in started:
        written = running.log.read_text()
        assert "Traceback" not in written, written


@pytest.fixture
def serve(tmp_path: Path) -> Generator[Serve]:
    """Give a function that starts a gateway on a document, or again on the one before."""
    with gateways(tmp_path) as begin:
        yield begin


@pytest.fixture(scope="module")
def module_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("module")


@pytest.fixture(scope="module")
def serve_module(module_folder: Path) -> Generator[Serve]:
    """Give what `serve` gives, for gateways that a whole module shares."""
    with gateways(module_folder) as begin:
        yield begin


@pytest.fixture
async def http() -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(timeout=30, verify=TRUSTS_NOBODY) as client:
        yield client


@pytest.fixture
def issuer() -> Generator[FakeIssuer]:
    """Give an issuer of tokens whose server runs."""
    with open_issuer() as issuer:
        yield issuer


@pytest.fixture(scope="module")
def module_issuer() -> Generator[FakeIssuer]:
    """Give one that a whole module shares."""
    with open_issuer() as issuer:
        yield issuer
