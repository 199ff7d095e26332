"""A server is added by its form in a real browser, and its tool is called (must-show 1)."""

from playwright.sync_api import Page as Tab
from playwright.sync_api import expect
from tests.console.browsing import Windows, look_at
from tests.console.callers import reaching
from tests.console.office import Office

from remit.client import servers
from remit.testing.gateway import fixture_entry
from remit.testing.upstream import executed

NAME = "greeter"


def test_a_server_is_added_by_the_form_and_its_tool_is_called(
    office: Office, new_page: Windows
) -> None:
    counted = office.folder / "greeted"
    entry = fixture_entry(("greet",), counted)
    tab = new_page("administrator", "/servers")
    tab.get_by_role("link", name="Add a server").first.click()
    fill_in(tab, entry["command"], entry["args"])
    look_at(tab)

    tab.get_by_role("button", name="Preview").click()
    expect(tab.get_by_text("Nothing is saved yet.")).to_be_visible()
    look_at(tab)
    tab.get_by_label("Reason").fill("a guest of the tests")
    tab.get_by_role("button", name="Save as revision").click()

    expect(tab.get_by_role("heading", name=NAME, exact=True)).to_be_visible()
    with reaching(office, f"{NAME}/greet") as caller:
        assert not caller.call_tool(f"{NAME}__greet", {"x": "y"}).is_error
    assert [call.name for call in executed(counted)] == ["greet"]
    tab.get_by_role("button", name="Test connection").click()
    expect(tab.get_by_role("status")).to_contain_text("it works")
    tab.get_by_text("Input schema").click()
    look_at(tab)
    remove(tab, office)


def fill_in(tab: Tab, command: str, args: list[str]) -> None:
    """Fill in the form of a program, after a look at what an address would ask for."""
    tab.get_by_label("Name").first.fill(NAME)
    transport = tab.get_by_label("Transport")
    transport.select_option("http")
    expect(tab.get_by_label("Command")).to_be_hidden()
    expect(tab.get_by_label("URL")).to_be_visible()
    transport.select_option("stdio")
    expect(tab.get_by_label("URL")).to_be_hidden()
    tab.get_by_label("Command").fill(command)
    tab.get_by_label("Arguments").fill("\n".join(args))
    environment = tab.get_by_role("group", name="Environment")
    environment.get_by_role("button", name="Another").click()
    expect(environment.get_by_label("Environment: name")).to_have_count(3)
    environment.get_by_label("Environment: name").last.fill("LEVEL")
    environment.get_by_label("Environment: value").last.fill("3")


def remove(tab: Tab, office: Office) -> None:
    """Remove the server, as an administrator does."""
    assert office.client().ask(servers.get(NAME)).declared["env"] == {"LEVEL": "3"}
    tab.get_by_role("button", name="Remove").click()
    tab.get_by_role("button", name="Save as revision").click()
    expect(tab.get_by_text(f"{NAME} is removed.")).to_be_visible()
