"""A REST client over a service that fails as told, with a clock that only waiting moves."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from remit.servers.rest.client import RestClient
from remit.servers.rest.credentials import Credential
from remit.servers.rest.service import Service
from remit.testing.faulty_web import FaultyWeb, Script, open_faulty_web

TOKEN = "ghp_tokenThatNobodyMaySee"
NOW = 1_900_000_000.0


@dataclass
class Clock:
    """Seconds since the epoch, moved by sleeping and by nothing else."""

    now: float = NOW
    pauses: list[float] = field(default_factory=list[float])

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def time(self) -> float:
        return self.now


@dataclass
class World:
    """The service, its client, and the clock."""

    web: FaultyWeb
    client: RestClient
    clock: Clock


def service_at(url: str, **more: object) -> Service:
    """Describe the service with test's own limits."""
    return Service(
        name="GitHub",
        base=url,
        setting="GITHUB_API_URL",
        credential=Credential.bearer(TOKEN),
        **more,  # type: ignore[arg-type]
    )


@asynccontextmanager
async def open_world(script: Script, **limits: float) -> AsyncGenerator[World]:
    """Give a client over a service that answers by *script*."""
    clock = Clock()
    with open_faulty_web(script) as web:
        client = RestClient(service_at(web.url, **limits), sleep=clock.sleep, clock=clock.time)
        try:
            yield World(web, client, clock)
        finally:
            await client.aclose()
