"""Nothing twice at Jira, whatever comes at once, late or misshapen (issue 6, must show 4; R23)."""

from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest
from tests.servers.jira.desk import Desk
from tests.servers.jira.test_faults import open_faulty_desk

from remit.testing.faulty_web import Fault, FaultyWeb, Seen, as_json, open_faulty_web
from remit.testing.jira_cloud import JiraCloud, open_jira_cloud

TICKET = {"project_key": "SHOP", "summary": "Basket is empty"}
World = tuple[FaultyWeb, Desk]


@pytest.fixture
async def world() -> AsyncGenerator[World]:
    with open_jira_cloud() as web:
        async with open_faulty_desk(web) as desk:
            yield web, desk


async def _at_once(desk: Desk, tool: str, **arguments: str) -> list[Any]:
    results: list[Any] = []

    async def ask() -> None:
        results.append(await desk.ask(tool, **arguments))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(ask)
    return results


async def test_calls_at_once_with_one_key_make_one_ticket(world: World) -> None:
    web, desk = world
    results = await _at_once(desk, "create_ticket", **TICKET, idempotency_key="k-1")

    assert {one["key"] for one in results} == {"SHOP-1"}
    assert sorted(one["created"] for one in results) == [False, False, False, True]
    assert len(web.requests("POST")) == 1


async def test_calls_at_once_with_one_key_make_one_comment(world: World) -> None:
    web, desk = world
    key = (await desk.ask("create_ticket", **TICKET))["key"]
    results = await _at_once(
        desk, "add_comment", ticket_key=key, body="once", idempotency_key="k-1"
    )

    assert len({one["comment"]["id"] for one in results}) == 1
    assert len(web.requests("POST", "/comment")) == 1


async def test_calls_at_once_change_a_status_once() -> None:
    cloud = JiraCloud()
    with open_jira_cloud(cloud) as web:
        async with open_faulty_desk(web) as desk:
            key = (await desk.ask("create_ticket", **TICKET))["key"]
            results = await _at_once(desk, "change_status", ticket_key=key, status="In Progress")

    assert [one["changed"] for one in results] == [True, False, False, False]
    assert len(web.requests("POST", "/transitions")) == 1


async def test_a_key_is_known_before_jiras_search_finds_its_ticket(world: World) -> None:
    web, desk = world
    made = await desk.ask("create_ticket", **TICKET, idempotency_key="k-1")
    web.fail(as_json({"issues": [], "isLast": True}), part="/search/jql", times=5)
    again = await desk.ask("create_ticket", **TICKET, idempotency_key="k-1")

    assert (again["key"], again["created"]) == (made["key"], False)
    assert len(web.requests("POST")) == 1


async def test_a_ticket_that_has_the_status_is_not_moved_though_a_way_leads_to_it() -> None:
    """Workflows of Cloud mostly have a way from every status to every status, itself included."""
    state = {"fields": {"status": {"name": "Done"}, "resolution": {"name": "Done"}}}

    def script(seen: Seen) -> Fault:
        if "/transitions" in seen.target:
            ways = {"transitions": [{"id": "3", "name": "Finish", "to": {"name": "Done"}}]}
            return as_json(ways) if seen.method == "GET" else Fault(status=204)
        return as_json(state)

    with open_faulty_web(script) as web:
        async with open_faulty_desk(web) as desk:
            same = await desk.ask("change_status", ticket_key="SHOP-1", status="done")

    assert not same["changed"]
    assert same["notes"] == ["it was done already"]
    assert not web.requests("POST")


@pytest.mark.parametrize("data", [None, [], {}, {"key": None}, "made", 7])
async def test_a_ticket_is_looked_for_when_the_answer_to_its_making_names_none(
    world: World, data: object
) -> None:
    web, desk = world
    web.fail(as_json(data, 201), method="POST")
    said = await desk.refused("create_ticket", **TICKET)

    assert "whether it was done is unknown, so look before you try again" in said
    assert len(web.requests("POST")) == 1
    assert web.requests("GET", "/search/jql")


@pytest.mark.parametrize("data", [None, [], {}, "made"])
async def test_a_comment_is_looked_for_when_the_answer_to_its_making_names_none(
    world: World, data: object
) -> None:
    web, desk = world
    key = (await desk.ask("create_ticket", **TICKET))["key"]
    web.fail(as_json(data, 201), method="POST", part="/comment")
    said = await desk.refused("add_comment", ticket_key=key, body="once")

    assert "whether it was done is unknown, so look before you try again" in said
    assert len(web.requests("POST", "/comment")) == 1


async def test_that_an_outcome_is_unknown_is_said_though_looking_goes_wrong(world: World) -> None:
    web, desk = world
    web.fail(Fault(way="cut"), method="POST")
    web.fail(as_json([]), part="/search/jql")
    said = await desk.refused("create_ticket", **TICKET)

    assert "whether it was done is unknown, so look before you try again" in said


@pytest.mark.parametrize("issue", [{}, {"key": None, "fields": None}, {"key": "..", "fields": []}])
async def test_a_ticket_without_a_key_is_shown_as_far_as_it_goes(
    world: World, issue: object
) -> None:
    web, desk = world
    web.fail(as_json({"issues": [issue]}), part="/search/jql")
    found = await desk.ask("search_tickets", jql="x = 1")

    assert len(found["tickets"]) == 1


@pytest.mark.parametrize("who", ["me", "Skyler"])
async def test_a_person_whose_id_jira_does_not_say_is_not_taken_for_nobody(
    world: World, who: str
) -> None:
    web, desk = world
    key = (await desk.ask("create_ticket", **TICKET))["key"]
    web.fail(as_json({}), part="/myself")
    web.fail(as_json([{"displayName": "Skyler"}]), part="/user/search", times=3)
    said = await desk.refused("assign_ticket", ticket_key=key, assignee=who)

    assert "Jira does not say the accountId" in said
    assert not web.requests("PUT")
