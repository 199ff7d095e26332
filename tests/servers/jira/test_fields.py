"""Fields by name with plain values: what Jira is sent for them, and how tickets are read."""

import json
from typing import Any

import pytest
from tests.servers.jira.desk import Desk, open_desk

from remit.testing.faulty_web import Fault, Seen, as_json, open_faulty_web

_CUSTOM = "com.atlassian.jira.plugin.system.customfieldtypes"
_FIELDS = [
    {"id": "cf1", "name": "Reviewer", "schema": {"type": "user"}},
    {"id": "cf2", "name": "Reviewers", "schema": {"type": "array", "items": "user"}},
    {"id": "cf3", "name": "Team", "schema": {"type": "option"}},
    {"id": "cf4", "name": "Areas", "schema": {"type": "array", "items": "option"}},
    {"id": "cf5", "name": "Notes", "schema": {"type": "string", "custom": f"{_CUSTOM}:textarea"}},
    {"id": "cf6", "name": "Link", "schema": {"type": "string"}},
    {"id": "cf7", "name": "Sprint", "schema": {"custom": "com.pyxis.greenhopper.jira:gh-sprint"}},
]
_ADA = {"accountId": "5b10", "name": "ada", "displayName": "Ada", "emailAddress": "ada@x.test"}


def _site(ticket: dict[str, Any]) -> Any:
    def answer(seen: Seen) -> Fault:
        if seen.target.endswith("/field"):
            return as_json(_FIELDS)
        if "/user/search" in seen.target:
            return as_json([_ADA])
        if "/priority" in seen.target:
            return as_json([{"name": "High"}, {"name": "Low"}])
        if seen.method == "GET":
            return as_json({"key": "SHOP-1", "fields": ticket})
        if b'"priority"' in seen.body:
            return as_json({"errors": {"priority": "The priority selected is invalid."}}, 400)
        return Fault(status=204)

    return answer


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"reviewer": "ada@x.test"}, {"cf1": {"accountId": "5b10"}}),
        ({"Reviewers": ["ada@x.test"]}, {"cf2": [{"accountId": "5b10"}]}),
        ({"Team": "Shop"}, {"cf3": {"value": "Shop"}}),
        ({"Areas": ["EU", "US"]}, {"cf4": [{"value": "EU"}, {"value": "US"}]}),
        ({"cf6": "http://x.test"}, {"cf6": "http://x.test"}),
        ({"Sprint": "12"}, {"cf7": 12}),
        ({"Team": {"id": "7"}}, {"cf3": {"id": "7"}}),
        ({"Team": None}, {"cf3": None}),
        ({"Fix Versions": ["1.0"]}, {"fixVersions": [{"name": "1.0"}]}),
        ({"Parent": "SHOP-2"}, {"parent": {"key": "SHOP-2"}}),
        ({"Issue Type": "Bug"}, {"issuetype": {"name": "Bug"}}),
    ],
)
async def test_a_plain_value_is_sent_in_the_shape_of_its_field(
    given: dict[str, object], sent: dict[str, object]
) -> None:
    with open_faulty_web(_site({})) as web:
        async with open_desk(web.url, "bot@x.test", JIRA_DEPLOYMENT="cloud") as desk:
            await desk.ask("update_ticket", ticket_key="SHOP-1", fields=given)
        (put,) = web.requests("PUT")

    assert json.loads(put.body) == {"fields": sent}


@pytest.mark.parametrize(
    ("deployment", "sent"),
    [
        ("datacenter", "*so*"),
        (
            "cloud",
            {
                "version": 1,
                "type": "doc",
                "content": [
                    {
                        "type": "paragraph",
                        "content": [{"type": "text", "text": "so", "marks": [{"type": "em"}]}],
                    }
                ],
            },
        ),
    ],
)
async def test_a_long_text_is_a_document_on_cloud_and_markup_on_data_center(
    deployment: str, sent: object
) -> None:
    with open_faulty_web(_site({})) as web:
        async with open_desk(web.url, "bot@x.test", JIRA_DEPLOYMENT=deployment) as desk:
            await desk.ask("update_ticket", ticket_key="SHOP-1", fields={"Notes": "*so*"})
        (put,) = web.requests("PUT")

    assert json.loads(put.body) == {"fields": {"cf5": sent}}


async def _refusal(**given: object) -> str:
    with open_faulty_web(_site({})) as web:
        async with open_desk(web.url, "bot@x.test", JIRA_DEPLOYMENT="cloud") as desk:
            return await desk.refused("update_ticket", ticket_key="SHOP-1", **given)


async def test_a_value_that_cannot_be_is_told_with_what_can() -> None:
    assert "takes the id of a sprint" in await _refusal(fields={"Sprint": "Summer"})
    assert "takes a list of values" in await _refusal(fields={"Areas": "EU"})
    assert "use change_status" in await _refusal(fields={"Resolution": "Done"})
    assert "the priorities are: High, Low" in await _refusal(priority="Urgent")
    assert "nothing to change" in await _refusal()


def _related(number: int) -> dict[str, Any]:
    fields = {"summary": f"No. {number}", "status": {"name": "Open"}}
    return {"key": f"SHOP-{number}", "fields": fields}


@pytest.fixture
def ticket() -> dict[str, Any]:
    blocks = {"inward": "is blocked by", "outward": "blocks"}
    return {
        "summary": "Basket is empty",
        "status": {"name": "Open"},
        "cf7": [
            "com.atlassian.greenhopper.service.sprint.Sprint@1a[id=3,state=ACTIVE,name=Spring,goal=]",
            {"id": 4, "name": "Summer"},
        ],
        "issuelinks": [
            {"type": blocks, "outwardIssue": _related(2)},
            {"type": blocks, "inwardIssue": _related(3)},
        ],
        "subtasks": [_related(number) for number in range(100, 160)],
        "attachment": [{"filename": "plan.png"}],
    }


async def test_links_subtasks_sprints_and_attachments_are_shown(ticket: dict[str, Any]) -> None:
    with open_faulty_web(_site(ticket)) as web:
        async with open_desk(web.url, "bot@x.test", JIRA_DEPLOYMENT="datacenter") as desk:
            shown = await desk.ask("get_ticket", ticket_key="SHOP-1", comments=False)

    assert shown["sprints"] == ["Summer", "Spring"]
    assert [(one["relation"], one["key"]) for one in shown["links"]] == [
        ("blocks", "SHOP-2"),
        ("is blocked by", "SHOP-3"),
    ]
    assert len(shown["subtasks"]) == 50
    assert shown["notes"] == ["only 50 of 60 subtasks are shown"]
    assert shown["attachments"] == ["plan.png"]


async def test_no_name_in_a_call_leads_to_another_place(desk: Desk) -> None:
    for key in ("../../secure", "SHOP-1/comment", "SHOP-1?x=1", "SHOP-", "-1"):
        said = await desk.refused("get_ticket", ticket_key=key)
        assert said.startswith("bad arguments for get_ticket: ticket_key")
