"""Deny a tool for a role in a real browser, and everything agrees (issue 10, must-show 1)."""

import re
from collections.abc import Iterator
from contextlib import suppress
from uuid import uuid4

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect
from tests.console.browsing import Theme, Windows
from tests.console.office import Office
from tests.console.test_looks import LOOKS, look_at_on_any_screen

from remit.client import Client, authority, keys, roles
from remit.client.authority import Wanted
from remit.errors import CallRefused

TOOL = "deploy/list_services"
PUBLISHED = "deploy__list_services"


@pytest.fixture
def role(office: Office) -> Iterator[str]:
    name = f"deployer-{uuid4().hex[:6]}"
    administrator = office.client()
    administrator.ask(roles.create(name, {"allow": ["deploy/*"]}))
    yield name
    administrator.ask(roles.remove(name, if_match="*"))


def verdict(office: Office, role: str) -> tuple[bool, str]:
    """Return what the matrix says of the role and the tool, and by which rule."""
    matrix = office.client().ask(authority.matrix(Wanted(tool=TOOL, caller=role)))
    decision = matrix.at(0, 0)
    return decision.allowed, decision.rule


def can_call(caller: Client) -> bool:
    with suppress(CallRefused):
        return not caller.call_tool(PUBLISHED).is_error
    return False


def listed(caller: Client) -> bool:
    return PUBLISHED in [tool.name for tool in caller.list_tools()]


def test_a_tool_is_denied_for_a_role_and_matrix_list_and_call_agree(
    office: Office, new_page: Windows, role: str
) -> None:
    made = office.client().ask(keys.create(f"key-{role}", role=role))
    tab = new_page("administrator", f"/roles/role?name={role}")
    with Client(office.base, key=made.key, timeout=60) as caller:
        assert verdict(office, role) == (True, f"roles.{role}.allow[0]")
        assert (listed(caller), can_call(caller)) == (True, True)

        tab.get_by_role("button", name=f"Deny {TOOL}").click()
        lost = tab.get_by_role("row", name=f"role:{role} loses {TOOL}")
        expect(lost).to_be_visible()
        assert (listed(caller), can_call(caller)) == (True, True)  # nothing is saved yet

        tab.get_by_label("Reason").fill("only a person may look")
        tab.get_by_role("button", name=re.compile("Save as revision")).click()
        expect(tab.get_by_role("status")).to_contain_text(f"{TOOL} is denied for role {role}")

        assert verdict(office, role) == (False, f"roles.{role}.deny[0]")
        assert (listed(caller), can_call(caller)) == (False, False)
    expect(tab.get_by_role("button", name=f"Deny {TOOL}")).to_have_count(0)
    expect(tab.get_by_role("button", name="Deny deploy/deploy_service")).to_be_visible()


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_what_belongs_to_roles_and_revisions_can_be_read_by_everybody(
    new_page: Windows, theme: Theme, width: int
) -> None:
    """Forms, previews and what is refused: pages that no link without a name leads to."""
    tab = new_page("administrator", "/roles/role?name=devops_engineer", theme=theme, width=width,
                   forgives=["422"])  # fmt: skip
    look_at_on_any_screen(tab)
    tab.get_by_role("link", name="Edit", exact=True).click()
    look_at_on_any_screen(tab)
    tab.get_by_label("Deny", exact=True).fill("deploy/restart_*")
    preview(tab)
    tab.go_back()
    tab.get_by_label("Deny", exact=True).fill("no pattern")
    preview(tab)
    expect(tab.get_by_role("alert")).to_contain_text("bad-pattern")
    for path in ("/roles/new", "/roles/grants", "/roles/grants/new", "/revisions/edit"):
        tab.goto(f"/console{path}")
        look_at_on_any_screen(tab)


def preview(tab: Tab) -> None:
    tab.get_by_role("button", name="Show what changes").click()
    tab.wait_for_load_state()
    look_at_on_any_screen(tab)
