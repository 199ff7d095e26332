"""What an OpenID provider says of itself: read when needed, kept a while, never from anywhere."""

from collections.abc import Generator

import anyio
import pytest
from joserfc.jwk import RSAKey

from remit.identity.oidc_metadata import BASIC, POST, Description, ProviderUnavailable
from remit.identity.web import MOST_BYTES, Web
from remit.model.oidc import OidcProvider
from remit.testing.authorization_server import FakeAuthorizationServer, open_authorization_server


class Clock:
    """Time that moves when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class CountingWeb(Web):
    """The web, which counts what it is asked."""

    def __init__(self) -> None:
        super().__init__(allow_private=True)
        self.asked: list[str] = []

    async def get(self, url: str) -> bytes:
        self.asked.append(url)
        return await super().get(url)


@pytest.fixture(scope="module")
def one_idp() -> Generator[FakeAuthorizationServer]:
    with open_authorization_server() as idp:
        yield idp


@pytest.fixture
def idp(one_idp: FakeAuthorizationServer) -> FakeAuthorizationServer:
    one_idp.described = {}
    return one_idp


@pytest.fixture
def web() -> CountingWeb:
    return CountingWeb()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def description(idp: FakeAuthorizationServer, web: CountingWeb, clock: Clock) -> Description:
    provider = OidcProvider(issuer=idp.name, client_id="remit", allow_private_url=True)
    return Description(provider, web, clock=clock)


async def test_it_is_read_once_in_ten_minutes_however_many_ask(
    description: Description, web: CountingWeb, clock: Clock, idp: FakeAuthorizationServer
) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(description.metadata)
    clock.now += 599
    first = await description.metadata()
    once = len(web.asked)
    clock.now += 1
    idp.described = {"token_endpoint": f"{idp.name}/other"}
    second = await description.metadata()

    assert once == 1
    assert len(web.asked) == 2
    assert (first.token, second.token) == (f"{idp.name}/token", f"{idp.name}/other")
    assert first.keys is second.keys


async def test_what_it_said_before_stays_while_it_says_nothing_of_use(
    description: Description, web: CountingWeb, clock: Clock, idp: FakeAuthorizationServer
) -> None:
    first = await description.metadata()
    clock.now += 600
    idp.described = {"issuer": "https://elsewhere.example.test"}

    again = [await description.metadata() for _ in range(3)]

    assert all(each is first for each in again)
    assert len(web.asked) == 2  # and it is not asked at every sign-in meanwhile


async def test_other_keys_elsewhere_are_taken_up(
    description: Description, clock: Clock, idp: FakeAuthorizationServer
) -> None:
    first = await description.metadata()
    clock.now += 600
    idp.described = {"jwks_uri": f"{idp.name}/other-keys"}

    assert (await description.metadata()).keys is not first.keys


async def test_a_provider_that_has_never_answered_is_asked_again_after_a_while(
    description: Description, web: CountingWeb, clock: Clock, idp: FakeAuthorizationServer
) -> None:
    idp.described = {"jwks_uri": ...}
    for _ in range(3):
        with pytest.raises(ProviderUnavailable, match="jwks_uri"):
            await description.metadata()
    asked = len(web.asked)

    idp.described = {}
    clock.now += 5

    assert asked == 1
    assert (await description.metadata()).authorization == f"{idp.name}/authorize"


@pytest.mark.parametrize(
    ("methods", "takes"),
    [(..., BASIC), ([], BASIC), ("x", BASIC), ([POST], POST), ([POST, BASIC], BASIC),
     (["private_key_jwt"], BASIC)],
)  # fmt: skip
async def test_how_a_client_proves_itself_is_the_providers_to_say(
    description: Description, idp: FakeAuthorizationServer, methods: object, takes: str
) -> None:
    idp.described = {"token_endpoint_auth_methods_supported": methods}

    assert (await description.metadata()).takes == takes


@pytest.mark.parametrize(
    ("issuer", "allowed", "why"),
    [
        ("http://127.0.0.1:9", False, "not an https URL"),
        ("https://127.0.0.1:9", False, "not public"),
        ("https://10.0.0.1", False, "not public"),
        ("https://[::1]:9", False, "not public"),
        ("http://10.0.0.1", True, "not public"),
        ("https://127.0.0.1:9", True, "no answer"),
    ],
)
async def test_an_inner_address_is_asked_where_that_is_allowed_alone(
    issuer: str, allowed: bool, why: str
) -> None:
    # SSRF
    provider = OidcProvider(issuer=issuer, client_id="remit", allow_private_url=allowed)

    with pytest.raises(ProviderUnavailable, match=why) as caught:
        await Description(provider, Web(allow_private=allowed)).metadata()

    assert issuer not in str(caught.value)


async def test_a_description_without_end_is_not_read(
    description: Description, idp: FakeAuthorizationServer
) -> None:
    idp.described = {"service_documentation": "x" * MOST_BYTES}

    with pytest.raises(ProviderUnavailable, match="more than"):
        await description.metadata()


async def test_a_key_that_the_provider_has_withdrawn_is_dropped(
    description: Description, clock: Clock, idp: FakeAuthorizationServer
) -> None:
    idp.keys["k2"] = RSAKey.generate_key(2048)
    try:
        known = await (await description.metadata()).keys.known()
    finally:
        del idp.keys["k2"]
    clock.now += 600
    metadata = await description.metadata()

    assert {key.kid for key in known} == {"k1", "k2"}
    assert {key.kid for key in metadata.keys.keys} == {"k1"}


async def test_a_key_that_the_provider_has_only_now_is_found(
    description: Description, idp: FakeAuthorizationServer
) -> None:
    metadata = await description.metadata()
    known = await metadata.keys.known()
    idp.keys["k2"] = RSAKey.generate_key(2048)
    try:
        newer = await metadata.keys.renewed(known)
    finally:
        del idp.keys["k2"]

    assert {key.kid for key in newer} == {"k1", "k2"}
