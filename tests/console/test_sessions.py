"""Who is signed in: what a session is worth, and when it ends (R17)."""

import hashlib
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text
from tests.console.worlds import NOON, Browser, World

from remit.doors.console.sessions import SignedIn
from remit.identity.api_keys import hash_secret, make_key_text
from remit.model.agents import Agent
from remit.model.declaration import HttpSettings
from remit.model.principals import AgentType, Principal, PrincipalKind, UserRole


async def test_a_key_signs_in_and_its_session_is_worth_what_the_key_is(
    world: World, browser: Browser
) -> None:
    key = await world.make_key("boss", admin=True)
    assert await browser.me() is None

    done = await browser.sign_in(key.reveal())

    assert (done.status_code, done.headers["location"]) == (303, "/console/")
    assert done.headers["cache-control"] == "no-store"
    me = await browser.me()
    assert me is not None
    assert (me["subject"], me["admin"], me["shown"]) == ("key:boss", True, "boss")
    assert me["expires"] == (NOON + timedelta(hours=12)).isoformat()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"service": True},
        {"roles": ("backend_developer",)},
        {"user_roles": (UserRole.USER,)},
        {"tenant": "acme"},
    ],
    ids=str,
)
async def test_a_key_of_any_kind_signs_in(
    world: World, browser: Browser, settings: dict[str, object]
) -> None:
    key = await world.make_key("ann", **settings)

    await browser.sign_in(key.reveal())

    me = await browser.me()
    assert me is not None
    assert me["subject"] == "key:ann"


async def test_the_key_of_an_agent_signs_in_for_as_long_as_there_is_the_agent(
    world: World, browser: Browser
) -> None:
    await world.agents.add(
        Agent(id="w1", tenant="default", type=AgentType.WORKER, created=world.now)
    )
    key = await world.make_key("of-w1", agent="w1")
    stray = await world.make_key("of-nobody", agent="w2")

    await browser.sign_in(key.reveal())
    refused = await world.worker().browser().sign_in(stray.reveal())

    me = await browser.me()
    assert me is not None
    assert me["subject"] == "agent:w1"
    assert refused.status_code == 403


async def test_the_database_holds_a_hash_and_no_secret(world: World, browser: Browser) -> None:
    key = await world.make_key()
    await browser.sign_in(key.reveal())
    secret = browser.client.cookies["remit_session"]

    async with world.database.reading() as connection:
        rows = (await connection.execute(text("SELECT * FROM console_sessions"))).all()

    assert [row.id for row in rows] == [hashlib.sha256(secret.encode()).hexdigest()]
    assert len(secret) == 43  # 32 bytes
    assert secret not in str(rows)
    assert key.secret not in str(rows)


async def test_two_workers_share_a_session_and_its_end(world: World, browser: Browser) -> None:
    key = await world.make_key()
    await browser.sign_in(key.reveal())
    other = world.worker().browser()
    other.client.cookies = browser.client.cookies
    me = await other.me()
    assert me is not None

    done = await other.sign_out(me["csrf"])

    assert done.headers["location"] == "/console/sign-in"
    assert await browser.me() is None


@pytest.mark.parametrize("had", [False, True], ids=["never signed in", "ended meanwhile"])
async def test_whoever_is_not_signed_in_signs_out_all_the_same(
    world: World, browser: Browser, *, had: bool
) -> None:
    if had:
        await browser.sign_in((await world.make_key()).reveal())
        world.pass_time(minutes=61)

    done = await browser.sign_out("")

    assert (done.status_code, done.headers["location"]) == (303, "/console/sign-in")
    assert "remit_session=; " in done.headers["set-cookie"]


def test_what_a_page_knows_of_its_reader_shows_no_secret() -> None:
    ann = Principal(kind=PrincipalKind.USER, name="ann")
    shown = repr(SignedIn(principal=ann, shown="Ann", expires=NOON, csrf="fff", _secret="sss"))

    assert "fff" not in shown
    assert "sss" not in shown


async def test_a_revoked_key_ends_its_sessions_at_once_and_for_good(
    world: World, browser: Browser
) -> None:
    key = await world.make_key()
    await browser.sign_in(key.reveal())

    await world.keys.revoke("default", "ann", world.now)

    assert await browser.me() is None
    assert await _sessions(world) == 0


async def test_a_rotated_key_ends_its_sessions_when_the_old_secret_does(
    world: World, browser: Browser
) -> None:
    key = await world.make_key()
    await browser.sign_in(key.reveal())
    new = make_key_text()

    await world.keys.replace(
        "default",
        "ann",
        lambda old: replace(old, id=new.id, secret_hash=hash_secret(new.secret)),
        world.now + timedelta(minutes=5),
    )
    meanwhile = await browser.me()
    world.pass_time(minutes=5)

    assert meanwhile is not None
    assert meanwhile["expires"] == (NOON + timedelta(minutes=5)).isoformat()
    assert await browser.me() is None


async def test_another_secret_under_the_same_id_ends_the_sessions(
    world: World, browser: Browser
) -> None:
    key = await world.make_key()
    await browser.sign_in(key.reveal())

    async with world.database.writing() as connection:
        await connection.execute(text("UPDATE api_keys SET secret_hash = 'f00d'"))

    assert await browser.me() is None


async def test_a_key_that_expires_ends_its_session(world: World, browser: Browser) -> None:
    key = await world.make_key(expires=NOON + timedelta(minutes=10))
    await browser.sign_in(key.reveal())

    world.pass_time(minutes=9)
    before = await browser.me()
    world.pass_time(minutes=1)

    assert before is not None
    assert before["expires"] == (NOON + timedelta(minutes=10)).isoformat()
    assert await browser.me() is None


async def test_a_session_of_a_tenant_that_is_not_served_is_none(
    world: World, browser: Browser
) -> None:
    key = await world.make_key(tenant="acme")
    await browser.sign_in(key.reveal())

    world.tenants.served.discard("acme")

    assert await browser.me() is None


async def test_a_session_ends_after_an_hour_without_a_request(
    world: World, browser: Browser
) -> None:
    key = await world.make_key()
    await browser.sign_in(key.reveal())

    world.pass_time(minutes=59)
    still = await browser.me()
    world.pass_time(minutes=59)
    kept = await browser.me()
    world.pass_time(minutes=60)

    assert still is not None
    assert kept is not None
    assert await browser.me() is None


async def test_a_session_ends_after_twelve_hours_however_much_it_is_used(
    world: World, browser: Browser
) -> None:
    key = await world.make_key()
    await browser.sign_in(key.reveal())

    for _ in range(12 * 2 - 1):
        world.pass_time(minutes=30)
        assert await browser.me() is not None
    world.pass_time(minutes=30)

    assert await browser.me() is None


async def test_a_page_that_asks_by_itself_keeps_no_session_alive(
    world: World, browser: Browser
) -> None:
    key = await world.make_key()
    await browser.sign_in(key.reveal())
    world.pass_time(minutes=30)
    assert await browser.me(alone=True) is not None
    world.pass_time(minutes=30)

    assert await browser.me(alone=True) is None


async def test_that_a_session_is_used_is_written_once_a_minute(
    world: World, browser: Browser
) -> None:
    key = await world.make_key()
    await browser.sign_in(key.reveal())
    began = await _last_seen(world)

    world.pass_time(seconds=59)
    await browser.me()
    early = await _last_seen(world)
    world.pass_time(seconds=1)
    await browser.me()

    assert early == began
    assert await _last_seen(world) != early


async def test_a_sign_in_removes_sessions_that_have_ended(world: World, browser: Browser) -> None:
    key = await world.make_key()
    await browser.sign_in(key.reveal())
    world.pass_time(minutes=61)

    await world.worker().browser().sign_in(key.reveal())

    assert await _sessions(world) == 1


async def test_a_sign_in_ends_the_session_that_the_browser_had(
    world: World, browser: Browser
) -> None:
    ann, bob = await world.make_key("ann"), await world.make_key("bob")
    shown = await browser.form()
    await browser.sign_in(ann.reveal())
    stolen = world.worker().browser()
    stolen.client.cookies.set("remit_session", browser.client.cookies["remit_session"])

    await browser.sign_in_with(shown.text, bob.reveal())

    me = await browser.me()
    assert me is not None
    assert me["subject"] == "key:bob"
    assert await stolen.me() is None


async def test_over_http_the_cookie_goes_to_the_console_alone(
    world: World, browser: Browser
) -> None:
    key = await world.make_key()

    done = await browser.sign_in(key.reveal())

    name, *attributes = done.headers["set-cookie"].split("; ")
    assert name.startswith("remit_session=")
    assert attributes == ["Path=/console", "HttpOnly", "SameSite=Lax"]


async def test_over_https_no_other_host_of_the_domain_can_set_the_cookie(world: World) -> None:
    world.http = HttpSettings(public_url="https://tools.example.test/remit")
    key = await world.make_key()
    browser = world.worker().browser(scheme="https")

    done = await browser.sign_in(key.reveal())
    tossed = world.worker().browser(scheme="https")
    tossed.client.cookies.set("remit_session", browser.client.cookies["__Host-remit_session"])

    name, *attributes = done.headers["set-cookie"].split("; ")
    assert name.startswith("__Host-remit_session=")
    assert attributes == ["Path=/", "Secure", "HttpOnly", "SameSite=Lax"]
    assert done.headers["location"] == "/remit/console/"
    assert await browser.me() is not None
    assert await tossed.me() is None


@pytest.mark.parametrize("value", ["", "x", "A" * 43, "ä" * 43, "a b", "A" * 5000])
async def test_an_invented_cookie_signs_nobody_in(
    world: World, browser: Browser, value: str
) -> None:
    await world.make_key()

    shown = await browser.client.get(
        "/console/me", headers={b"Cookie": f"remit_session={value}".encode()}
    )

    assert shown.json() is None


async def _sessions(world: World) -> int:
    async with world.database.reading() as connection:
        return (
            await connection.execute(text("SELECT count(*) FROM console_sessions"))
        ).scalar_one()


async def _last_seen(world: World) -> object:
    async with world.database.reading() as connection:
        return (
            await connection.execute(text("SELECT last_seen FROM console_sessions"))
        ).scalar_one()
