"""The REST client when things go wrong at HTTP level: right error, right retry (R23)."""

import socket

import anyio
import pytest
from tests.servers.rest_worlds import NOW, TOKEN, Clock, World, open_world, service_at

from remit.servers.rest.client import RestClient
from remit.servers.rest.faults import RestFault
from remit.servers.rest.requests import Asked
from remit.testing.faulty_web import Fault, Seen, as_json

POST = Asked(method="POST", path="/pulls", body={"title": "t"})
PUT = Asked(method="PUT", path="/ticket", body={}, idempotent=True)
HTML = Fault(
    status=200,
    headers={"Content-Type": "text/html"},
    body=b"<html><title>Sign in</title><body>...</body></html>",
)


def fine(_seen: Seen) -> Fault:
    return as_json({"fine": True})


async def fault_of(world: World, asked: Asked | None = None) -> RestFault:
    with pytest.raises(RestFault) as caught, anyio.fail_after(60):
        await world.client.ask(asked or Asked(method="GET", path="/a", reads=True))
    assert TOKEN not in f"{caught.value}{caught.value!r}"
    return caught.value


PASSING = [
    as_json({"message": "oops"}, 500),
    Fault(status=502, body=b"<html><title>502 Bad Gateway</title></html>"),
    as_json({}, 503),
    as_json({}, 504),
    Fault(way="cut"),
    Fault(way="cut-body", status=200, body=b'{"a":'),
    Fault(way="stall", status=200, body=b'{"a":'),
    Fault(status=200, headers={"Content-Encoding": "gzip"}, body=b"no gzip"),
]


@pytest.mark.parametrize("fault", PASSING, ids=lambda one: f"{one.way}-{one.status}")
async def test_a_read_that_fails_in_passing_is_made_again_a_second_later(fault: Fault) -> None:
    limits, times = ({"attempt": 4.0}, 1) if fault.way == "stall" else ({}, 2)
    async with open_world(fine, **limits) as world:
        world.web.fail(fault, times=times)
        reply = await world.client.get("/a")
    assert reply.data == {"fine": True}
    assert world.clock.pauses == [1.0] * times
    assert len(world.web.seen) == times + 1


@pytest.mark.parametrize("fault", PASSING, ids=lambda one: f"{one.way}-{one.status}")
async def test_a_write_that_may_have_run_is_made_once_and_said_to_be_unknown(fault: Fault) -> None:
    limits = {"call": 1.0} if fault.way == "stall" else {}
    async with open_world(fine, **limits) as world:
        world.web.fail(fault, times=9)
        failed = await fault_of(world, POST)
    assert failed.is_outcome_unknown
    assert "whether it was done is unknown" in str(failed)
    assert len(world.web.seen) == 1
    assert world.clock.pauses == []


async def test_three_attempts_are_all() -> None:
    async with open_world(lambda _: as_json({"message": "oops"}, 500)) as world:
        failed = await fault_of(world)
    assert len(world.web.seen) == 3
    assert str(failed) == "GitHub answered 500 Internal Server Error: oops; attempted 3 times"


async def test_a_change_that_may_be_made_twice_is_made_again() -> None:
    async with open_world(fine) as world:
        world.web.fail(Fault(way="lost"))
        assert (await world.client.ask(PUT)).data == {"fine": True}
    assert len(world.web.seen) == 2


async def test_a_write_that_never_left_is_made_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    clock = Clock()
    client = RestClient(service_at(f"http://127.0.0.1:{port}"), sleep=clock.sleep, clock=clock.time)
    with pytest.raises(RestFault) as caught:
        await client.ask(POST)
    await client.aclose()
    assert clock.pauses == [1.0, 1.0]
    assert not caught.value.sent
    assert not caught.value.is_outcome_unknown
    assert "GitHub cannot be reached" in str(caught.value)
    assert str(caught.value).endswith("attempted 3 times")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 410, 415, 422, 501])
@pytest.mark.parametrize("asked", [None, POST, PUT], ids=["read", "write", "idempotent"])
async def test_a_definite_answer_is_asked_for_once(status: int, asked: Asked | None) -> None:
    told = {
        "message": "Validation Failed",
        "errors": [
            {"resource": "PullRequest", "code": "invalid", "field": "head"},
            {"resource": "PullRequest", "code": "custom", "message": "No commits between"},
        ],
    }
    async with open_world(lambda _: as_json(told, status)) as world:
        failed = await fault_of(world, asked)
    assert len(world.web.seen) == 1
    assert failed.status == status
    assert failed.said == "Validation Failed; PullRequest head invalid; No commits between"
    assert failed.is_outcome_unknown is (status > 500 and asked is not None)


async def test_what_jira_says_is_read_as_well() -> None:
    told = {"errorMessages": ["No such project"], "errors": {"summary": "is required"}}
    async with open_world(lambda _: as_json(told, 400)) as world:
        failed = await fault_of(world)
    assert failed.said == "No such project; summary: is required"


async def test_a_long_answer_of_the_service_is_trimmed() -> None:
    async with open_world(lambda _: as_json({"message": "x" * 9999}, 400)) as world:
        failed = await fault_of(world)
    assert len(failed.said) == 1000


@pytest.mark.parametrize("asked", [None, POST], ids=["read", "write"])
async def test_a_web_page_instead_of_json_is_named_as_such(asked: Asked | None) -> None:
    async with open_world(lambda _: HTML) as world:
        failed = await fault_of(world, asked)
    assert "with a web page where JSON is expected: is GITHUB_API_URL right" in str(failed)
    assert failed.said == "Sign in"
    assert len(world.web.seen) == 1
    assert failed.is_outcome_unknown is (asked is not None)


async def test_json_nested_without_end_is_no_answer_but_no_crash_either() -> None:
    deep = Fault(status=200, body=b"[" * 200_000)
    async with open_world(lambda _: deep) as world:
        assert "no JSON where JSON is expected" in str(await fault_of(world))


async def test_retry_after_is_honoured_within_the_time_of_the_call() -> None:
    async with open_world(fine) as world:
        world.web.fail(as_json({}, 429, Retry_After="7"))
        assert (await world.client.get("/a")).data == {"fine": True}
    assert world.clock.pauses == [7.0]


@pytest.mark.parametrize(
    ("limit", "wait"),
    [
        (as_json({}, 429, Retry_After="120"), 120),
        (as_json({}, 429, Retry_After="Sun, 17 Mar 2030 17:48:00 GMT"), 80),
        (
            as_json(
                {},
                403,
                X_RateLimit_Remaining="0",
                X_RateLimit_Reset="2030-03-17T17:01:20Z",
                Date="Sun, 17 Mar 2030 17:00:00 GMT",
            ),
            80,
        ),
        (as_json({}, 403, X_RateLimit_Remaining="0", X_RateLimit_Reset=str(int(NOW) + 90)), 90),
        (as_json({"message": "You have exceeded a secondary rate limit"}, 403), 60),
        (as_json({"message": "API rate limit exceeded for user"}, 429), 60),
    ],
    ids=["seconds", "date", "skewed", "primary", "secondary", "no-headers"],
)
async def test_a_limit_that_outlasts_the_call_is_told_with_when_to_try_again(
    limit: Fault, wait: int
) -> None:
    async with open_world(lambda _: limit) as world:
        failed, again = await fault_of(world), await fault_of(world)
    assert failed.limited
    assert failed.retry_after == pytest.approx(wait, abs=1)
    assert len(world.web.seen) == 1, "while the limit is known to hold, nobody is asked"
    assert not again.sent
    assert f"try again in {wait} s" in str(again)


async def test_a_write_that_a_limit_refused_is_not_made_again_but_not_unknown_either() -> None:
    async with open_world(fine) as world:
        world.web.fail(as_json({"message": "slow down"}, 429, Retry_After="5"))
        failed = await fault_of(world, POST)
        assert len(world.web.seen) == 1
        await world.client.ask(POST)
    assert not failed.is_outcome_unknown
    assert str(failed).endswith("slow down; try again in 5 s")
    assert world.clock.pauses == [5.0], "the next request waits for what the service asked"


async def test_after_the_last_request_allowed_the_next_waits_for_the_reset() -> None:
    last = as_json({}, X_RateLimit_Remaining="0", X_RateLimit_Reset=str(int(NOW) + 3))
    async with open_world(fine) as world:
        world.web.fail(last)
        await world.client.get("/a", bucket="search")
        await world.client.get("/other")
        assert world.clock.pauses == []
        await world.client.get("/a", bucket="search")
    assert world.clock.pauses == [pytest.approx(3.0, abs=0.1)]


async def test_an_enclosing_time_limit_bounds_pauses_and_attempts() -> None:
    async with open_world(fine) as world:
        world.web.fail(as_json({}, 503, Retry_After="20"))
        with anyio.fail_after(15):
            failed = await fault_of(world)
        world.clock.now += 30
        world.web.fail(Fault(way="stall", status=200))
        with anyio.fail_after(1.5):
            slow = await fault_of(world, POST)
    assert failed.retry_after == 20
    assert world.clock.pauses == []
    assert "did not answer within 1" in str(slow)
