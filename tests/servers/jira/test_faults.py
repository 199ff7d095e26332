"""Faults injected between the Jira server and Jira (issue 6, must show 4; R23).

Right error, right retry, never a second ticket, comment or change of status, and nothing hangs.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest
from tests.servers.jira.desk import TOKEN, Desk, open_desk
from tests.servers.rest_worlds import Clock

from remit.servers.jira.server import JiraServer
from remit.servers.jira.site import Deployment, Jira
from remit.servers.rest.client import RestClient
from remit.servers.rest.credentials import Credential
from remit.servers.rest.service import Service
from remit.testing.faulty_web import Fault, FaultyWeb, as_json, open_faulty_web
from remit.testing.jira_cloud import open_jira_cloud

PAGE = Fault(status=200, headers={"Content-Type": "text/html"}, body=b"<title>Log in</title>")
PASSING = {
    "429": as_json({"errorMessages": ["Rate limit exceeded."]}, 429, Retry_After="2"),
    "500": as_json({"errorMessages": ["Internal server error"]}, 500),
    "502": Fault(status=502, headers={"Content-Type": "text/html"}, body=b"<title>Bad</title>"),
    "503": Fault(status=503),
    "cut": Fault(way="cut"),
    "cut-body": Fault(way="cut-body", status=200, body=b'{"key": "SH'),
}
STALL = Fault(way="stall", status=200, body=b"{")
UNKNOWN = {**PASSING, "page": PAGE}
del UNKNOWN["429"]


@asynccontextmanager
async def open_faulty_desk(
    web: FaultyWeb, deployment: Deployment = "cloud", *, attempt: float = 10.0, call: float = 30.0
) -> AsyncGenerator[Desk]:
    """Open the server with a clock that only waiting moves."""
    service = Service(
        name="Jira",
        base=web.url,
        setting="JIRA_URL",
        credential=Credential.basic("bot@x.test", TOKEN),
        attempt=attempt,
        call=call,
    )
    clock = Clock()
    client = RestClient(service, sleep=clock.sleep, clock=clock.time)
    server = JiraServer(Jira(client, deployment, pause=0.0))
    try:
        with anyio.fail_after(60):
            yield Desk(server)
    finally:
        await server.aclose()


@pytest.fixture
async def world() -> AsyncGenerator[tuple[FaultyWeb, Desk]]:
    with open_jira_cloud() as web:
        async with open_faulty_desk(web) as desk:
            yield web, desk


World = tuple[FaultyWeb, Desk]
TICKET = {"project_key": "SHOP", "summary": "Basket is empty"}


async def _ticket(desk: Desk) -> str:
    return str((await desk.ask("create_ticket", **TICKET))["key"])


async def _count(desk: Desk) -> int:
    found = await desk.ask("search_tickets", project_key="SHOP", max_results=100)
    return len(found["tickets"])


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
async def test_a_read_that_fails_in_passing_is_made_again(world: World, fault: Fault) -> None:
    web, desk = world
    key = await _ticket(desk)
    web.fail(fault, method="GET", part=f"/issue/{key}?", times=2)

    assert (await desk.ask("get_ticket", ticket_key=key))["key"] == key
    assert len(web.requests("GET", f"/issue/{key}?")) == 3


@pytest.mark.parametrize("fault", UNKNOWN.values(), ids=UNKNOWN)
async def test_a_ticket_that_may_have_been_made_is_asked_for_once(
    world: World, fault: Fault
) -> None:
    web, desk = world
    web.fail(fault, method="POST")
    said = await desk.refused("create_ticket", **TICKET)

    assert "whether it was done is unknown, so look before you try again" in said
    assert len(web.requests("POST")) == 1
    assert await _count(desk) == 0


async def test_a_ticket_whose_answer_was_lost_is_found_and_not_made_again(world: World) -> None:
    web, desk = world
    await _ticket(desk)  # of the same name, but of another request
    web.fail(Fault(way="lost"), method="POST")
    made = await desk.ask("create_ticket", **TICKET)

    assert (made["key"], made["created"]) == ("SHOP-2", True)
    assert made["notes"] == ["the connection broke before Jira's answer came, but it is there now"]
    assert len(web.requests("POST")) == await _count(desk) == 2


@pytest.mark.parametrize("fault", UNKNOWN.values(), ids=UNKNOWN)
async def test_a_comment_that_may_have_been_made_is_asked_for_once(
    world: World, fault: Fault
) -> None:
    web, desk = world
    key = await _ticket(desk)
    web.fail(fault, method="POST", part="/comment")
    said = await desk.refused("add_comment", ticket_key=key, body="once")

    assert "whether it was done is unknown" in said
    assert len(web.requests("POST", "/comment")) == 1
    assert (await desk.ask("get_ticket", ticket_key=key))["comment_count"] == 0


async def test_a_comment_whose_answer_was_lost_is_found_and_not_made_again(world: World) -> None:
    web, desk = world
    key = await _ticket(desk)
    await desk.ask("add_comment", ticket_key=key, body="- *once*")
    web.fail(Fault(way="lost"), method="POST", part="/comment")
    made = await desk.ask("add_comment", ticket_key=key, body="- *once*")

    shown = await desk.ask("get_ticket", ticket_key=key)
    assert made["created"]
    assert made["comment"] == shown["comments"][-1]
    assert shown["comment_count"] == len(web.requests("POST", "/comment")) == 2


async def test_a_change_of_status_whose_answer_was_lost_is_seen_and_not_made_again(
    world: World,
) -> None:
    web, desk = world
    key = await _ticket(desk)
    web.fail(Fault(way="lost"), method="POST", part="/transitions")
    done = await desk.ask(
        "change_status", ticket_key=key, status="Done", resolution="Done", comment="fin"
    )

    assert (done["status"], done["changed"]) == ("Done", True)
    assert "the ticket has that status now" in done["notes"][0]
    assert len(web.requests("POST", "/transitions")) == 1
    assert (await desk.ask("get_ticket", ticket_key=key))["comment_count"] == 1


@pytest.mark.parametrize("fault", UNKNOWN.values(), ids=UNKNOWN)
async def test_a_change_of_status_that_may_have_been_made_is_asked_for_once(
    world: World, fault: Fault
) -> None:
    web, desk = world
    key = await _ticket(desk)
    web.fail(fault, method="POST", part="/transitions")
    said = await desk.refused("change_status", ticket_key=key, status="In Progress")

    assert "whether it was done is unknown" in said
    assert len(web.requests("POST", "/transitions")) == 1


async def test_a_status_that_was_changed_stays_so_when_its_comment_fails(world: World) -> None:
    web, desk = world
    key = await _ticket(desk)
    web.fail(as_json({"errorMessages": ["Comments are closed."]}, 403), part="/comment")
    done = await desk.ask("change_status", ticket_key=key, status="In Progress", comment="mine")

    assert done["changed"]
    assert "the comment was not added: Jira answered 403" in done["notes"][0]


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
async def test_what_may_be_done_twice_is_made_again(world: World, fault: Fault) -> None:
    web, desk = world
    key = await _ticket(desk)
    web.fail(fault, method="PUT", part=f"/issue/{key}")
    web.fail(fault, method="PUT", part="/assignee")

    await desk.ask("update_ticket", ticket_key=key, summary="Basket is full", labels=["a"])
    await desk.ask("assign_ticket", ticket_key=key, assignee="me")
    assert len(web.requests("PUT")) == 4
    assert (await desk.ask("get_ticket", ticket_key=key))["summary"] == "Basket is full"


_REFUSALS = [
    (as_json({"errorMessages": ["Client must be authenticated"]}, 401), "JIRA_API_TOKEN do not"),
    (as_json({"message": f"Forbidden for {TOKEN}"}, 403), "the account of this server may not"),
    (as_json({"errorMessages": ["Issue does not exist"]}, 404), "or the account of this server"),
    (as_json({"errorMessages": ["Somebody was faster"]}, 409), "read it again and decide anew"),
    (
        Fault(status=403, headers={"X-Seraph-LoginReason": "AUTHENTICATION_DENIED"}),
        "with a CAPTCHA",
    ),
    (as_json({"errorMessages": ["Rate limited"]}, 429, Retry_After="40"), "try again in 40 s"),
]


@pytest.mark.parametrize(("fault", "told"), _REFUSALS)
async def test_a_refusal_is_told_with_what_to_do_and_asked_for_once(
    world: World, fault: Fault, told: str
) -> None:
    web, desk = world
    key = await _ticket(desk)
    web.fail(fault, method="POST", part="/comment")
    writing = await desk.refused("add_comment", ticket_key=key, body="x")
    before = len(web.seen)
    web.forget_faults()

    assert told in writing
    assert f"answered {fault.status}" in writing
    assert "unknown" not in writing
    assert len(web.requests("POST", "/comment")) == 1
    assert len(web.seen) == before


async def test_a_page_instead_of_json_is_named_as_such(world: World) -> None:
    web, desk = world
    web.fail(PAGE, method="GET")
    said = await desk.refused("get_ticket", ticket_key="SHOP-1")

    assert "a web page where JSON is expected: is JIRA_URL right" in said


@pytest.mark.parametrize("data", [[], "text", None, {"issues": "none"}, {"issues": [1, None]}])
async def test_json_of_another_shape_ends_well(world: World, data: object) -> None:
    web, desk = world
    web.fail(as_json(data), part="/search/jql")
    result = await desk.server.call_tool("search_tickets", {"jql": "x = 1"})

    assert result["isError"] == (not isinstance(data, dict))


async def test_a_site_that_is_not_there_is_said_to_be_so() -> None:
    with open_jira_cloud() as web:
        url = web.url
    async with open_desk(url, "bot@x.test") as desk:
        said = await desk.refused("get_ticket", ticket_key="SHOP-1")

    assert "Jira cannot be reached" in said
    assert "attempted 3 times" in said


async def test_an_answer_that_never_ends_holds_nobody_up() -> None:
    with open_jira_cloud() as web:
        async with open_faulty_desk(web, attempt=1.0, call=3.0) as desk:
            web.fail(STALL, method="POST")
            web.fail(STALL, method="GET", part="/issue/SHOP-1?")
            writing = await desk.refused("create_ticket", **TICKET)
            reading = await desk.refused("get_ticket", ticket_key="SHOP-1")

    assert "did not answer within" in writing
    assert "whether it was done is unknown" in writing
    assert len(web.requests("POST")) == 1
    assert "answered 404" in reading  # the second time
    assert len(web.requests("GET", "/issue/SHOP-1?")) == 2


@pytest.mark.parametrize("way", ["lost", "cut"])
async def test_on_data_center_too_nothing_is_made_twice(data_center: str, way: str) -> None:
    with open_faulty_web(behind=data_center) as web:
        async with open_faulty_desk(web, "datacenter") as desk:
            key = await _ticket(desk)
            for part in ("/comment", "/transitions", "/issue"):
                web.fail(Fault(way="lost" if way == "lost" else "cut"), method="POST", part=part)
            comment = await desk.refused("add_comment", ticket_key=key, body="once")
            moved = await desk.server.call_tool(
                "change_status", {"ticket_key": key, "status": "In Progress"}
            )
            made = await desk.refused("create_ticket", project_key="SHOP", summary=f"Only {way}")
            shown = await desk.ask("get_ticket", ticket_key=key)
            found = await desk.ask("search_tickets", text=f"Only {way}")

    ran = int(way == "lost")
    assert "whether it was done is unknown" in comment
    assert "whether it was done is unknown" in made
    assert moved["isError"] == (way == "cut")
    assert shown["status"] == ("In Progress" if ran else "Open")
    assert shown["comment_count"] == len(found["tickets"]) == ran
