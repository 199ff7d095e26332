"""An issuer on loopback, and a gateway's view of it at a time that stands still."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remit.identity.authenticate import Authenticator
from remit.identity.credentials import TenantNames
from remit.identity.jwt import JwtVerifier
from remit.model.grants import JwtIssuer
from remit.testing.fakes import InMemoryAgents, InMemoryKeys, InMemoryUsers
from remit.testing.issuer import AUDIENCE, FakeIssuer, open_issuer

NOON = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)


@dataclass(kw_only=True)
class Setting:
    """What a gateway knows of callers, and its clock."""

    issuer: FakeIssuer
    folder: Path
    issuers: tuple[JwtIssuer, ...] = ()
    environ: dict[str, str] = field(default_factory=dict[str, str])
    keys: InMemoryKeys = field(default_factory=InMemoryKeys)
    agents: InMemoryAgents = field(default_factory=InMemoryAgents)
    users: InMemoryUsers = field(default_factory=InMemoryUsers)
    tenants: TenantNames | None = None
    now: datetime = NOON

    def declare(self, **settings: Any) -> None:
        """Trust the issuer, with these settings beside the usual ones."""
        usual = JwtIssuer(
            issuer=self.issuer.name,
            audience=(AUDIENCE,),
            jwks_url=self.issuer.url,
            allow_private_url=True,
        )
        self.issuers = (replace(usual, **settings),)

    def verifier(self) -> JwtVerifier:
        return JwtVerifier(
            lambda: self.issuers,
            folder=self.folder,
            environ=self.environ,
            tenants=self.tenants,
            now=lambda: self.now,
        )

    def authenticator(self, tokens: JwtVerifier | None = None) -> Authenticator:
        return Authenticator(
            self.keys,
            agents=self.agents,
            users=self.users,
            tokens=tokens or self.verifier(),
            tenants=self.tenants,
            now=lambda: self.now,
        )

    def at(self, seconds: float) -> float:
        """Return a moment so many seconds from now, as a claim says it."""
        return (self.now + timedelta(seconds=seconds)).timestamp()

    def token(
        self,
        claims: Mapping[str, Any] | None = None,
        *,
        header: Mapping[str, Any] | None = None,
        kid: str = "k1",
    ) -> str:
        """Return a token of the issuer that ends in a minute unless it says otherwise."""
        return self.issuer.token({"exp": self.at(60), **(claims or {})}, header=header, kid=kid)


@pytest.fixture(scope="session")
def one_issuer() -> Generator[FakeIssuer]:
    with open_issuer() as issuer:
        yield issuer


@pytest.fixture
def issuer(one_issuer: FakeIssuer) -> Generator[FakeIssuer]:
    """Give the issuer as it was at first; making its RSA key takes a while."""
    keys, port = dict(one_issuer.keys), one_issuer.port
    one_issuer.fetches = 0
    one_issuer.asked.clear()
    yield one_issuer
    one_issuer.stop()
    one_issuer.keys, one_issuer.port = keys, port
    one_issuer.published, one_issuer.status, one_issuer.location = None, 200, ""
    one_issuer.start()


@pytest.fixture
def setting(issuer: FakeIssuer, tmp_path: Path) -> Setting:
    made = Setting(issuer=issuer, folder=tmp_path)
    made.declare()
    return made
