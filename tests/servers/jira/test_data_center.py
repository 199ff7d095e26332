"""The eight tools on Jira Data Center (S0.7), with the `jira` package as a second reader."""

from typing import Any

import jira
import pytest
from tests.servers.jira.desk import Desk


@pytest.fixture(scope="session")
def referee(data_center: str) -> Any:
    return jira.JIRA(data_center, token_auth="anything")


async def _ticket(desk: Desk, **more: object) -> str:
    made = await desk.ask("create_ticket", project_key="SHOP", summary="Basket is empty", **more)
    return str(made["key"])


async def test_a_ticket_is_made_as_asked_and_others_see_it_so(desk: Desk, referee: Any) -> None:
    parent = await _ticket(desk, issue_type="Epic")
    made = await desk.ask(
        "create_ticket",
        project_key="SHOP",
        summary="Basket shows a *negative* sum",
        issue_type="Bug",
        description="h2. Steps\n# put in\n# look",
        priority="High",
        labels=["basket", "sum"],
        assignee="u01@example.com",
        parent=parent,
        fields={"story points": 3, "Due Date": "2027-01-31", "Components": ["API"]},
    )
    shown = await desk.ask("get_ticket", ticket_key=made["key"])
    seen = referee.issue(made["key"]).fields

    assert made["created"]
    assert (shown["summary"], shown["status"]) == (seen.summary, seen.status.name)
    assert shown["description"] == seen.description == "h2. Steps\n# put in\n# look"
    assert (shown["type"], shown["priority"]) == (seen.issuetype.name, seen.priority.name)
    assert shown["assignee"]["id"] == seen.assignee.name == "u01"
    assert shown["labels"] == seen.labels == ["basket", "sum"]
    assert (shown["due"], seen.customfield_10004) == ("2027-01-31", 3)
    assert [component.name for component in seen.components] == ["API"]
    assert shown["parent"]["key"] == seen.customfield_10008 == parent
    assert shown["url"].endswith(f"/browse/{made['key']}")


async def test_a_subtask_hangs_below_its_parent(desk: Desk, referee: Any) -> None:
    parent = await _ticket(desk)
    child = await _ticket(desk, issue_type="Sub-task", parent=parent)

    assert (await desk.ask("get_ticket", ticket_key=child))["parent"]["key"] == parent
    subtasks = (await desk.ask("get_ticket", ticket_key=parent))["subtasks"]
    assert [one["key"] for one in subtasks] == [child]
    assert referee.issue(child).fields.parent.key == parent


async def test_an_update_changes_what_it_names_and_nothing_else(desk: Desk, referee: Any) -> None:
    key = await _ticket(desk, description="old", labels=["a"])
    done = await desk.ask(
        "update_ticket", ticket_key=key, labels=["b", "c"], fields={"Story Points": 5}
    )

    seen = referee.issue(key).fields
    assert done["changed_fields"] == ["customfield_10004", "labels"]
    assert (seen.labels, seen.customfield_10004, seen.description) == (["b", "c"], 5, "old")


async def test_comments_are_shown_oldest_first_and_others_see_them(
    desk: Desk, referee: Any
) -> None:
    key = await _ticket(desk)
    first = await desk.ask("add_comment", ticket_key=key, body="one")
    await desk.ask("add_comment", ticket_key=key, body="two")

    shown = await desk.ask("get_ticket", ticket_key=key)
    assert {one["body"] for one in shown["comments"]} == {"one", "two"}
    assert [one["created"] for one in shown["comments"]] == sorted(
        one["created"] for one in shown["comments"]
    )
    assert shown["comment_count"] == 2
    seen = {comment.id: comment.body for comment in referee.comments(key)}
    assert seen[first["comment"]["id"]] == "one"
    assert "comments" not in await desk.ask("get_ticket", ticket_key=key, comments=False)


async def test_a_status_is_changed_by_name_with_resolution_and_comment(
    desk: Desk, referee: Any
) -> None:
    key = await _ticket(desk)
    begun = await desk.ask("change_status", ticket_key=key, status="in progress", comment="on it")
    done = await desk.ask(
        "change_status", ticket_key=key, status="Done", resolution="won't do", comment="no need"
    )

    seen = referee.issue(key, fields="status,resolution").fields
    assert (begun["previous_status"], begun["status"]) == ("Open", "In Progress")
    assert (seen.status.name, seen.resolution.name) == (done["status"], done["resolution"])
    assert (done["status"], done["resolution"]) == ("Done", "Won't Do")
    bodies = sorted(comment.body for comment in referee.comments(key))
    assert bodies == ["no need", "on it"]


async def test_an_impossible_status_lists_those_that_are_possible(desk: Desk, referee: Any) -> None:
    key = await _ticket(desk)
    said = await desk.refused("change_status", ticket_key=key, status="Reopened")

    assert "'Open' and cannot become 'Reopened'" in said
    assert "possible from there: 'In Progress', 'Done'" in said
    assert referee.issue(key).fields.status.name == "Open"


async def test_a_resolution_that_is_none_or_is_not_taken_is_named(desk: Desk) -> None:
    key = await _ticket(desk)
    unknown = await desk.refused("change_status", ticket_key=key, status="Done", resolution="X")
    not_taken = await desk.refused(
        "change_status", ticket_key=key, status="In Progress", resolution="Done"
    )

    assert "possible: Done, Won't Do, Duplicate, Cannot Reproduce" in unknown
    assert "takes no resolution" in not_taken


async def test_a_status_that_it_has_already_is_no_change(desk: Desk) -> None:
    key = await _ticket(desk)
    same = await desk.ask("change_status", ticket_key=key, status="open")

    assert not same["changed"]
    assert same["notes"] == ["it was open already"]


@pytest.mark.parametrize("who", ["u02@example.com", "u02", "U02", "skyler hall initech", "Skyler"])
async def test_a_person_is_found_by_address_name_or_part_of_it(
    desk: Desk, referee: Any, who: str
) -> None:
    key = await _ticket(desk)
    done = await desk.ask("assign_ticket", ticket_key=key, assignee=who)

    assert done["assignee"]["id"] == referee.issue(key).fields.assignee.name == "u02"


async def test_nobody_and_oneself_can_be_assigned(desk: Desk, referee: Any) -> None:
    key = await _ticket(desk, assignee="me")
    before = referee.issue(key).fields.assignee.name
    done = await desk.ask("assign_ticket", ticket_key=key, assignee=None)

    assert before == "admin"
    assert done["previous_assignee"]["id"] == "admin"
    assert done["assignee"] is None
    assert referee.issue(key).fields.assignee is None


async def test_an_ambiguous_or_unknown_person_is_an_error_with_candidates(desk: Desk) -> None:
    key = await _ticket(desk)
    ambiguous = await desk.refused("assign_ticket", ticket_key=key, assignee="u0")
    unknown = await desk.refused("assign_ticket", ticket_key=key, assignee="zoe@example.com")

    assert "may be any of: Jordan Young Acme (u01@example.com), Skyler Hall" in ambiguous
    assert "knows nobody called 'zoe@example.com'" in unknown


async def test_words_are_found_and_pages_go_on_to_the_end(desk: Desk) -> None:
    keys = {await _ticket(desk, labels=[f"paged{number}"]) for number in range(3)}
    found: list[str] = []
    token: str | None = None
    while True:
        given = {"page_token": token} if token else {}
        page = await desk.ask(
            "search_tickets",
            text="basket is empty",
            project_key="SHOP",
            status="Open",
            max_results=2,
            **given,
        )
        found += [one["key"] for one in page["tickets"]]
        token = page["next_page_token"]
        if token is None:
            break

    assert keys <= set(found)
    assert len(found) == len(set(found)) == page["total"]
    assert page["jql"].startswith('project = "SHOP" AND status = "Open" AND text ~ "basket')


async def test_jql_is_asked_as_it_is_and_narrowed_by_what_else_is_given(desk: Desk) -> None:
    key = await _ticket(desk, labels=["narrow"], assignee="u03")
    await _ticket(desk, labels=["narrow"])
    jql = "labels = narrow OR labels = other ORDER BY key ASC"
    both = await desk.ask("search_tickets", jql=jql)
    one = await desk.ask("search_tickets", jql=jql, assignee="u03@example.com")

    assert both["jql"] == jql
    assert one["jql"] == (
        '(labels = narrow OR labels = other) AND assignee = "u03" ORDER BY key ASC'
    )
    assert len(both["tickets"]) == 2
    assert [ticket["key"] for ticket in one["tickets"]] == [key]


async def test_a_search_for_nothing_or_with_a_strange_token_is_refused(desk: Desk) -> None:
    assert "give jql, or text" in await desk.refused("search_tickets")
    said = await desk.refused("search_tickets", text="x", page_token="abc")
    assert "page_token is not one of this Jira" in said


async def test_the_active_sprint_is_shown_as_others_see_it(desk: Desk, referee: Any) -> None:
    shown = await desk.ask("get_sprint")
    named = await desk.ask("get_sprint", board="shop scrum", sprint=shown["sprint"]["name"])
    by_id = await desk.ask("get_sprint", sprint=str(shown["sprint"]["id"]), tickets=False)

    (seen,) = referee.sprints(shown["board"]["id"], state="active")
    assert shown["sprint"]["id"] == seen.id
    assert shown["sprint"]["name"] == seen.name == by_id["sprint"]["name"]
    assert named["sprint"] == shown["sprint"]
    issues = referee.search_issues(f"sprint = {seen.id}", maxResults=False)
    assert {one["key"] for one in shown["tickets"]} == {issue.key for issue in issues}
    assert sum(shown["by_status"].values()) == shown["ticket_count"] == len(issues)


async def test_a_board_or_sprint_that_is_not_there_lists_those_that_are(desk: Desk) -> None:
    board = await desk.refused("get_sprint", board="Other")
    sprint = await desk.refused("get_sprint", sprint="Sprint")
    none = await desk.refused("get_sprint", sprint="Summer")

    assert "no board 'Other'; there are: 'SHOP Scrum' (id 1), 'SHOP Kanban' (id 2)" in board
    assert "'Sprint' may be any of them" in sprint
    assert "no sprint 'Summer'" in none


async def test_a_wrong_type_or_field_names_those_that_there_are(desk: Desk) -> None:
    kind = await desk.refused(
        "create_ticket", project_key="SHOP", summary="x", issue_type="Incident"
    )
    field = await desk.refused("update_ticket", ticket_key="SHOP-1", fields={"Story Pionts": 3})
    status = await desk.refused("update_ticket", ticket_key="SHOP-1", fields={"status": "Done"})
    missing = await desk.refused("get_ticket", ticket_key="SHOP-99999")

    assert "the types of SHOP are: Bug, Epic, Improvement" in kind
    assert "no field 'Story Pionts'; is it 'Story Points'" in field
    assert "use change_status" in status
    assert "404" in missing
    assert "SHOP-99999" in missing


async def test_long_texts_are_cut_with_a_note(desk: Desk) -> None:
    key = await _ticket(desk, description="long " * 4000)
    await desk.ask("add_comment", ticket_key=key, body="much " * 2000)
    shown = await desk.ask("get_ticket", ticket_key=key)

    assert len(shown["description"]) < 10_100
    assert any("description is cut after 10000 of" in note for note in shown["notes"])
    assert any(note.startswith("comment ") for note in shown["notes"])
    whole = await desk.ask("get_ticket", ticket_key=key, max_chars=100_000)
    assert whole["description"] == "long " * 4000
    assert whole["notes"] == []
