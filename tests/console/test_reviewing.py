"""A suggestion is reviewed in a real browser, and then run by a service key (must-show 1)."""

from uuid import uuid4

from playwright.sync_api import expect
from tests.console.browsing import Windows, axe_violations, look_at
from tests.console.office import Office


def test_a_suggestion_is_run_dry_approved_and_then_run_by_a_service_key(
    office: Office, new_page: Windows
) -> None:
    name = f"Customers by name {uuid4().hex[:6]}"
    wanted = {
        "name": name,
        "description": "Who is called so.",
        "sql": "SELECT name, city FROM customers WHERE name LIKE {{like}}",
        "parameters": [{"name": "like", "type": "string", "example": "A%"}],
        "context": "For the letters.",
    }
    told = office.client("user").call_tool("suggest_approved_query", wanted, server="data")
    assert not told.is_error, told.text
    tab = new_page("reviewer", "/queries")
    tab.get_by_role("link", name="To review").click()
    tab.get_by_role("link", name=name).click()

    tab.get_by_role("button", name="Run it dry").click()
    expect(tab.get_by_role("status")).to_contain_text("The dry run works.")
    assert axe_violations(tab) == []
    tab.get_by_role("button", name="Approve").click()

    expect(tab.get_by_role("status")).to_contain_text("is approved")
    tab.get_by_label("like").fill("%")
    tab.get_by_role("button", name="Run", exact=True).click()
    expect(tab.get_by_role("table", name="What it gave")).to_be_visible()
    look_at(tab)
    service = office.client("service")
    listed = service.call_tool("list_approved_queries", {}, server="data").structured
    assert listed is not None
    (query,) = (one["query_id"] for one in listed["queries"] if one["name"] == name)
    given = {"query_id": query, "parameters": {"like": "%"}, "limit": 1}
    ran = service.call_tool("execute_approved_query", given, server="data")
    assert not ran.is_error, ran.text
