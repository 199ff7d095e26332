"""The REST client: what it sends, what it takes, and what it never lets out."""

import gzip
import json

import anyio
import httpx2
import pytest
from tests.servers.rest_worlds import TOKEN, open_world, service_at

from remit.servers.rest.client import RestClient
from remit.servers.rest.credentials import Credential
from remit.servers.rest.faults import RestFault
from remit.servers.rest.requests import Asked, path_of
from remit.testing.faulty_web import Fault, Seen, as_json, open_faulty_web


def echo(seen: Seen) -> Fault:
    """Answer with what arrived."""
    return as_json({"method": seen.method, "target": seen.target, "body": seen.body.decode()})


async def test_a_request_has_the_credential_its_query_and_its_body_as_json() -> None:
    async with open_world(echo) as world:
        got = await world.client.get("/a", {"q": "x y&z", "page": 2, "no": None, "all": True})
        sent = await world.client.ask(Asked(method="POST", path="/b", body={"title": "é"}))
    assert got.data == {"method": "GET", "target": "/a?q=x+y%26z&page=2&all=true", "body": ""}
    assert json.loads(str(sent.data["body"])) == {"title": "é"}  # type: ignore[index]
    assert [one.headers["authorization"] for one in world.web.seen] == [f"Bearer {TOKEN}"] * 2


def test_a_path_is_made_of_names_that_cannot_leave_their_place() -> None:
    assert path_of("repos", "a/../b", "c?d#e", 7) == "/repos/a%2F..%2Fb/c%3Fd%23e/7"
    for name in ("", ".", ".."):
        with pytest.raises(ValueError, match="is no name"):
            path_of("repos", name)


async def test_no_content_is_no_data_and_a_text_may_be_cut_off_at_the_cap() -> None:
    def script(seen: Seen) -> Fault:
        return Fault(status=204) if seen.target == "/empty" else Fault(status=200, body=b"x" * 99)

    async with open_world(script, most_bytes=10) as world:
        empty = await world.client.get("/empty")
        text = await world.client.ask(Asked(method="GET", path="/d", reads=True, wants="text"))
        with pytest.raises(RestFault, match="answer is over 10 bytes; ask for less"):
            await world.client.get("/json")
    assert empty.data is None
    assert (text.text, text.truncated) == ("x" * 10, True)


async def test_what_did_not_change_is_asked_for_by_its_tag_and_not_sent_again() -> None:
    def script(seen: Seen) -> Fault:
        if seen.headers.get("if-none-match") == '"v1"':
            return Fault(status=304, headers={"ETag": '"v1"'})
        return as_json({"n": 1}, ETag='"v1"')

    async with open_world(script) as world:
        replies = [await world.client.get("/thing") for _ in range(3)]
        await world.client.get("/other")
    assert [reply.data for reply in replies] == [{"n": 1}] * 3
    assert [seen.headers.get("if-none-match") for seen in world.web.seen] == [
        None,
        '"v1"',
        '"v1"',
        None,
    ]


async def test_tags_that_are_kept_are_bounded() -> None:
    async with open_world(lambda _: as_json([], ETag='"v1"')) as world:
        for number in range(130):
            await world.client.get(f"/{number}")
        await world.client.get("/129")
        await world.client.get("/0")
    tagged = ["if-none-match" in seen.headers for seen in world.web.seen[-2:]]
    assert tagged == [True, False]


async def test_a_redirect_within_the_service_is_followed_with_method_and_body() -> None:
    def script(seen: Seen) -> Fault:
        if seen.target.startswith("/old"):
            return Fault(status=307, headers={"Location": "/new"})
        return echo(seen)

    async with open_world(script) as world:
        got = await world.client.get("/old")
        sent = await world.client.ask(Asked(method="POST", path="/old", body={"a": 1}))
    assert got.data == {"method": "GET", "target": "/new", "body": ""}
    assert sent.data == {"method": "POST", "target": "/new", "body": '{"a": 1}'}


async def test_a_redirect_to_another_host_never_gets_the_credential() -> None:
    with open_faulty_web(echo) as thief:
        away = Fault(status=302, headers={"Location": f"{thief.url}/steal"})
        async with open_world(lambda _: away) as world:
            with pytest.raises(RestFault, match="which does not get the credential") as caught:
                await world.client.get("/a")
        assert thief.seen == []
    assert "GITHUB_API_URL" in str(caught.value)
    assert not caught.value.passing


async def test_redirects_that_go_round_end_and_one_that_would_lose_a_body_is_refused() -> None:
    async with open_world(lambda _: Fault(status=301, headers={"Location": "/a"})) as world:
        with pytest.raises(RestFault, match="on and on"):
            await world.client.get("/a")
        with pytest.raises(RestFault, match="has moved this to '/a'") as caught:
            await world.client.ask(Asked(method="POST", path="/a", body={}))
    assert len(world.web.requests("POST")) == 1
    assert not caught.value.is_outcome_unknown


async def test_the_credential_is_hidden_where_the_service_sends_it_back() -> None:
    pair = Credential.basic("ada", TOKEN)
    told = {"message": f"bad {TOKEN} in {pair.header()}", "token": TOKEN}
    async with open_world(lambda _: as_json(told, 401)) as world:
        with pytest.raises(RestFault) as caught:
            await world.client.get("/a")
    async with open_world(lambda _: as_json(told)) as world:
        reply = await world.client.get("/a")
    shown = f"{caught.value} {caught.value!r} {reply} {world.client.service!r} {pair!r}"
    assert TOKEN not in shown
    assert "[secret]" in shown
    assert pair.header() not in repr(pair)


async def test_half_a_surrogate_pair_becomes_a_mark_that_every_wire_can_hold() -> None:
    def script(seen: Seen) -> Fault:
        status = 400 if seen.target == "/bad" else 200
        return Fault(status=status, body=rb'{"message": "a\ud800b \ud83d\ude00 \u00e9"}')

    async with open_world(script) as world:
        reply = await world.client.get("/good")
        with pytest.raises(RestFault) as caught:
            await world.client.get("/bad")
    assert reply.data == {"message": "a?b 😀 é"}
    assert caught.value.said == "a?b 😀 é"


async def test_a_packed_answer_is_unpacked_within_the_cap() -> None:
    packed = {"Content-Encoding": "gzip", "Content-Type": "application/json"}

    def script(seen: Seen) -> Fault:
        data = b'{"n": 1}' if seen.target == "/small" else b'"' + b"x" * 9999 + b'"'
        return Fault(status=200, headers=packed, body=gzip.compress(data))

    async with open_world(script, most_bytes=1000) as world:
        assert (await world.client.get("/small")).data == {"n": 1}
        with pytest.raises(RestFault, match="over 1000 bytes"):
            await world.client.get("/large")


async def test_cookies_are_neither_kept_nor_sent() -> None:
    async with open_world(lambda _: as_json({}, Set_Cookie="session=1; Path=/")) as world:
        await world.client.get("/a")
        await world.client.get("/b")
    assert ["cookie" in seen.headers for seen in world.web.seen] == [False, False]


def test_a_token_that_no_header_can_hold_is_refused_without_being_shown() -> None:
    with pytest.raises(ValueError, match="no HTTP header can hold") as caught:
        Credential.bearer("secret\nX-Evil: 1")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("base", "problem"),
    [
        ("ftp://host", "no http or https address"),
        ("https://", "no http or https address"),
        ("https://host:port", "no http or https address"),
        ("https://ada:pw@host", "holds a user or password"),
        ("https://host/api?x=1", "has a query or fragment"),
    ],
)
def test_an_address_that_is_none_is_refused(base: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        service_at(base)
    assert str(caught.value).startswith("GITHUB_API_URL")
    assert "pw" not in str(caught.value)


async def test_a_call_that_is_cancelled_ends_at_once_and_leaves_the_client_in_order() -> None:
    async with open_world(echo) as world:
        world.web.fail(Fault(way="stall", status=200))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(world.client.get, "/slow")
            with anyio.fail_after(30):
                while not world.web.seen:
                    await anyio.wait_all_tasks_blocked()
                    await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        assert (await world.client.get("/next")).status == 200


async def test_a_service_behind_a_prefix_is_asked_below_it() -> None:
    with open_faulty_web(echo) as web:
        client = RestClient(service_at(f"{web.url}/api/v3/"))
        try:
            await client.get("/user")
        finally:
            await client.aclose()
    assert web.seen[0].target == "/api/v3/user"
    assert httpx2.URL(web.url).host == "127.0.0.1"
