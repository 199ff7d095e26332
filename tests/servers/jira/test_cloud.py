"""The eight tools on Jira Cloud (S0.7): documents, account ids, tokens of pages."""

from collections.abc import AsyncGenerator, Generator
from typing import Any

import jira
import pytest
from tests.servers.jira.desk import TOKEN, Desk, open_desk

from remit.testing.faulty_web import FaultyWeb, as_json
from remit.testing.jira_cloud import JiraCloud, open_jira_cloud
from remit.testing.jira_cloud_rules import ADA, BOT, GRACE


@pytest.fixture
def site() -> JiraCloud:
    return JiraCloud()


@pytest.fixture
def web(site: JiraCloud) -> Generator[FaultyWeb]:
    with open_jira_cloud(site) as opened:
        yield opened


@pytest.fixture
async def cloud(web: FaultyWeb) -> AsyncGenerator[Desk]:
    async with open_desk(web.url, "bot@x.test") as opened:
        yield opened


@pytest.fixture
def referee(web: FaultyWeb) -> Any:
    return jira.JIRA(
        web.url,
        basic_auth=("ann@x.test", "other-token"),
        options={"rest_api_version": "3"},
    )


async def _ticket(desk: Desk, **more: object) -> str:
    made = await desk.ask("create_ticket", project_key="SHOP", summary="Basket is empty", **more)
    return str(made["key"])


_MARKDOWN = """## Steps

1. put **two** in
2. look at [it](https://x.test)

```py
assert basket
```

> [!WARNING]
> only with `EUR`

- [x] seen
- [ ] fixed

[@Ada Lovelace](accountid:5b10ac8d82e05b22cc7d4ef5) knows"""


async def test_a_ticket_is_written_and_shown_in_markdown_and_kept_as_a_document(
    cloud: Desk, referee: Any
) -> None:
    key = await _ticket(
        cloud, issue_type="Bug", description=_MARKDOWN, priority="High", labels=["basket"]
    )
    shown = await cloud.ask("get_ticket", ticket_key=key)
    seen = referee.issue(key).fields

    assert shown["description"] == _MARKDOWN
    assert seen.description.type == "doc"
    kinds = [block.type for block in seen.description.content]
    assert kinds == ["heading", "orderedList", "codeBlock", "panel", "taskList", "paragraph"]
    assert seen.description.content[-1].content[0].attrs.id == ADA.account
    assert (shown["type"], shown["priority"]) == (seen.issuetype.name, seen.priority.name)
    assert shown["labels"] == seen.labels == ["basket"]
    assert shown["reporter"] == {"id": BOT.account, "name": "remit", "email": "bot@x.test"}


async def test_what_a_model_may_write_makes_documents_that_jira_takes(cloud: Desk) -> None:
    key = await _ticket(cloud)
    hostile = "- # a\n  > b\n  > > c\n\n  | t |\n  |---|\n  | u |\n\n> # d\n> > e\n\n1. 1. 1. f\n"
    await cloud.ask("update_ticket", ticket_key=key, description=hostile)
    await cloud.ask("update_ticket", ticket_key=key, description="")
    comment = await cloud.ask("add_comment", ticket_key=key, body=hostile + "> " * 300 + "deep")

    assert all(word in comment["comment"]["body"] for word in ("a", "u", "e", "f", "deep"))


async def test_a_comment_is_seen_by_others_as_it_was_written(cloud: Desk, referee: Any) -> None:
    key = await _ticket(cloud)
    made = await cloud.ask("add_comment", ticket_key=key, body="see **this**\nand that")

    (seen,) = referee.comments(key)
    assert seen.id == made["comment"]["id"]
    words = [getattr(node, "text", "\n") for node in seen.body.content[0].content]
    assert words == ["see ", "this", "\n", "and that"]
    shown = await cloud.ask("get_ticket", ticket_key=key)
    assert [one["body"] for one in shown["comments"]] == ["see **this**\nand that"]


async def test_a_person_is_an_account_found_by_address_even_when_jira_hides_it(
    cloud: Desk, referee: Any
) -> None:
    key = await _ticket(cloud, assignee="ada@x.test")
    first = referee.issue(key).fields.assignee.accountId
    done = await cloud.ask("assign_ticket", ticket_key=key, assignee="grace@x.test")

    assert first == ADA.account
    assert done["previous_assignee"]["id"] == ADA.account
    assert done["assignee"] == {"id": GRACE.account, "name": "Grace Hopper", "email": None}
    assert referee.issue(key).fields.assignee.accountId == GRACE.account


@pytest.mark.parametrize("who", ["Ada Lovelace", "ada", ADA.account])
async def test_a_person_is_found_by_name_or_id(cloud: Desk, who: str) -> None:
    key = await _ticket(cloud)
    done = await cloud.ask("assign_ticket", ticket_key=key, assignee=who)

    assert done["assignee"]["id"] == ADA.account


async def test_people_who_are_unclear_unknown_or_gone_are_told_apart(cloud: Desk) -> None:
    key = await _ticket(cloud)
    unclear = await cloud.refused("assign_ticket", ticket_key=key, assignee="Grace")
    unknown = await cloud.refused("assign_ticket", ticket_key=key, assignee="Zoe")
    gone = await cloud.refused("assign_ticket", ticket_key=key, assignee="Charles Babbage")

    assert f"Grace Hopper ({GRACE.account}), Grace Brewster (brewster@x.test)" in unclear
    assert "knows nobody called 'Zoe'" in unknown
    assert "no longer active: Charles Babbage" in gone


async def test_a_status_is_changed_through_its_transition(cloud: Desk, referee: Any) -> None:
    key = await _ticket(cloud)
    begun = await cloud.ask("change_status", ticket_key=key, status="In Progress", comment="mine")
    impossible = await cloud.refused("change_status", ticket_key=key, status="Blocked")
    wanting = await cloud.refused("change_status", ticket_key=key, status="Done")
    done = await cloud.ask(
        "change_status", ticket_key=key, status="Move to Done", resolution="done", comment="*fin*"
    )

    seen = referee.issue(key).fields
    assert begun["comment_id"] is not None
    assert "possible from there: 'To Do', 'In Review', 'Done'" in impossible
    assert "asks for: Resolution; resolutions: Done, Won't Do, Duplicate" in wanting
    assert (done["status"], done["resolution"]) == ("Done", "Done")
    assert (seen.status.name, seen.resolution.name) == ("Done", "Done")
    assert len(referee.comments(key)) == 2


async def test_searches_go_on_by_token(cloud: Desk) -> None:
    keys = [await _ticket(cloud, labels=["paged"]) for _ in range(5)]
    first = await cloud.ask("search_tickets", jql="labels = paged", max_results=2)
    second = await cloud.ask(
        "search_tickets",
        jql="labels = paged",
        max_results=4,
        page_token=first["next_page_token"],
    )

    assert [one["key"] for one in first["tickets"]] == keys[:2:-1]
    assert [one["key"] for one in second["tickets"]] == keys[2::-1]
    assert first["total"] is None
    assert second["next_page_token"] is None


async def test_words_are_searched_as_words_whatever_they_hold(cloud: Desk) -> None:
    key = await _ticket(cloud, description='C++ says "no" (again): path\\to')
    found = await cloud.ask("search_tickets", text='"no" (again): path\\to')

    assert [one["key"] for one in found["tickets"]] == [key]
    assert found["jql"].startswith('text ~ "\\\\\\"no\\\\\\" \\\\(again\\\\)\\\\: path')


async def test_tickets_are_found_by_who_has_them(cloud: Desk) -> None:
    hers = await _ticket(cloud, assignee="ada@x.test")
    own = await _ticket(cloud, assignee="me")
    nobodys = await _ticket(cloud)

    for who, key in (("Ada Lovelace", hers), ("me", own), ("unassigned", nobodys)):
        found = await cloud.ask("search_tickets", project_key="SHOP", assignee=who)
        assert [one["key"] for one in found["tickets"]] == [key]


async def test_what_jira_says_of_jql_is_passed_on(cloud: Desk) -> None:
    broken = await cloud.refused("search_tickets", jql="labels paged")
    field = await cloud.refused("search_tickets", jql="colour = red")
    project = await cloud.refused("search_tickets", text="x", project_key="NONE")
    unbounded = await cloud.refused("search_tickets", jql="ORDER BY updated")

    assert "Error in the JQL Query: Expecting operator near 'labels paged'" in broken
    assert "Field 'colour' does not exist" in field
    assert "'NONE' does not exist for the field 'project'" in project
    assert "Unbounded JQL queries are not allowed" in unbounded


async def test_the_sprint_is_that_of_the_board_and_active_unless_named(
    cloud: Desk, referee: Any
) -> None:
    planned = await _ticket(cloud, fields={"Sprint": 8})
    await _ticket(cloud, fields={"Sprint": "9"})
    shown = await cloud.ask("get_sprint")
    named = await cloud.ask("get_sprint", board="shop", sprint="Sprint 7")
    kanban = await cloud.refused("get_sprint", board="Support")

    (seen,) = referee.sprints(1, state="active")
    assert (shown["sprint"]["id"], shown["sprint"]["name"]) == (seen.id, seen.name)
    assert [one["key"] for one in shown["tickets"]] == [planned]
    assert shown["by_status"] == {"To Do": 1}
    assert (named["sprint"]["state"], named["tickets"]) == ("closed", [])
    assert "does not support sprints" in kanban
    assert (await cloud.ask("get_ticket", ticket_key=planned))["sprints"] == ["Sprint 8"]


async def test_without_an_active_sprint_the_coming_ones_are_named(
    cloud: Desk, site: JiraCloud
) -> None:
    site.sprints[8]["state"] = "closed"
    said = await cloud.refused("get_sprint", board_id=1)

    assert "'SHOP board' has no active sprint; there are: 'Sprint 9' (id 9)" in said


async def test_a_parent_is_one_field_on_cloud(cloud: Desk, referee: Any) -> None:
    epic = await _ticket(cloud, issue_type="Epic")
    child = await _ticket(cloud, parent=epic)

    assert (await cloud.ask("get_ticket", ticket_key=child))["parent"]["key"] == epic
    assert referee.issue(child).fields.parent.key == epic


async def test_fields_of_the_same_name_are_told_apart_by_id(cloud: Desk) -> None:
    key = await _ticket(cloud)
    said = await cloud.refused("update_ticket", ticket_key=key, fields={"Team": "Shop"})
    done = await cloud.ask("update_ticket", ticket_key=key, fields={"customfield_10030": "Shop"})

    assert "give the id of one: customfield_10030, customfield_10031" in said
    assert done["changed_fields"] == ["customfield_10030"]


async def test_a_second_call_with_the_same_key_makes_nothing_new(cloud: Desk, referee: Any) -> None:
    first = await cloud.ask(
        "create_ticket", project_key="SHOP", summary="Once", idempotency_key="run-7"
    )
    second = await cloud.ask(
        "create_ticket", project_key="SHOP", summary="Once", idempotency_key="run-7"
    )
    other = await cloud.ask(
        "create_ticket", project_key="SHOP", summary="Once", idempotency_key="run-8"
    )
    said = [
        await cloud.ask(
            "add_comment", ticket_key=first["key"], body="*once*", idempotency_key="run-7"
        )
        for _ in range(2)
    ]

    assert (first["created"], second["created"]) == (True, False)
    assert first["key"] == second["key"] != other["key"]
    assert "earlier call" in second["notes"][0]
    assert [one["created"] for one in said] == [True, False]
    assert said[0]["comment"] == said[1]["comment"]
    assert len(referee.comments(first["key"])) == 1


async def test_the_site_is_asked_once_what_it_is_unless_it_is_told(web: FaultyWeb) -> None:
    async with open_desk(web.url, "bot@x.test") as asking:
        await asking.ask("search_tickets", project_key="SHOP")
        await asking.ask("search_tickets", project_key="SHOP")
    async with open_desk(web.url, "bot@x.test", JIRA_DEPLOYMENT="Cloud") as told:
        await told.ask("search_tickets", project_key="SHOP")

    assert len(web.requests("GET", "serverInfo")) == 1


async def test_links_lead_to_where_people_find_the_site(web: FaultyWeb, cloud: Desk) -> None:
    told = {"deploymentType": "Cloud", "baseUrl": "https://tickets.x.test/"}
    web.fail(as_json(told), part="serverInfo")
    made = await cloud.ask("create_ticket", project_key="SHOP", summary="Basket is empty")

    assert made["url"] == "https://tickets.x.test/browse/SHOP-1"


async def test_an_account_is_sent_as_basic_and_a_personal_token_as_bearer(
    web: FaultyWeb, cloud: Desk
) -> None:
    await cloud.ask("search_tickets", project_key="SHOP")
    async with open_desk(web.url, JIRA_DEPLOYMENT="cloud") as desk:
        said = await desk.refused("search_tickets", project_key="SHOP")

    assert web.seen[-1].headers["authorization"] == f"Bearer {TOKEN}"
    assert web.seen[-2].headers["authorization"].startswith("Basic ")
    assert "JIRA_USERNAME and JIRA_API_TOKEN do not fit" in said


async def test_a_read_only_server_has_no_tool_that_changes_anything(web: FaultyWeb) -> None:
    async with open_desk(web.url, "bot@x.test", "--read-only") as desk:
        names = [tool["name"] for tool in desk.server.tools()]
        with pytest.raises(KeyError):
            await desk.server.call_tool("create_ticket", {"project_key": "SHOP", "summary": "x"})

    assert names == ["get_ticket", "search_tickets", "get_sprint"]
