"""The pages "Agents" and "Users": who works here, and who is kept out."""

import re
from collections.abc import Generator
from html import unescape
from uuid import uuid4

import pytest
from tests.console.office import AGENT, Office
from tests.console.reading import Reading
from tests.console.visits import Visit

from remit.client import agents, users

NEW = "/agents/-new"


@pytest.fixture
def visit(office: Office) -> Visit:
    return office.visit("administrator")


@pytest.fixture
def agent(office: Office) -> Generator[str]:
    """A worker that only the test knows, and that is above nobody when the test is over."""
    name = f"w-{uuid4().hex[:10]}"
    office.client().ask(agents.create(name, type="WORKER", epic="e1"))
    yield name
    office.client().ask(agents.change(name, {"type": "WORKER"}, if_match="*"))


def hidden(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found is not None
    return unescape(found[1])


def test_agents_are_listed_with_what_they_are_at(visit: Visit, agent: str) -> None:
    page = visit.page("/agents")

    rows = {
        words[0]: words[1:]
        for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
        if (words := re.sub(r"<[^>]+>", " ", row).split())
    }
    assert rows[agent] == ["WORKER", "none", "IDLE", "e1", "none", "never"]
    assert rows[AGENT][:5] == ["WORKER", "devops_engineer", "IDLE", "none", "none"]
    assert "UTC" in rows[AGENT], "it has called tools of the crew"


def test_an_agent_is_registered_and_its_page_leads_to_a_key_for_it(
    office: Office, visit: Visit
) -> None:
    name = f"w-{uuid4().hex[:10]}"

    page = visit.do(NEW, id=name, type="ORCHESTRATOR", role="tech_lead", epic="").text

    assert f"{name} is registered" in page
    made = office.client().ask(agents.get(name))
    assert (made.type, made.role, made.epic) == ("ORCHESTRATOR", "tech_lead", None)
    form = visit.page("/keys/-new", agent=name)
    assert f'<option value="{name}" selected>' in form
    assert '<option value="agent" selected>' in form


def test_an_orchestrator_of_an_epic_that_there_is_not_is_registered_with_a_note(
    office: Office, visit: Visit
) -> None:
    name, epic = f"o-{uuid4().hex[:10]}", f"e-{uuid4().hex[:10]}"

    page = visit.do(NEW, id=name, type="ORCHESTRATOR", epic=epic).text

    assert f"there is no epic '{epic}'" in unescape(page)
    (note,) = office.client().ask(agents.change(name, {"role": "guest"}, if_match="*")).notes
    assert "`epic/create` makes one" in note
    assert office.client().ask(agents.change(name, {"epic": None}, if_match="*")).notes == ()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"id": "no/such"}, "an agent's id is"),
        ({"role": "none_such"}, "no role 'none_such' is declared"),
        ({"type": "BOSS"}, "an agent's type is one of"),
        ({"id": AGENT}, AGENT),
    ],
)
def test_what_is_no_agent_is_said_and_the_form_stays_filled_in(
    visit: Visit, fields: dict[str, str], told: str
) -> None:
    given = {"id": f"w-{uuid4().hex[:8]}", "type": "WORKER", "epic": 'e"<1>'} | fields

    refused = visit.post(NEW, given)

    assert refused.status_code in {400, 404, 409, 422}
    assert told in unescape(refused.text)
    assert 'value="e&#34;&lt;1&gt;"' in refused.text


def test_an_agent_is_changed(office: Office, visit: Visit, agent: str) -> None:
    etag = hidden(visit.page(f"/agents/{agent}"), "etag")

    visit.do(f"/agents/{agent}/change", type="SUPERVISOR", role="guest", epic="", etag=etag)

    changed = office.client().ask(agents.get(agent))
    assert (changed.type, changed.role, changed.epic) == ("SUPERVISOR", "guest", None)


def test_of_two_who_change_an_agent_the_second_is_told_and_loses_nothing(
    office: Office, visit: Visit, agent: str
) -> None:
    etag = hidden(visit.page(f"/agents/{agent}"), "etag")
    office.client().ask(agents.change(agent, {"epic": "e2"}, if_match="*"))
    path = f"/agents/{agent}/change"
    given = {"type": "SUPERVISOR", "role": "", "epic": "e3", "reason": "why"}

    refused = visit.post(path, {**given, "etag": etag})

    assert refused.status_code == 412
    page = unescape(refused.text)
    assert "Somebody changed it since this page was loaded" in page
    assert "It works on e2 now." in page
    assert 'value="e3"' in page
    assert 'value="why"' in page
    visit.do(path, {**given, "etag": hidden(refused.text, "etag")})
    assert office.client().ask(agents.get(agent)).epic == "e3"


def test_an_agent_shows_its_tools_and_its_decision_log(office: Office, visit: Visit) -> None:
    page = visit.page(f"/agents/{AGENT}")

    for tool in office.client("agent").list_tools():
        assert f"<code>{tool.name}</code>" in page
    assert "Invoked tool: mcp__deploy__deploy_service" in page


def test_an_auditor_sees_agents_and_users_and_no_form(office: Office) -> None:
    auditor = office.visit("auditor")
    for path in ("/agents", f"/agents/{AGENT}", "/users"):
        main = auditor.page(path).partition("<main")[2]
        assert 'method="post"' not in main
        assert "-new" not in main
    assert auditor.post("/users/disable", name="x").status_code == 403
    assert auditor.post(NEW, id="x", type="WORKER").status_code == 403


def test_a_user_is_kept_out_and_let_in_again(office: Office, visit: Visit) -> None:
    name = f"ann/<b>{uuid4().hex[:8]}@example.test"
    assert "not kept out" in visit.page("/users", name=name)

    page = visit.do("/users/disable", name=name, reason="left").text

    assert f"{name} is kept out" in unescape(page)
    assert "<b>" not in page
    assert Reading(page).inline == []
    assert office.client().ask(users.get(name)).disabled is not None
    assert '<span class="badge bad">kept out</span>' in visit.page("/users", name=name)
    assert "is let in again" in visit.do("/users/enable", name=name).text
    assert office.client().ask(users.get(name)).disabled is None


@pytest.mark.parametrize(
    ("path", "name", "told"),
    [
        ("/users/enable", "nobody-at-all", "is not disabled"),
        ("/users/disable", " ", "say whom you mean"),
        ("/users/disable", "x" * 5000, "can be no user's name"),
    ],
)
def test_what_cannot_be_done_about_a_user_is_said(
    visit: Visit, path: str, name: str, told: str
) -> None:
    refused = visit.post(path, name=name, reason="a reason")

    assert refused.status_code in {400, 409, 422}
    assert told in unescape(refused.text)
    assert 'value="a reason"' in refused.text
