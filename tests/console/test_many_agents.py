"""Pages about agents where there are more of them than a page has."""

import re
from collections.abc import Generator
from datetime import UTC, datetime
from html import unescape
from importlib.resources import files
from uuid import uuid4

import pytest
from anyio.from_thread import start_blocking_portal
from tests.console.office import Office
from tests.console.visits import Visit

from remit.client import tenants
from remit.doors.console.agents import MOST
from remit.model.agents import Agent
from remit.model.principals import AgentType
from remit.storage.agents import Agents
from remit.storage.database import default_url, open_database

IDS = [f"w{number:03}" for number in range(MOST + 20)]


@pytest.fixture(scope="module")
def crowded(office: Office) -> str:
    """Give a tenant with many agents."""
    name = f"crowd-{uuid4().hex[:6]}"
    office.client().ask(tenants.create(name))

    async def register() -> None:
        async with open_database(default_url(office.folder / ".remit")) as database:
            for agent_id in IDS:
                await Agents(database).add(
                    Agent(
                        id=agent_id,
                        tenant=name,
                        type=AgentType.WORKER,
                        created=datetime.now(UTC),
                    )
                )

    with start_blocking_portal() as portal:
        portal.call(register)
    return name


@pytest.fixture
def visit(office: Office, crowded: str) -> Generator[Visit]:
    """Give an administrator who looks at that tenant."""
    visit = office.visit("administrator")
    visit.do("/tenant", {"tenant": crowded})
    yield visit
    visit.do("/tenant", {"tenant": "default"})


def rows_of(page: str) -> list[list[str]]:
    """Return agent, type, role and state of every row of the list."""
    rows = page.partition("<tbody>")[2].partition("</tbody>")[0].split("</tr>")[:-1]
    return [[word for cell in row.split("</t")[:4] for word in text_of(cell)] for row in rows]


def text_of(html: str) -> list[str]:
    return unescape(re.sub(r"<[^>]*>?|^[hd]>", "", html)).split()


def test_every_page_of_the_list_says_what_its_agents_are_at(visit: Visit) -> None:
    first = visit.page("/agents")
    (further,) = re.findall(r'href="(/console/agents\?cursor=[^"]*)">Next page', first)
    second = visit.http.get(unescape(further))

    found = [*rows_of(first), *rows_of(second.text)]
    assert found == [[agent_id, "WORKER", "none", "IDLE"] for agent_id in IDS]
    assert len(rows_of(first)) == MOST
    assert "Next page" not in second.text


def test_agents_of_a_key_are_typed_where_there_are_too_many_to_choose_from(visit: Visit) -> None:
    form = visit.page("/keys/-new", agent=IDS[-1])
    suggested = re.findall(r'<option value="(w[0-9]+)">', form)
    assert suggested == IDS[:MOST]
    assert f'id="f-agent" name="agent" type="text" value="{IDS[-1]}"' in form
    assert 'type="checkbox"' not in form

    names = {"of_tenant": re.findall(r'name="of_tenant" value="([^"]*)"', form)[0], "name": "many"}
    fields = names | {"kind": "service", "act_for": f"{IDS[-1]}\r\n{IDS[0]}\r\n", "expires": "1d"}
    refused = visit.post("/keys/-new", fields | {"expires": "other"})
    made = visit.post("/keys/-new", fields)

    assert f"{IDS[-1]}\n{IDS[0]}</textarea>" in refused.text
    assert "This is shown once." in made.text
    assert f"acts for {IDS[-1]}, {IDS[0]}" in " ".join(text_of(visit.page("/keys", text="many")))


def test_the_decision_log_suggests_no_more_agents_than_a_list_is_good_for(visit: Visit) -> None:
    shown = visit.page("/audit/decisions")

    assert re.findall(r'<option value="(w[0-9]+)">', shown) == IDS[:MOST]


def test_no_page_reads_all_of_what_comes_by_the_thousand() -> None:
    """What is declared is short; agents, keys, mail and calls are not."""
    folder = files("remit.doors.console")
    sources = [each.read_text() for each in folder.iterdir() if each.name.endswith(".py")]

    whole = {found for text in sources for found in re.findall(r"ask_all\(\s*([a-z]+\.\w+)", text)}

    assert whole == {
        "authority.tools",
        "grants.list_all",
        "roles.list_all",
        "servers.bundled",
        "servers.list_all",
        "tenants.list_all",
    }
