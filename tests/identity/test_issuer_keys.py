"""T14: keys come and go at the issuer; how often it is asked, and what happens while it is away."""

import json
import socket
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import replace

import anyio
import pytest
import structlog.testing
from aiohttp.abc import AbstractResolver, ResolveResult
from joserfc.jwk import ECKey, RSAKey
from tests.identity.conftest import Setting

from remit.errors import Unauthenticated
from remit.identity.addresses import is_loopback, is_public
from remit.identity.authenticate import Authenticator
from remit.identity.jwks import MOST_BYTES, MOST_KEYS, KeySource, KeysUnavailable, parse_keys
from remit.identity.jwks_fetch import UrlKeys
from remit.identity.jwks_file import FileKeys
from remit.model.principals import Principal
from remit.testing.issuer import FakeIssuer


class Seconds:
    """A clock that moves when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def refused(authenticate: Authenticator, token: str) -> bool:
    try:
        await authenticate(token)
    except Unauthenticated:
        return True
    return False


def source(issuer: FakeIssuer, clock: Seconds) -> KeySource:
    def changed() -> None:
        return None

    load = UrlKeys(issuer.url, allow_private=True)
    return KeySource(load, issuer=issuer.name, every=30, changed=changed, clock=clock)


async def test_a_new_key_id_costs_one_fetch_and_no_restart(setting: Setting) -> None:
    authenticate = setting.authenticator()
    await authenticate(setting.token())
    setting.issuer.keys["k2"] = ECKey.generate_key("P-256")

    await authenticate(setting.token(kid="k2"))
    await authenticate(setting.token({"sub": "bob"}, kid="k2"))
    await authenticate(setting.token({"sub": "eve"}))

    assert setting.issuer.fetches == 2  # the first, and one for the rotation


async def test_a_new_key_under_the_same_id_costs_one_fetch(setting: Setting) -> None:
    authenticate = setting.authenticator()
    old = setting.token()
    await authenticate(old)
    setting.issuer.keys = {"k1": RSAKey.generate_key(2048)}

    await authenticate(setting.token())

    assert setting.issuer.fetches == 2
    assert await refused(authenticate, old)  # remembered once, but its key is gone
    assert setting.issuer.fetches == 2


async def test_newer_keys_let_no_token_in_that_none_of_them_signed(setting: Setting) -> None:
    authenticate = setting.authenticator()
    await authenticate(setting.token())
    attacker = FakeIssuer()
    attacker.keys = {"k1": RSAKey.generate_key(2048)}
    setting.issuer.keys = {**setting.issuer.keys, "k2": RSAKey.generate_key(2048)}

    assert await refused(authenticate, attacker.token({"exp": setting.at(60)}))
    assert setting.issuer.fetches == 2
    await authenticate(setting.token(kid="k2"))


async def test_a_hundred_random_key_ids_cost_two_fetches(setting: Setting) -> None:
    authenticate = setting.authenticator()
    tokens = [setting.token(header={"kid": f"random-{number}"}) for number in range(100)]

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            for token in tokens[:50]:
                tasks.start_soon(refused, authenticate, token)
        for token in tokens[50:]:
            assert await refused(authenticate, token)

    assert setting.issuer.fetches == 2
    await authenticate(setting.token())


async def test_a_hundred_wrong_signatures_cost_two_fetches(setting: Setting) -> None:
    authenticate = setting.authenticator()
    content = setting.token().rpartition(".")[0]
    wrong = setting.token({"sub": "eve"}).rpartition(".")[2]

    for _ in range(100):
        assert await refused(authenticate, f"{content}.{wrong}")

    assert setting.issuer.fetches == 2


async def test_the_bound_on_fetches_ends_after_its_time(issuer: FakeIssuer) -> None:
    clock = Seconds()
    keys = source(issuer, clock)
    seen = await keys.known()

    for seconds, fetches in ((0, 2), (29, 2), (30, 3), (31, 3), (60, 4)):
        clock.now = 100.0 + seconds
        assert await keys.renewed(seen) is seen
        assert issuer.fetches == fetches


async def test_an_issuer_that_is_away_stops_nobody_whose_key_is_known(setting: Setting) -> None:
    authenticate = setting.authenticator()
    await authenticate(setting.token())
    setting.issuer.stop()

    principal = await authenticate(setting.token({"sub": "bob"}))

    assert principal.name == "bob"
    assert await refused(authenticate, setting.token(header={"kid": "k2"}))
    assert not await refused(authenticate, setting.token({"sub": "eve"}))


async def test_an_issuer_that_was_away_at_first_is_asked_again(setting: Setting) -> None:
    setting.issuer.status = 503
    authenticate = setting.authenticator()
    token = setting.token()

    with structlog.testing.capture_logs() as logged:
        assert await refused(authenticate, token)
        assert await refused(authenticate, token)
    assert setting.issuer.fetches == 2
    assert [entry["event"] for entry in logged if entry["log_level"] == "warning"] == [
        "keys of an issuer cannot be read"
    ] * 2
    assert {entry.get("error") for entry in logged if "error" in entry} == {"status 503"}

    setting.issuer.status = 200
    assert await refused(authenticate, token)  # within the bound nobody asks
    assert not await refused(setting.authenticator(), token)


async def test_many_callers_wait_for_one_fetch(setting: Setting) -> None:
    authenticate = setting.authenticator()
    setting.issuer.released.clear()
    tokens = [setting.token({"sub": f"user-{number}"}) for number in range(20)]
    found: list[Principal] = []

    async def come(token: str) -> None:
        found.append(await authenticate(token))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for token in tokens:
                tasks.start_soon(come, token)
            await anyio.to_thread.run_sync(setting.issuer.asked.wait)
            setting.issuer.released.set()

    assert len(found) == 20
    assert setting.issuer.fetches == 1


async def test_a_caller_that_leaves_does_not_waste_the_fetch(setting: Setting) -> None:
    authenticate = setting.authenticator()
    setting.issuer.released.clear()

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(authenticate, setting.token())
            await anyio.to_thread.run_sync(setting.issuer.asked.wait)
            tasks.cancel_scope.cancel()
            setting.issuer.released.set()
    await authenticate(setting.token())

    assert setting.issuer.fetches == 1


async def test_a_withdrawn_key_is_dropped_by_the_unasked_renewal(setting: Setting) -> None:
    clock = Seconds()
    keys = source(setting.issuer, clock)
    await keys.refresh()
    assert setting.issuer.fetches == 0  # nobody has needed a key yet
    await keys.known()
    setting.issuer.keys = {}

    await keys.refresh()

    assert keys.keys == ()


async def test_an_answer_that_is_no_key_set_leaves_the_known_keys(setting: Setting) -> None:
    keys = source(setting.issuer, Seconds())
    seen = await keys.known()

    for body in (b"", b"<html>", b"[]", b"{}", b'{"keys":{}}', b"[" * 100_000, b'{"keys":NaN}'):
        setting.issuer.published = body
        await keys.refresh()
        assert keys.keys is seen

    assert len(seen) == 1


async def test_an_answer_that_is_too_large_is_not_read(issuer: FakeIssuer) -> None:
    issuer.published = b" " * (MOST_BYTES + 1)

    with pytest.raises(KeysUnavailable, match="more than 262144 bytes"):
        await UrlKeys(issuer.url, allow_private=True)()


async def test_a_redirect_is_not_followed(issuer: FakeIssuer) -> None:
    issuer.status, issuer.location = 302, issuer.url + "?again"

    with pytest.raises(KeysUnavailable, match="status 302"):
        await UrlKeys(issuer.url, allow_private=True)()

    assert issuer.fetches == 1


async def test_an_issuer_that_never_answers_is_given_up(
    issuer: FakeIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.identity.web.TIMEOUT", 0.2)
    issuer.released.clear()

    with anyio.fail_after(40), pytest.raises(KeysUnavailable, match=r"no answer within 0\.2 s"):
        await UrlKeys(issuer.url, allow_private=True)()


async def test_keys_in_a_file_are_read_anew_when_they_change(setting: Setting) -> None:
    path = setting.folder / "keys.json"
    path.write_bytes(setting.issuer.jwks())
    setting.declare(jwks_url="", jwks_file="keys.json")  # relative to the declaration
    authenticate = setting.authenticator()
    await authenticate(setting.token())
    setting.issuer.keys["k2"] = ECKey.generate_key("P-256")
    path.write_bytes(setting.issuer.jwks())

    await authenticate(setting.token(kid="k2"))

    assert setting.issuer.fetches == 0


async def test_a_file_that_is_not_there_or_too_large_gives_no_keys(setting: Setting) -> None:
    path = setting.folder / "keys.json"
    with pytest.raises(KeysUnavailable, match="No such file"):
        await FileKeys(path)()

    path.write_bytes(b" " * (MOST_BYTES + 1))
    with pytest.raises(KeysUnavailable, match="more than 262144 bytes"):
        await FileKeys(path)()


def test_only_keys_that_can_verify_are_taken_from_a_set() -> None:
    good = {**ECKey.generate_key("P-256").as_dict(private=True), "kid": "good"}
    entries: list[object] = [
        7,
        {},
        {"kty": "oct", "k": "c2VjcmV0", "kid": "a secret"},
        {"kty": "ML-DSA", "kid": "from tomorrow"},
        {**good, "kty": ["EC"]},
        {**good, "kty": {"EC": True}},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "kid": "no point"},
        {"kty": "EC", "crv": "P-999", "x": "AA", "y": "AA", "kid": "a curve from tomorrow"},
        {"kty": "EC", "crv": "P-256", "kid": "half a key"},
        {**good, "kid": 7},
        good,
    ]

    keys = parse_keys(json.dumps({"keys": entries}).encode())

    assert [key.kid for key in keys] == ["good"]
    assert not keys[0].key.is_private


def test_rsa_keys_of_less_than_2048_bits_are_not_taken() -> None:
    def rsa(size: int) -> dict[str, str]:
        modulus = urlsafe_b64encode(b"\xc0" + bytes(size - 2) + b"\x01").rstrip(b"=").decode()
        return {"kty": "RSA", "n": modulus, "e": "AQAB", "kid": str(size)}

    keys = parse_keys(json.dumps({"keys": [rsa(128), rsa(255), rsa(256)]}).encode())

    assert [key.kid for key in keys] == ["256"]


def test_no_more_keys_are_looked_at_than_the_bound_says() -> None:
    key = ECKey.generate_key("P-256").as_dict(private=False)
    entries = [{**key, "kid": str(number)} for number in range(MOST_KEYS + 1)]

    assert len(parse_keys(json.dumps({"keys": entries}).encode())) == MOST_KEYS


async def test_a_key_that_is_for_encryption_verifies_nothing(setting: Setting) -> None:
    key = setting.issuer.keys["k1"].as_dict(private=False)
    setting.issuer.published = json.dumps({"keys": [{**key, "kid": "k1", "use": "enc"}]}).encode()

    assert await refused(setting.authenticator(), setting.token())


async def test_issuers_change_without_a_restart(setting: Setting) -> None:
    tokens = setting.verifier()
    authenticate = setting.authenticator(tokens)
    token = setting.token()
    await authenticate(token)
    trusted = setting.issuers

    setting.issuers = ()
    assert await refused(authenticate, token)

    setting.issuers = (*trusted,)
    await authenticate(token)


async def test_while_the_issuers_stay_nothing_is_forgotten(setting: Setting) -> None:
    tokens = setting.verifier()
    await tokens(setting.token())
    changes = tokens.look_for_changes()

    assert tokens.look_for_changes() == changes


async def test_another_issuer_beside_it_leaves_the_keys_of_one_as_they_are(
    setting: Setting,
) -> None:
    tokens = setting.verifier()
    await tokens(setting.token())
    changes = tokens.look_for_changes()

    setting.issuers = (*setting.issuers, replace(setting.issuers[0], issuer="another"))
    assert tokens.look_for_changes() == changes + 1
    await tokens(setting.token())

    assert setting.issuer.fetches == 1


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "198.18.0.1", "::1", "::",  # noqa: S104
        "fe80::1", "fe80::1%eth0", "fc00::1", "fd12:3456::1", "ff02::1", "::ffff:127.0.0.1",
        "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "::127.0.0.1",
    ],
)  # fmt: skip
def test_no_address_of_an_inner_network_is_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(address)


def test_this_machine_is_known_by_each_of_its_addresses() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1")))
    assert not any(map(is_loopback, ("10.0.0.1", "::ffff:10.0.0.1", "fe80::1", "8.8.8.8")))


class FixedResolver(AbstractResolver):
    """A name server that answers what it was told to, and counts."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses
        self.asked = 0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        del family
        self.asked += 1
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self.addresses
        ]

    async def close(self) -> None:
        """Nothing is open."""


REFUSED_URLS: dict[str, tuple[Callable[[int], str], bool, tuple[str, ...]]] = {
    "http without leave": (lambda port: f"http://idp.test:{port}/", False, ("127.0.0.1",)),
    "http beyond loopback": (lambda port: f"http://idp.test:{port}/", True, ("10.0.0.1",)),
    "a private address": (lambda port: f"https://idp.test:{port}/", False, ("127.0.0.1",)),
    "one of two private": (lambda port: f"https://idp.test:{port}/", False, ("8.8.8.8", "fd00::1")),
    "spelled out": (lambda port: f"https://127.0.0.1:{port}/", False, ()),
    "spelled out, six": (lambda port: f"https://[::1]:{port}/", False, ()),
    "mapped": (lambda port: f"https://[::ffff:127.0.0.1]:{port}/", False, ()),
    "short": (lambda port: f"https://127.1:{port}/", False, ()),
    "a number": (lambda port: f"https://2130706433:{port}/", False, ()),
    "a file": (lambda _: "file:///etc/passwd", True, ()),
}


@pytest.mark.parametrize(
    ("url", "private", "addresses"), REFUSED_URLS.values(), ids=REFUSED_URLS.keys()
)
async def test_an_inner_address_is_never_connected_to(
    url: Callable[[int], str], private: bool, addresses: tuple[str, ...], issuer: FakeIssuer
) -> None:
    load = UrlKeys(url(issuer.port), allow_private=private, resolver=FixedResolver(*addresses))

    with anyio.fail_after(30), pytest.raises(KeysUnavailable):
        await load()

    assert issuer.fetches == 0


async def test_the_connection_goes_to_the_address_that_was_checked(issuer: FakeIssuer) -> None:
    resolver = FixedResolver("127.0.0.1")
    load = UrlKeys(f"http://idp.test:{issuer.port}/keys", allow_private=True, resolver=resolver)

    assert await load() == issuer.jwks()
    assert resolver.asked == 1
