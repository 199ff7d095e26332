"""Going back, and the declaration as text, in a real browser: seen before it is saved."""

import re
from uuid import uuid4

from playwright.sync_api import expect
from tests.console.browsing import Windows, axe_violations
from tests.console.office import Office

from remit.client import declaration, roles


def test_a_text_is_mended_saved_and_gone_back_on(office: Office, new_page: Windows) -> None:
    name, administrator = f"r{uuid4().hex[:6]}", office.client()
    before = administrator.ask_tagged(declaration.text())
    tab = new_page("administrator", "/revisions", forgives=["422"])
    tab.get_by_role("link", name="Edit the declaration as text").click()
    text = tab.get_by_label("Declaration")
    role = f"\nroles:\n  {name}:\n    tols: {{git: [git_log]}}\n"
    text.fill(text.input_value().replace("\nroles:\n", role))

    tab.get_by_role("button", name="Show what changes").click()
    wrong = tab.get_by_role("alert")
    expect(wrong).to_contain_text(re.compile(r"line \d+: unknown-key: unknown key 'tols'"))
    text.fill(text.input_value().replace("tols:", "tools:"))
    tab.get_by_role("button", name="Show what changes").click()
    expect(tab.get_by_role("row", name=f"role:{name} gains git/git_log")).to_be_visible()
    assert administrator.ask_tagged(declaration.text()).etag == before.etag
    tab.get_by_label("Reason").fill("visitors")
    tab.get_by_role("button", name="Save as revision").click()

    expect(tab.get_by_role("status")).to_contain_text("The declaration is changed")
    assert administrator.ask(roles.get(name)).tools == {"git": ("git_log",)}
    number = before.etag.strip('"r')
    tab.get_by_role("button", name=f"Go back to {number}…", exact=True).click()
    expect(tab.get_by_role("row", name=f"role:{name} loses git/git_log")).to_be_visible()
    assert axe_violations(tab) == []
    tab.get_by_role("button", name="Save as revision").click()
    expect(tab.get_by_role("status")).to_contain_text(f"What revision {number} says is in force")
    assert administrator.ask(declaration.text()) == before.value
