"""The sign-in by key: what it refuses, what it tells, and what it puts on record."""

import json

import pytest
import structlog.testing
from hypothesis import given
from hypothesis import strategies as st
from tests.console.worlds import Browser, World, csrf_in, next_in, problem_in

from remit.doors.console.forms import token_of
from remit.doors.console.guesses import MOST_ADDRESSES, Guesses
from remit.doors.console.sign_in_page import AWAY, safe_next
from remit.doors.console.signing_in import STALE_FORM, WRONG_KEY
from remit.identity.api_keys import KeyText
from remit.model.declaration import HttpSettings


async def test_wrong_unknown_and_malformed_keys_are_refused_alike(
    world: World, browser: Browser
) -> None:
    key = await world.make_key()
    wrong = KeyText(key.id, "another-secret").reveal()

    answers = [
        await browser.sign_in(text)
        for text in ("", "x", wrong, "rmt_nobody_secret", "a.b.c", "rmt_é_é", "x" * 20_000)
    ]

    assert {reply.status_code for reply in answers} == {403}
    assert {problem_in(reply.text) for reply in answers} == {WRONG_KEY.replace("'", "&#39;")}
    assert await browser.me() is None
    assert not any(key.secret in reply.text for reply in answers)


async def test_after_ten_failures_an_address_waits_and_others_do_not(world: World) -> None:
    key = await world.make_key()
    worker = world.worker()
    guesser, other = worker.browser(), worker.browser(address="192.0.2.8")

    failed = [(await guesser.sign_in(f"rmt_a_{n}")).status_code for n in range(10)]
    world.pass_time(seconds=100)
    refused = await guesser.sign_in(key.reveal())

    assert failed == [403] * 10
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "200")
    assert await guesser.me() is None
    assert (await other.sign_in(key.reveal())).status_code == 303
    world.pass_time(seconds=200)
    assert (await guesser.sign_in(key.reveal())).status_code == 303


def test_the_addresses_of_one_network_count_as_one_where_everybody_has_many() -> None:
    guesses = Guesses(lambda: 0.0)

    for n in range(10):
        guesses.note(f"2001:db8::{n}")
        guesses.note(f"192.0.2.{n}")
        guesses.note("::ffff:192.0.2.77")

    assert guesses.wait_of("2001:db8::ffff") == 300
    assert guesses.wait_of("2001:db8:0:1::1") == 0
    assert guesses.wait_of("192.0.2.1") == 0
    assert guesses.wait_of("192.0.2.77") == 300


def test_only_so_many_addresses_are_remembered() -> None:
    guesses = Guesses(lambda: 0.0)
    for _ in range(10):
        guesses.note("192.0.2.1")

    for n in range(MOST_ADDRESSES):
        guesses.note(f"10.{n // 65536}.{n // 256 % 256}.{n % 256}")

    assert guesses.wait_of("192.0.2.1") == 0


async def test_a_form_of_another_browser_signs_nobody_in(world: World, browser: Browser) -> None:
    # login CSRF: an attacker's page signs the visitor in as the attacker
    key = await world.make_key("mallory")
    attacker = world.worker().browser()
    token = csrf_in((await attacker.form()).text)
    await browser.form()

    for fields in ({"csrf": token}, {"csrf": ""}, {"csrf": "é"}, {}):
        refused = await browser.send({**fields, "key": key.reveal()})

        assert (refused.status_code, problem_in(refused.text)) == (400, STALE_FORM)
    assert await browser.me() is None
    # the page that says so has a form that does
    assert (await browser.sign_in_with(refused.text, key.reveal())).status_code == 303


@pytest.mark.parametrize("csrf", ["", token_of("")], ids=["no proof", "the proof of no secret"])
async def test_a_form_without_its_cookie_signs_nobody_in(
    world: World, browser: Browser, csrf: str
) -> None:
    key = await world.make_key()

    refused = await browser.send({"csrf": csrf, "key": key.reveal()})

    assert refused.status_code == 400
    assert await browser.me() is None


async def test_two_open_forms_of_a_browser_both_do(world: World, browser: Browser) -> None:
    key = await world.make_key()
    first = await browser.form()
    second = await browser.form()

    assert csrf_in(first.text) == csrf_in(second.text)
    assert (await browser.sign_in_with(first.text, key.reveal())).status_code == 303


async def test_another_page_cannot_sign_anybody_out(world: World, browser: Browser) -> None:
    key = await world.make_key()
    await browser.sign_in(key.reveal())
    other = world.worker().browser()
    await other.sign_in(key.reveal())
    theirs = await other.me()
    assert theirs is not None

    refused = [await browser.sign_out(token) for token in ("", theirs["csrf"])]

    assert [reply.status_code for reply in refused] == [403, 403]
    assert await browser.me() is not None


async def test_whoever_is_signed_in_goes_on_without_a_form(world: World, browser: Browser) -> None:
    key = await world.make_key()
    await browser.sign_in(key.reveal())

    again = await browser.form("/console/servers?page=2")

    assert (again.status_code, again.headers["location"]) == (303, "/console/servers?page=2")


async def test_the_sign_in_leads_to_the_page_that_was_wanted(
    world: World, browser: Browser
) -> None:
    key = await world.make_key()

    done = await browser.sign_in(key.reveal(), "/console/servers?page=2#x")

    assert done.headers["location"] == "/console/servers?page=2#x"


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.test/console/",
        "//evil.test/console/",
        "/\\evil.test/console/",
        "/console/\\..\\..\\evil.test",
        "/console//evil.test/x",
        "/console/../mcp",
        "/console/%2E%2e/mcp",
        "/console/.%2e/",
        "/consoles",
        "/mcp",
        "javascript:alert(1)",
        "/console/\r\nSet-Cookie: x=y",
        "/console/sign-out",
        "/console/sign-in?next=/console/sign-in",
        "http:/console/",
        "/console/é",
        "/console/" + "x" * 2000,
        "",
    ],
)
async def test_a_foreign_page_is_never_gone_to(world: World, browser: Browser, wanted: str) -> None:
    key = await world.make_key()
    shown = (await browser.form(wanted)).text

    done = await browser.send({"csrf": csrf_in(shown), "next": wanted, "key": key.reveal()})

    assert next_in(shown) == "/console/"
    assert done.headers["location"] == "/console/"


@given(st.text(alphabet="/\\.%2eEabc:?#@\t console", max_size=40))
def test_wherever_the_sign_in_leads_is_below_the_console(text: str) -> None:
    path = safe_next("/console/" + text).partition("?")[0].partition("#")[0].lower()

    assert path.startswith("/console/")
    assert ".." not in path.replace("%2e", ".").split("/")
    assert "\\" not in path
    assert "//" not in path


async def test_markup_in_what_is_wanted_is_text(browser: Browser) -> None:
    shown = (await browser.form('/console/?q="><script>alert(1)</script>')).text

    assert "<script>" not in shown


async def test_sign_ins_and_sign_outs_stand_in_the_log_also_refused_ones(
    world: World, browser: Browser
) -> None:
    key = await world.make_key()

    with structlog.testing.capture_logs() as logged:
        await browser.sign_in("rmt_wrong_key")
        await browser.send({"key": key.reveal()})
        await browser.sign_in(key.reveal())
        me = await browser.me()
        assert me is not None
        await browser.sign_out("")
        await browser.sign_out(me["csrf"])

    seen = [
        (each["event"], each.get("reason"), each["address"])
        for each in logged
        if each["log_level"] != "debug"
    ]
    assert seen == [
        ("sign-in refused", "a key that does not hold", "192.0.2.7"),
        ("sign-in refused", "a form of another browser", "192.0.2.7"),
        ("signed in", None, "192.0.2.7"),
        ("sign-in refused", "a sign-out that another page asked for", "192.0.2.7"),
        ("signed out", None, "192.0.2.7"),
    ]
    assert key.secret not in str(logged)


async def test_a_sign_in_is_on_record_without_any_secret(world: World, browser: Browser) -> None:
    key = await world.make_key("ann", tenant="acme")
    await browser.sign_in("rmt_wrong_key")

    await browser.sign_in(key.reveal())

    recorded = [
        (event.tool, event.kind.value, event.tenant, event.principal, event.revision)
        for event in world.audit.events
    ]
    assert recorded == [
        ("console.sign_in", "invoked", "acme", "key:ann", 7),
        ("console.sign_in", "finished", "acme", "key:ann", 7),
    ]
    said = json.loads(world.audit.events[0].arguments or "")
    assert (said["by"], said["address"]) == ("key", "192.0.2.7")
    secrets = (key.secret, *browser.client.cookies.values())
    assert not any(secret in str(world.audit.events) for secret in secrets)


async def test_nobody_is_signed_in_while_it_cannot_be_put_on_record(
    world: World, browser: Browser
) -> None:
    key = await world.make_key()
    world.audit.available = False

    refused = await browser.sign_in(key.reveal())

    assert (refused.status_code, problem_in(refused.text)) == (503, AWAY)
    assert refused.headers["retry-after"] == "2"
    assert await browser.me() is None


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("application/json", b"{}", 415),
        ("application/x-www-form-urlencoded", b"key=" + b"x" * 1_100_000, 413),
        ("application/x-www-form-urlencoded", b"&".join([b"a=b"] * 5001), 400),
        ("application/x-www-form-urlencoded", b"key=%ff", 400),
        ("application/x-www-form-urlencoded", "key=é".encode(), 400),
    ],
)
async def test_what_is_no_form_is_refused_with_a_page(
    browser: Browser, kind: str, body: bytes, status: int
) -> None:
    refused = await browser.client.post(
        "/console/sign-in", content=body, headers={"Content-Type": kind}
    )

    assert refused.status_code == status
    assert problem_in(refused.text)


async def test_links_of_a_gateway_behind_a_path_have_that_path(world: World) -> None:
    world.http = HttpSettings(public_url="http://127.0.0.1:8080/remit")

    shown = (await world.worker().browser().form()).text

    assert 'action="/remit/console/sign-in"' in shown
