"""What is done about people and agents, in a real browser (must-show 1)."""

import re
import time
from uuid import uuid4

import pytest
from playwright.sync_api import expect
from tests.console.browsing import Windows, look_at
from tests.console.office import Office

from remit.client import Client, agents, inbox, keys
from remit.errors import ClientError, CredentialRefused

LONGEST_WAIT = 30.0
"""Seconds after which a mail that did not come is a failure."""


def test_a_key_is_generated_shown_once_used_revoked_and_refused(
    office: Office, new_page: Windows
) -> None:
    name = f"browser-{uuid4().hex[:8]}"
    tab = new_page("administrator", "/keys")
    tab.get_by_role("link", name="Make a key").click()
    tab.get_by_label("Name").fill(name)
    kind = tab.get_by_label("What it is for")
    kind.select_option("agent")
    expect(tab.get_by_label("It is the agent")).to_be_visible()
    expect(tab.get_by_label("Acts in the role")).to_be_hidden()
    kind.select_option("role")
    tab.get_by_label("Acts in the role").select_option("backend_developer")
    look_at(tab)
    tab.get_by_role("button", name="Make the key").click()

    expect(tab.get_by_text("This is shown once.")).to_be_visible()
    look_at(tab)
    tab.get_by_role("button", name="Copy key").click()
    expect(tab.get_by_role("button", name="Copied")).to_be_visible()
    key: str = tab.evaluate("() => navigator.clipboard.readText()")
    assert key == tab.locator("#new-key").inner_text()
    tab.get_by_role("link", name="I have copied it").click()
    expect(tab.get_by_role("heading", name=f"Key {name}")).to_be_visible()
    assert key.split("_", 2)[2] not in tab.content()

    with Client(office.base, key=key) as caller:
        assert not caller.call_tool("git__git_status").is_error
        look_at(tab)
        tab.get_by_role("button", name="Revoke").click()
        tab.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        expect(tab.get_by_role("status")).to_contain_text("is revoked")
        with pytest.raises(CredentialRefused):
            caller.call_tool("git__git_status")
    expect(tab.get_by_text(re.compile("^revoked"))).to_be_visible()


def test_an_escalated_mail_is_answered_and_the_agent_reads_the_answer(
    office: Office, new_page: Windows
) -> None:
    """R25: nobody is above this worker, so the human hears of its call that failed."""
    name = f"w-{uuid4().hex[:8]}"
    office.client().ask(agents.create(name, type="WORKER", role="devops_engineer"))
    key = office.client().ask(keys.create(name, agent=name)).key
    with Client(office.base, key=key, timeout=60) as agent:
        with pytest.raises(ClientError, match="the metrics are away"):
            agent.call_tool("deploy__read_metrics")
        until_told(office, name)
        tab = new_page("administrator", "/inbox")
        row = tab.get_by_role("row").filter(has_text=name)
        expect(row).to_contain_text("escalated")
        look_at(tab)
        row.get_by_role("link", name="Tool failed").click()
        expect(tab.get_by_text(f"Agent {name} (WORKER) called")).to_be_visible()
        tab.get_by_label("Answer").fill("Metrics are down until noon.\nGo on without them.")
        look_at(tab)

        tab.get_by_role("button", name="Send the answer").click()

        expect(tab.get_by_role("status")).to_contain_text(f"{name} finds it in its mail")
        look_at(tab)
        found = agent.call_tool("mail__list_inbox").structured
    assert found is not None
    (mail,) = found["mails"]
    assert mail["body"] == "Metrics are down until noon.\nGo on without them."
    assert mail["subject"] == "Re: Tool failed: mcp__deploy__read_metrics"


def until_told(office: Office, name: str) -> None:
    """Wait until there is mail about an agent: it is written behind the call that failed."""
    deadline = time.monotonic() + LONGEST_WAIT
    while all(mail.from_agent != name for mail in office.client().ask(inbox.list_newest()).items):
        assert time.monotonic() < deadline, office.running.log.read_text()[-5000:]
