"""The page "MCP Server": its switches, its key and the set-up of clients (S2.20-S2.26, R33)."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import mcp
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import Subscription, ToolsListChanged
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import expect
from tests.console.browsing import Windows
from tests.console.office import Office
from tests.console.visits import Visit, sign_in

from remit.client import Client, keys, projects, tenants
from remit.client.transport import TRUSTS_NOBODY
from remit.doors.console.client_setups import NO_KEY, mcp_servers, setups
from remit.errors import CredentialRefused
from remit.testing.data_gateway import open_data_gateway

AT = "/mcp-server"
KEY = f"{AT}/agent-key"
STARTED = Path(__file__).parents[2] / "docs" / "get-started.md"
ALL_ON: Final[Mapping[str, bool]] = {
    "allowOntologyMaintenance": True,
    "addQueryTools": True,
    "addOntologyMaintenance": True,
}
SWITCHES = {
    "allowOntologyMaintenance": ("user", "Allow Usage to Improve Ontology", 42, 20),
    "addQueryTools": ("developer", "Add Query Tools", 49, 30),
    "addOntologyMaintenance": ("developer", "Add Ontology Maintenance", 49, 22),
}
"""Option to its card, its label, and how many tools there are with it and without (S2.9)."""


@contextmanager
def open_desk(folder: Path) -> Generator[Office]:
    """Start a gateway with a `data` server, whose options and key may be changed."""
    with open_data_gateway(folder) as gateway, ExitStack() as stack:
        running = gateway.running
        administrator = stack.enter_context(Client(running.base, key=running.admin_key, timeout=60))
        wanted = {
            "auditor": keys.create("aude", auditor=True),
            "user": keys.create("uma", user_role="user"),
            "developer": keys.create("dev", user_role="developer"),
        }
        made = {who: administrator.ask(operation).key for who, operation in wanted.items()}
        given = {"administrator": running.admin_key, **made}
        yield Office(folder=folder, running=running, keys=given, _stack=stack)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Generator[Office]:
    with open_desk(tmp_path_factory.mktemp("desk")) as desk:
        yield desk


@pytest.fixture
def visit(desk: Office) -> Iterator[Visit]:
    """The administrator; every switch is on again afterwards, and there is no agent key."""
    yield desk.visit("administrator")
    administrator = desk.client()
    administrator.ask(projects.configure("default", ALL_ON))
    if administrator.ask(projects.agent_key("default")).data.key:
        administrator.ask(projects.revoke_agent_key("default"))


def card(page: str, name: str) -> str:
    """Return the HTML of a card."""
    return page.partition(f'id="{name}"')[2].partition("</section>")[0]


def enabled(page: str, name: str) -> list[str]:
    """Return the tools that a card lists; it says how many."""
    text = card(page, name)
    found = re.findall(r"<dt><code>(\w+)</code></dt><dd>[^<]{10,}</dd>", text)
    assert f"Tools Enabled ({len(found)})" in text
    return found


def tools_of(desk: Office, who: str) -> list[str]:
    return [tool.name for tool in desk.client(who).list_tools(server="data")]


def key_in(page: str) -> str:
    """Return the key that a page shows."""
    return re.findall(r'<code id="agent-key">(rmt_[^<]+)</code>', page)[0]


def instead_of(page: str) -> str:
    """Return the key that the forms of a page mean."""
    return re.findall(r'name="instead_of" value="([^"]*)"', page)[0]


def generate(visit: Visit) -> httpx2.Response:
    return visit.post(KEY, instead_of=instead_of(visit.page(AT)))


@pytest.mark.parametrize("option", SWITCHES)
def test_a_switch_changes_what_its_card_and_its_callers_list(
    desk: Office, visit: Visit, option: str
) -> None:
    """S2.9, S2.20: the count that the page says, and the list of a caller, agree by name."""
    name, label, with_it, without = SWITCHES[option]

    off = visit.do(f"{AT}/options", option=option)
    assert f"{label} is off" in off.text
    assert f"went from {with_it} to {without}" in off.text
    assert enabled(off.text, name) == tools_of(desk, name)
    assert len(enabled(off.text, name)) == without

    on = visit.do(f"{AT}/options", option=option, on="on")
    assert f"went from {without} to {with_it}" in on.text
    assert enabled(on.text, name) == tools_of(desk, name)
    assert len(enabled(on.text, name)) == with_it


def test_each_card_says_what_it_opens_and_what_can_go_wrong(visit: Visit) -> None:
    page = visit.page(AT)

    # S2.20, S2.21: three cards without a switch of their own, each with its list, collapsed
    for name in ("user", "developer", "agent"):
        assert '<details class="enabled">' in card(page, name)
    # S2.23
    assert "<strong>These can destroy data.</strong>" in card(page, "developer")
    assert "make a backup first" in card(page, "developer")
    assert "Hand it out with care, and regenerate it regularly." in card(page, "agent")
    # S2.6, and the texts of the page: clients that listen are told, the others have to reconnect
    assert "Clients that listen are told, and list again" in card(page, "endpoint")
    assert "must reconnect" in card(page, "endpoint")
    assert '<a href="#setup">MCP Setup Instructions</a>' in card(page, "endpoint")
    assert ">Pre-Approved Queries</a>" in card(page, "endpoint")
    assert "RECOMMENDED" in card(page, "user")
    assert "Include schema exploration and query execution tools" in card(page, "developer")
    assert "Include ontology management and refinement tools" in card(page, "developer")
    assert "AI Agent API Key" in card(page, "agent")


def test_an_example_is_there_as_soon_as_there_is_a_key(visit: Visit) -> None:
    none = visit.page(AT)
    generate(visit)

    # S2.22: what stands in for a key that cannot be shown
    assert NO_KEY in card(visit.page(AT), "agent")
    assert "Configuration of an agent" not in card(none, "agent")


def test_a_switch_that_is_sent_as_it_is_changes_nothing(visit: Visit) -> None:
    same = visit.do(f"{AT}/options", option="allowOntologyMaintenance", on="on")

    assert "User Tools stay at 42." in same.text
    assert "went from" not in same.text


def test_what_changed_is_said_once_at_its_switch(visit: Visit) -> None:
    visit.do(f"{AT}/options", option="addQueryTools")

    again = visit.page(AT, changed="addQueryTools")

    assert "Add Query Tools is off" not in again
    assert again.count("autofocus") == 1
    assert visit.page(AT, changed="nonsense").count("autofocus") == 0


def test_without_both_switches_developers_keep_three_tools(desk: Office, visit: Visit) -> None:
    for option in ("addQueryTools", "addOntologyMaintenance"):
        visit.do(f"{AT}/options", option=option)

    page = visit.page(AT)

    assert enabled(page, "developer") == ["health", "echo", "execute"]
    assert tools_of(desk, "developer") == ["health", "echo", "execute"]
    assert len(enabled(page, "user")) == 42


def test_an_option_that_there_is_not_is_refused_and_said(desk: Office, visit: Visit) -> None:
    refused = visit.post(f"{AT}/options", option="allow_ontology_maintenance")

    assert refused.status_code == 404
    assert "There is no such option" in refused.text
    assert len(tools_of(desk, "user")) == 42


def test_a_key_is_shown_once_works_and_is_refused_after_it_is_revoked(
    desk: Office, visit: Visit
) -> None:
    """S2.24, S2.26, R33."""
    assert "There is no agent key" in visit.page(AT)

    shown = generate(visit).text
    key = key_in(shown)
    later = visit.page(AT)
    url = desk.client().ask(projects.agent_key("default")).data.server_url
    assert mcp_servers(url, key) in unescape(card(shown, "agent"))
    assert key.split("_", 2)[2] not in later
    assert "*" * 64 in later

    with Client(desk.base, key=key) as agent:
        names = [tool.name for tool in agent.list_tools(server="data")]
        assert names == enabled(later, "agent")
        assert not agent.call_tool("health", server="data").is_error

        gone = visit.do(f"{KEY}/revoke", instead_of=instead_of(later))
        assert "There is no agent key" in gone.text
        assert "is revoked" in card(gone.text, "agent")
        with pytest.raises(CredentialRefused):
            agent.list_tools(server="data")


def test_a_new_key_ends_the_one_before(desk: Office, visit: Visit) -> None:
    first = key_in(generate(visit).text)

    second = key_in(generate(visit).text)

    with Client(desk.base, key=first) as old, Client(desk.base, key=second) as new:
        assert len(new.list_tools(server="data")) == 3
        with pytest.raises(CredentialRefused):
            old.list_tools(server="data")


@pytest.mark.parametrize("path", [KEY, f"{KEY}/revoke"])
def test_a_form_that_means_another_key_ends_none(desk: Office, visit: Visit, path: str) -> None:
    """Such as that of a page which is loaded again after it made a key."""
    before = instead_of(visit.page(AT))
    key = key_in(generate(visit).text)

    refused = visit.post(path, instead_of=before)

    assert refused.status_code == 409
    assert "another one since this page was loaded" in card(refused.text, "agent")
    with Client(desk.base, key=key) as agent:
        assert len(agent.list_tools(server="data")) == 3


def test_what_the_api_refuses_is_shown_where_it_was_asked(desk: Office, visit: Visit) -> None:
    desk.client().ask(keys.create("agent-key", user_role="user"))
    try:
        refused = generate(visit)
    finally:
        desk.client().ask(keys.revoke("agent-key"))

    assert refused.status_code == 409
    assert "is no service key: revoke it first" in unescape(card(refused.text, "agent"))
    assert "Generate key" in refused.text


def test_an_auditor_sees_everything_and_can_change_nothing(desk: Office, visit: Visit) -> None:
    visit.do(f"{AT}/options", option="addQueryTools")
    generate(visit)

    page = desk.visit("auditor").page(AT)

    main = page.partition("<main")[2]
    assert "<form" not in main
    assert '<span class="badge plain">off</span> Add Query Tools' in main
    assert [len(enabled(page, name)) for name in ("user", "developer", "agent")] == [42, 30, 3]
    assert desk.visit("auditor").post(KEY).status_code == 403


def test_a_tenant_without_such_a_server_is_told_so(desk: Office) -> None:
    desk.client().ask(tenants.create("acme"))
    with sign_in(desk.base, desk.keys["administrator"]) as visit:
        visit.post("/tenant", tenant="acme")

        page = visit.page(AT)

    assert "No server holds these tools yet" in page
    assert f'<code id="server-url">{desk.base}/mcp</code>' in page
    assert "No server holds" not in desk.visit("administrator").page(AT)


def test_the_endpoint_of_all_servers_is_there_beside_that_of_one(
    desk: Office, visit: Visit
) -> None:
    url = desk.client().ask(projects.config("default")).data.server_url

    assert f'<code id="server-url">{url}</code>' in visit.page(AT)
    assert f'<code id="server-url">{desk.base}/mcp</code>' in visit.page(AT, endpoint="all")


def setup_texts(desk: Office, key: str) -> dict[str, str]:
    """Return the set-ups as the page has them, their place for a key filled in."""
    page = desk.visit("administrator").page(AT)
    assert len(re.findall(r"rmt_\w+", page)) == 0, "a set-up holds a key"
    found: dict[str, str] = {}
    for setup in re.findall(r'id="setup-([\w-]+)"(.*?)</details>', page, re.DOTALL):
        found[setup[0]] = unescape(setup[1].partition("<code>")[2].partition("</code>")[0])
    places = (NO_KEY, "${env:REMIT_KEY}", "${input:remit-key}")
    for name, text in found.items():
        for place in places:
            found[name] = found[name].replace(place, key)
        assert text
    return found


@pytest.mark.parametrize("name", ["json", "cursor", "vs-code", "claude-desktop"])
def test_the_json_of_a_client_reaches_the_endpoint(desk: Office, name: str) -> None:
    texts = setup_texts(desk, desk.keys["user"])
    document: dict[str, Any] = json.loads(texts[name])
    entry = (document.get("mcpServers") or document["servers"])["remit"]
    url, authorization = (
        (entry["args"][2], entry["env"]["REMIT_HEADER"])
        if "args" in entry
        else (entry["url"], entry["headers"]["Authorization"])
    )

    reply = httpx2.post(
        url,
        headers={"Authorization": authorization},
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        verify=TRUSTS_NOBODY,
    )

    assert len(reply.json()["result"]["tools"]) == 42


@pytest.mark.parametrize("name", ["curl", "python"])
def test_a_program_of_the_page_lists_the_tools(desk: Office, name: str) -> None:
    text = setup_texts(desk, "")[name]
    command = ["sh", "-c", text] if name == "curl" else [sys.executable, "-c", text]

    done = subprocess.run(
        command,
        env={**os.environ, "REMIT_KEY": desk.keys["user"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    told = done.stdout
    names = (
        [tool["name"] for tool in json.loads(told)["result"]["tools"]]
        if name == "curl"
        else told.split()
    )
    assert names == tools_of(desk, "user")


def test_the_command_of_claude_code_is_one_command(desk: Office) -> None:
    text = setup_texts(desk, "")["claude-code"]
    url = desk.client().ask(projects.config("default")).data.server_url

    assert shlex.split(text.replace("\\\n", "")) == [
        *("claude", "mcp", "add", "--transport", "http", "remit", url),
        *("--header", "Authorization: Bearer $REMIT_KEY"),
    ]


def test_the_page_says_the_same_as_the_docs() -> None:
    base = "http://127.0.0.1:8400"
    documented = STARTED.read_text(encoding="utf-8").partition("```json\n")[2].partition("```")[0]
    made = {setup.key: setup.text for setup in setups(f"{base}/mcp", base=base)}

    assert json.loads(made["json"]) == json.loads(documented)


@dataclass(frozen=True, kw_only=True)
class Connected:
    """A client of the protocol library that stays connected, and listens."""

    portal: BlockingPortal
    client: mcp.Client
    events: Subscription

    def tools(self) -> list[str]:
        """List the tools anew."""
        return [tool.name for tool in self.portal.call(self.client.list_tools).tools]

    def is_well(self, tool: str) -> bool:
        """Call a tool; whether it succeeds."""
        return not self.portal.call(self.client.call_tool, tool).is_error

    def wait_until_told(self) -> None:
        """Return once the gateway has said that the list of tools is another one."""
        assert self.portal.call(self._next) == ToolsListChanged()

    async def _next(self) -> object:
        with anyio.fail_after(20):
            return await anext(aiter(self.events))


@contextmanager
def connected(desk: Office, key: str) -> Generator[Connected]:
    """Connect a client to the `data` server, on a thread of its own beside that of the browser."""

    @asynccontextmanager
    async def listening() -> AsyncGenerator[tuple[mcp.Client, Subscription]]:
        async with (
            httpx2.AsyncClient(
                headers={"Authorization": f"Bearer {key}"}, timeout=30, verify=TRUSTS_NOBODY
            ) as http,
            mcp.Client(
                streamable_http_client(f"{desk.base}/mcp/data", http_client=http), cache=None
            ) as client,
            client.listen(tools_list_changed=True) as events,
        ):
            yield client, events

    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(listening()) as (client, events),
    ):
        yield Connected(portal=portal, client=client, events=events)


@pytest.fixture
def windows(desk: Office, chromium: Chromium) -> Generator[Windows]:
    windows = Windows(browser=chromium, office=desk)
    yield windows
    windows.close()


@pytest.mark.usefixtures("visit")
def test_a_switch_in_the_browser_shrinks_the_list_of_a_connected_client(
    desk: Office, windows: Windows
) -> None:
    """Must-show 1 of the console: 42 tools become 20, on the page and at whoever is connected."""
    with connected(desk, desk.keys["user"]) as user, connected(desk, desk.keys["developer"]) as dev:
        tab = windows("administrator", AT)
        cards = {name: tab.locator(f"#{name}") for name in ("user", "developer")}
        expect(cards["user"]).to_contain_text("Tools Enabled (42)")
        assert (len(user.tools()), len(dev.tools())) == (42, 49)

        cards["user"].get_by_role("switch").click()

        expect(cards["user"]).to_contain_text("Tools Enabled (20)")
        expect(cards["user"].get_by_role("status")).to_contain_text("went from 42 to 20")
        expect(cards["user"].get_by_role("switch")).to_be_focused()
        user.wait_until_told()
        assert len(user.tools()) == 20

        cards["developer"].get_by_role("switch", name="Add Ontology Maintenance").press("Space")

        expect(cards["developer"]).to_contain_text("Tools Enabled (22)")
        dev.wait_until_told()
        cards["developer"].get_by_text("Tools Enabled (22)").click()
        assert dev.tools() == cards["developer"].locator("dt").all_inner_texts()


@pytest.mark.usefixtures("visit")
def test_a_key_is_made_used_and_revoked_in_the_browser(desk: Office, windows: Windows) -> None:
    """Must-show 1 of the console: shown once, called with over MCP, revoked and refused."""
    tab = windows("administrator", AT)
    agent = tab.locator("#agent")
    tab.get_by_role("button", name="Generate key").click()
    expect(agent.get_by_text("This is shown once.")).to_be_in_viewport()
    key = tab.locator("#agent-key").inner_text()
    tab.get_by_role("button", name="Copy key").click()
    expect(tab.get_by_role("button", name="Copied")).to_be_visible()
    assert tab.evaluate("navigator.clipboard.readText()") == key
    tab.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    tab.get_by_role("button", name="Copied").click()  # as over plain http
    assert tab.evaluate("String(getSelection())") == key

    with connected(desk, key) as program:
        assert len(program.tools()) == 3
        assert program.is_well("health")

        tab.goto(f"/console{AT}")
        assert key not in tab.content()
        tab.get_by_role("button", name="Revoke").click()
        tab.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        assert program.is_well("health")

        tab.get_by_role("button", name="Revoke").click()
        tab.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        expect(agent.get_by_text("There is no agent key")).to_be_visible()
        with pytest.raises(mcp.MCPError):
            program.is_well("health")


@pytest.mark.usefixtures("visit")
def test_without_scripts_a_button_sends_a_switch(desk: Office, windows: Windows) -> None:
    tab = windows("administrator", AT, scripts=False)
    user = tab.locator("#user")

    user.get_by_role("switch").uncheck()
    user.get_by_role("button", name="Set").click()

    expect(user).to_contain_text("Tools Enabled (20)")
    assert len(tools_of(desk, "user")) == 20


@pytest.mark.usefixtures("visit")
def test_a_switch_that_is_gone_back_to_stands_as_it_is(desk: Office, windows: Windows) -> None:
    """Not as somebody left it there, who has switched it once more since."""
    tab = windows("administrator", AT)
    switch = tab.locator("#user").get_by_role("switch")
    for tools in (20, 42):
        switch.click()
        expect(tab.locator("#user")).to_contain_text(f"Tools Enabled ({tools})")
    tab.go_back()
    tab.go_back()

    expect(tab.locator("#user")).to_contain_text("Tools Enabled (42)")
    assert switch.is_checked()
    assert len(tools_of(desk, "user")) == 42
