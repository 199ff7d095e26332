"""The REST client before services, proxies and settings that are out to trip it (issue 6)."""

import json

import pytest
from tests.servers.rest_worlds import TOKEN, open_world, service_at

from remit.servers.rest.client import RestClient
from remit.servers.rest.credentials import Credential
from remit.servers.rest.faults import RestFault
from remit.servers.rest.waits import LONGEST_WAIT, Gates, wait_asked
from remit.testing.faulty_web import Fault, Seen

_DATES = ["Mon, 01 Jan 99999999999 00:00:00 GMT", "0001-01-01T00:00:00+23:59", "()", ",", "9" * 400]


@pytest.mark.parametrize("value", _DATES)
@pytest.mark.parametrize("name", ["Retry-After", "Date", "X-RateLimit-Reset"])
async def test_a_date_that_is_none_does_no_harm(name: str, value: str) -> None:
    headers = {"X-RateLimit-Remaining": "0", name: value}
    async with open_world(lambda _: Fault(status=429, headers=headers)) as world:
        with pytest.raises(RestFault, match="answered 429"):
            await world.client.get("/a")


def test_no_answer_closes_a_gate_for_good() -> None:
    """A reset in milliseconds would otherwise shut a server off until it is started again."""
    now = 1_900_000_000.0
    asked = wait_asked(429, {"retry-after": str(now * 1000)}, "", now)
    gates = Gates(lambda: now)
    gates.close("", asked or 0.0)

    assert 0 < gates.wait("") <= LONGEST_WAIT


@pytest.mark.parametrize("token", [TOKEN, "a/b+c==tail", 'quote"back\\slash'])
async def test_a_credential_is_hidden_however_the_service_spells_it(token: str) -> None:
    spelled = "".join(f"\\u{ord(one):04x}" for one in token)
    slashed = json.dumps(token)[1:-1].replace("/", "\\/")
    body = f'{{"message": "no {spelled}", "errors": ["no {slashed}"], "ok": "{spelled}"}}'.encode()

    def script(seen: Seen) -> Fault:
        return Fault(status=200 if seen.target == "/good" else 403, body=body)

    async with open_world(script) as world:
        service = service_at(world.web.url)
        object.__setattr__(service, "credential", Credential.bearer(token))
        client = RestClient(service)
        good = await client.get("/good")
        with pytest.raises(RestFault) as refused:
            await client.get("/bad")
        await client.aclose()

    assert token not in str(good.data)
    assert json.dumps(token)[1:-1] not in json.dumps(good.data)
    assert token not in str(refused.value)
    assert "no [secret]" in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTPS_PROXY", "ftp://ada:proxy-password@proxy.test:1"),
        ("ALL_PROXY", "http://ada:proxy-password@proxy.test:port"),
        ("HTTPS_PROXY", "http://[::1"),
        ("SSL_CERT_FILE", "/no/such/file"),
    ],
)
def test_an_environment_that_does_not_fit_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=r"SSL_CERT_FILE|names no proxy") as refused:
        RestClient(service_at("https://api.example.test"))

    assert "\n" not in str(refused.value)
    assert "proxy-password" not in str(refused.value)


def test_an_address_with_a_port_that_cannot_be_is_none() -> None:
    with pytest.raises(ValueError, match="GITHUB_API_URL is no http or https address"):
        service_at("https://api.example.test:99999")
