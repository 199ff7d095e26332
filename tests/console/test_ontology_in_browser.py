"""A question is answered and a change is approved in a real browser (must-show 1)."""

from collections.abc import Generator

import pytest
from playwright.sync_api import expect
from tests.console.browsing import Windows, axe_violations, look_at
from tests.console.meaning import NAME, Meaning, open_meaning
from tests.console.office import Office

from remit.client import questions


@pytest.fixture(scope="module")
def meaning(office: Office) -> Generator[Meaning]:
    with open_meaning(office) as meaning:
        meaning.refresh()
        yield meaning


def test_a_question_is_answered_and_all_changes_are_approved(
    meaning: Meaning, new_page: Windows
) -> None:
    asked = meaning.ask()[0]
    change = meaning.add_table("returned")
    tab = new_page("reviewer", f"/ontology?datasource={NAME}")

    tab.get_by_role("link", name=asked.text).click()
    assert axe_violations(tab) == []
    tab.get_by_label("Answer").fill("None does.")
    tab.get_by_role("button", name="Answer").click()

    expect(tab.get_by_role("status")).to_have_text("The question is answered.")
    found = meaning.client.ask(questions.get(*meaning.here, asked.id))
    assert (found.status, found.answer) == ("answered", "None does.")
    tab.get_by_role("link", name="Pending changes").click()
    tab.get_by_text("Details").click()
    look_at(tab)
    tab.get_by_role("button", name="Approve all").click()
    expect(tab.get_by_role("dialog")).to_contain_text(f"Apply every change of {NAME} that waits")
    assert [each.id for each in meaning.changes()] == [change.id]
    tab.get_by_role("dialog").get_by_role("button", name="Approve all").click()

    expect(tab.get_by_role("status")).to_contain_text("1 change was applied.")
    assert change.id in {each.id for each in meaning.changes("approved")}
