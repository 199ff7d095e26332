"""Webhooks: signed as Standard Webhooks says, to public addresses, without redirects."""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remit.app.events import open_subscribers
from remit.crew.delivery import DeliveryFailed
from remit.crew.webhooks import event_body, open_webhook, signature, subscriber_name
from remit.errors import StartupError
from remit.model.crew import CrewEvent
from remit.settings import Settings
from remit.testing.faulty_web import Fault, as_json, open_faulty_web

NOW = datetime(2026, 11, 28, 12, 0, 0, 500000, tzinfo=UTC)
EVENT = CrewEvent(
    id="e1",
    tenant="default",
    topic="mail.sent",
    payload={"mailId": "m1", "toAgentId": None, "isForHuman": True, "subject": "Grüße \ud800"},
    created=NOW,
)
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_the_signature_is_that_of_the_published_example() -> None:
    """The vector of the reference implementation of Standard Webhooks."""
    secret = base64.b64decode("plJ3nmyCDGBKInavdOK15jsl")
    body = b'{"event_type":"ping","data":{"success":true}}'

    made = signature(secret, "msg_loFOjxBNrRLzqYUf", "1731705121", body)

    assert made == "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0="


@pytest.mark.parametrize("secret", [SECRET, "any text of one's own"])
async def test_a_url_is_told_what_happened_and_can_check_who_says_so(secret: str) -> None:
    with open_faulty_web(lambda _: as_json({}, status=202)) as web:
        async with open_webhook(f"{web.url}/hook?k=v", secret=secret, private=True) as hook:
            await hook.deliver(EVENT, NOW)
    (seen,) = web.seen
    told = json.loads(seen.body)
    key = (
        base64.b64decode(secret.removeprefix("whsec_"))
        if secret.startswith("whsec_")
        else secret.encode()
    )
    signed = f"{seen.headers['webhook-id']}.{seen.headers['webhook-timestamp']}.".encode()
    digest = hmac.new(key, signed + seen.body, hashlib.sha256).digest()

    assert (seen.method, seen.target) == ("POST", "/hook?k=v")
    assert seen.headers["webhook-id"] == told["id"] == "e1"
    assert seen.headers["webhook-timestamp"] == str(int(NOW.timestamp()))
    assert seen.headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
    assert (told["type"], told["tenant"]) == ("mail.sent", "default")
    assert told["timestamp"] == NOW.isoformat()
    assert told["data"]["mailId"] == "m1"
    assert told["data"]["isForHuman"] is True


@pytest.mark.parametrize("status", [301, 307, 400, 404, 410, 429, 500, 503])
async def test_any_answer_but_success_is_none_and_no_redirect_is_followed(status: int) -> None:
    with open_faulty_web() as web, open_faulty_web(lambda _: as_json({})) as elsewhere:
        web.fail(Fault(status=status, headers={"Location": elsewhere.url}))
        async with open_webhook(web.url, secret=SECRET, private=True) as hook:
            with pytest.raises(DeliveryFailed, match=f"status {status}"):
                await hook.deliver(EVENT, NOW)

        assert elsewhere.seen == []


async def test_a_broken_connection_is_no_delivery() -> None:
    with open_faulty_web(lambda _: as_json({})) as web:
        web.fail(Fault(way="cut"))
        async with open_webhook(web.url, secret=SECRET, private=True) as hook:
            with pytest.raises(DeliveryFailed, match="no answer"):
                await hook.deliver(EVENT, NOW)
            await hook.deliver(EVENT, NOW)


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/hook",
        "https://10.0.0.1/hook",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/hook",
        "https://[::ffff:127.0.0.1]/hook",
        "http://93.184.216.34/hook",
    ],
)
async def test_an_address_that_is_not_public_is_refused_at_the_start(url: str) -> None:
    with pytest.raises(StartupError, match="not public"):
        async with open_webhook(url, secret=SECRET, private=False):
            pass


async def test_a_name_that_leads_to_a_private_address_is_refused_at_each_delivery() -> None:
    with open_faulty_web(lambda _: as_json({})) as web:
        port = web.url.rpartition(":")[2]
        async with open_webhook(f"https://localhost:{port}/", secret=SECRET, private=False) as hook:
            with pytest.raises(DeliveryFailed, match="not public"):
                await hook.deliver(EVENT, NOW)

        assert web.seen == []


@pytest.mark.parametrize(
    ("url", "secret", "problem"),
    [
        ("https://hooks.example.com/", "", "REMIT_EVENTS_SECRET"),
        ("https://hooks.example.com/", "whsec_***", "no base64"),
        ("https://hooks.example.com/", "whsec_", "no base64"),
        ("https://hooks.example.com/", "whsec_ß", "no base64"),
        ("https:///path", SECRET, "names no host"),
    ],
)
async def test_what_cannot_be_used_is_said_at_the_start(
    url: str, secret: str, problem: str
) -> None:
    with pytest.raises(StartupError, match=problem):
        async with open_webhook(url, secret=secret, private=False):
            pass


def test_the_name_of_a_subscriber_tells_no_secret() -> None:
    name = subscriber_name("https://user:pass@hooks.example.com/T0/secret?token=secret")

    assert name.startswith("https://hooks.example.com#")
    assert "secret" not in name
    assert "pass" not in name


def test_a_body_holds_what_no_text_can() -> None:
    assert json.loads(event_body(EVENT))["data"]["subject"] == "Grüße ?"


@pytest.mark.parametrize("url", ["nats://[::1", "https://[::1", "ftp://hooks.example.com", "hooks"])
async def test_what_is_no_address_for_events_is_said_at_the_start(tmp_path: Path, url: str) -> None:
    settings = Settings(config=tmp_path / "remit.yaml", events_urls=(url,), events_secret=SECRET)

    with pytest.raises(StartupError, match="no address for events") as refused:
        async with open_subscribers(settings, wanted=True):
            pass

    assert url not in str(refused.value)
