"""The page "Servers" (S4.28-S4.30): where servers stand, adding, changing and removing them."""

import sys
from collections.abc import Callable, Generator, Mapping
from html import unescape
from typing import Any

import pytest
from tests.console.callers import reaching
from tests.console.filling import fields_of
from tests.console.office import Office
from tests.console.visits import CONSOLE, Visit

from remit.client import audit, servers
from remit.errors import ProblemDetails
from remit.testing.gateway import fixture_entry

MARKUP = "<script>alert('x')</script>"
SECRET = "a-value-that-nobody-shows"
NOISY = f"import sys; sys.stderr.write({MARKUP!r} + '\\x1b[31m\\u202e broken'); sys.exit(3)"
"""A program that says something odd and ends."""

Declare = Callable[[str, Mapping[str, Any]], str]


@pytest.fixture
def declare(office: Office) -> Generator[Declare]:
    """Declare servers by the API for one test, and remove all that a test has made."""
    client = office.client()
    before = {server.name for server in client.ask(servers.list_all()).items}

    def declare(name: str, entry: Mapping[str, Any]) -> str:
        client.ask(servers.create(name, entry))
        return name

    yield declare
    for server in client.ask(servers.list_all()).items:
        if server.name not in before:
            client.ask(servers.remove(server.name, if_match="*"))


@pytest.fixture
def administrator(office: Office) -> Visit:
    return office.visit("administrator")


def echo(office: Office, **settings: Any) -> dict[str, Any]:
    return {**fixture_entry(("echo",), office.folder / "echoed", session="shared"), **settings}


def declared(office: Office, name: str) -> dict[str, Any]:
    return office.client().ask(servers.get(name)).declared


def text_of(page: str) -> str:
    """Return a page on one line, its references resolved."""
    return unescape(" ".join(page.split()))


def test_the_list_says_where_each_server_stands_and_why(administrator: Visit) -> None:
    page = text_of(administrator.page("/servers"))

    for name in ("git", "deploy", "search", "archive"):
        assert f'href="{CONSOLE}/servers/{name}"' in page
    assert "command 'no-such-program' was not found" in page
    assert "out of service" in page
    own, _, bundled = page.partition("Built-in servers")
    assert "/servers/deploy" in own
    assert "/servers/deploy" not in bundled
    assert "/servers/git" in bundled


def test_built_in_servers_say_what_they_are_for_declared_or_not(administrator: Visit) -> None:
    _, _, bundled = text_of(administrator.page("/servers")).partition("Built-in servers</h2>")
    used, _, idle = bundled.partition("Not in use")

    assert "a git repository: status, history" in used
    assert "tickets, their status and comments, and sprints in Jira" in idle
    form = administrator.page("/servers/-new", builtin="jira")
    found = fields_of(form, "/servers/-new")
    assert [found[key] for key in ("name", "transport", "builtin")] == [
        ["jira"],
        ["builtin"],
        ["jira"],
    ]


def test_the_list_is_filtered_by_text_and_by_state(administrator: Visit) -> None:
    by_reason = administrator.page("/servers", q="NO-SUCH-program")
    by_state = administrator.page("/servers", state="stopped")
    none = administrator.page("/servers", q="nothing like it")

    assert "/servers/search" in by_reason
    assert "/servers/deploy" not in by_reason
    assert "/servers/archive" in by_state
    assert "/servers/search" not in by_state
    assert none.count("None fits the filter.") == 2


def test_a_server_is_shown_with_what_it_offers(administrator: Visit) -> None:
    page = text_of(administrator.page("/servers/deploy"))

    assert "Put a version of a service into production" in page
    assert '"pattern": "^v[0-9.]+$"' in page
    assert "reads only" in page
    for path in ("/access?server=deploy", "/access/who-can?tool=deploy%2Fdeploy_service"):
        assert f'href="{CONSOLE}{path}"' in page
        assert "deploy_service" in administrator.page(path)


def test_a_server_is_added_by_the_form_and_called(
    office: Office, administrator: Visit, declare: Declare
) -> None:
    del declare  # cleans up
    entry = echo(office)
    form = fields_of(administrator.page("/servers/-new"), "/servers/-new")
    form |= {
        "name": ["added"],
        "command": [entry["command"]],
        "args": ["\r\n".join(entry["args"])],
        "session": ["shared"],
        "env.name": ["LEVEL", ""],
        "env.value": ["debug", ""],
    }

    preview = administrator.post("/servers/-new", form)
    assert preview.status_code == 200
    assert "Nothing is saved yet." in preview.text
    assert "What it offers is known once it is connected" in preview.text
    with pytest.raises(ProblemDetails, match="no server 'added'"):
        declared(office, "added")

    fields = fields_of(preview.text, "/servers/-new")
    done = administrator.do("/servers/-new", fields, reason="a test")

    assert "added is added. It is revision" in done.text
    assert declared(office, "added") == {
        "command": entry["command"],
        "args": entry["args"],
        "session": "shared",
        "env": {"LEVEL": "[redacted]"},
    }


def test_a_server_at_an_address_is_added_without_what_only_programs_have(
    office: Office, administrator: Visit, declare: Declare
) -> None:
    del declare  # cleans up
    form = fields_of(administrator.page("/servers/-new"), "/servers/-new")
    form |= {
        "name": ["remote"],
        "transport": ["http"],
        "url": ["http://127.0.0.1:9/mcp"],
        "command": ["left-behind"],
        "bearer_token_env_var": ["REMOTE_TOKEN"],
        "headers_from_env.name": ["X-Team", ""],
        "headers_from_env.value": ["TEAM", ""],
        "default_access": ["deny"],
    }

    administrator.do("/servers/-new", form, step="save")

    assert declared(office, "remote") == {
        "url": "http://127.0.0.1:9/mcp",
        "bearer_token_env_var": "REMOTE_TOKEN",
        "headers_from_env": {"X-Team": "TEAM"},
        "default_access": "deny",
    }


def test_a_long_list_of_tools_comes_in_pages(
    office: Office, administrator: Visit, declare: Declare
) -> None:
    names = [f"tool_{number:03}" for number in range(101)]
    name = declare("many", fixture_entry(names, office.folder / "many", session="shared"))
    office.running.settle()

    first = administrator.page(f"/servers/{name}")
    link = unescape(first.partition("Next page")[0].rpartition('href="')[2].partition('"')[0])
    second = administrator.page(link.removeprefix(CONSOLE))

    assert ("tool_099" in first, "tool_100" in first) == (True, False)
    assert ("tool_099" in second, "tool_100" in second) == (False, True)


def test_what_is_wrong_is_said_at_its_field_and_nothing_typed_is_lost(
    administrator: Visit,
) -> None:
    form = fields_of(administrator.page("/servers/-new"), "/servers/-new")
    form |= {"name": ["a b"], "args": ["--kept"], "timeout": ["soon"]}

    reply = administrator.post("/servers/-new", form)

    assert reply.status_code == 422
    page = text_of(reply.text)
    assert 'value="a b" required aria-describedby="h-name" aria-invalid="true"' in page
    assert fields_of(reply.text, "/servers/-new")["args"] == ["--kept"]
    assert fields_of(reply.text, "/servers/-new")["timeout"] == ["soon"]


def test_a_row_without_a_name_is_told_of_before_anything_is_asked(administrator: Visit) -> None:
    form = fields_of(administrator.page("/servers/deploy/edit"), "/edit")
    form |= {"env.name": [""], "env.value": ["lost?"]}

    reply = administrator.post("/servers/deploy/edit", form, step="save")

    assert reply.status_code == 422
    assert "has to be put right first: Environment." in text_of(reply.text)
    assert fields_of(reply.text, "/edit")["env.value"][0] == "lost?"


def test_a_change_can_be_changed_further_after_its_preview(administrator: Visit) -> None:
    form = fields_of(administrator.page("/servers/deploy/edit"), "/deploy/edit")
    form |= {"timeout": ["12"], "env.name": ["A", "B"], "env.value": ["1", "2"]}
    preview = administrator.post("/servers/deploy/edit", form)

    again = administrator.post(
        "/servers/deploy/edit", fields_of(preview.text, "/edit"), step="again"
    )

    found = fields_of(again.text, "/deploy/edit")
    assert found["timeout"] == ["12"]
    assert found["env.name"] == ["A", "B", "", ""]
    assert again.status_code == 200


def test_an_edit_keeps_secrets_and_what_the_form_does_not_show(
    office: Office, administrator: Visit, declare: Declare
) -> None:
    tool = {"name": "env", "x-fixture": {"environment": True}}
    entry = {
        **fixture_entry((tool,), office.folder / "kept", session="shared"),
        "env": {"API_TOKEN": SECRET, "LEVEL": "3"},
        "tools": {"env": {"critical": True}},
        "max_children": 3,
        "timeout": 20,
    }
    name = declare("kept", entry)
    page = administrator.page(f"/servers/{name}/edit")
    form = fields_of(page, "/edit") | {"timeout": ["21"]}
    form["env.name"][-1], form["env.value"][-1] = "NEW", "${HOME}"

    preview = administrator.post(f"/servers/{name}/edit", form)
    administrator.do(f"/servers/{name}/edit", fields_of(preview.text, "/edit"))

    assert SECRET not in page + preview.text
    env = {"API_TOKEN": "[redacted]", "LEVEL": "3", "NEW": "${HOME}"}
    assert declared(office, name) == {**entry, "timeout": 21, "env": env}
    with reaching(office, "kept/env") as caller:
        environment = caller.call_tool("kept__env").text
    assert SECRET in environment


def test_a_form_that_was_not_touched_changes_nothing(office: Office, administrator: Visit) -> None:
    before = office.client().ask_tagged(servers.get("github")).etag
    form = fields_of(administrator.page("/servers/github/edit"), "/edit")

    preview = administrator.post("/servers/github/edit", form)
    administrator.do("/servers/github/edit", form, step="save")

    assert "Nothing: it is declared like this already." in preview.text
    assert office.client().ask_tagged(servers.get("github")).etag == before


def test_two_who_edit_at_once_do_not_overwrite_each_other(
    office: Office, administrator: Visit, declare: Declare
) -> None:
    name = declare("shared", echo(office, timeout=20))
    form = fields_of(administrator.page(f"/servers/{name}/edit"), "/edit")
    form |= {"max_concurrency": ["5"]}
    office.client().ask(servers.change(name, {"timeout": 9}, if_match="*"))

    refused = administrator.post(f"/servers/{name}/edit", form, step="save")

    assert refused.status_code == 412
    assert "Somebody else changed timeout of this server" in text_of(refused.text)
    shown = fields_of(refused.text, "/edit")
    assert (shown["timeout"], shown["max_concurrency"]) == (["20"], ["5"])
    administrator.do(f"/servers/{name}/edit", shown, step="save")
    entry = declared(office, name)
    assert (entry["timeout"], entry["max_concurrency"]) == (9, 5)


def test_the_default_access_is_switched_after_a_preview(
    office: Office, administrator: Visit, declare: Declare
) -> None:
    name = declare("open", echo(office, default_access="allow"))
    form = fields_of(administrator.page(f"/servers/{name}"), "/access")

    preview = administrator.post(f"/servers/{name}/access", form)
    assert declared(office, name)["default_access"] == "allow"
    assert "known once it is connected" not in preview.text
    administrator.do(f"/servers/{name}/access", fields_of(preview.text, "/access"))

    assert declared(office, name)["default_access"] == "deny"
    assert "Allow by default" in administrator.page(f"/servers/{name}")


def test_a_test_of_a_connection_says_what_came_of_it(administrator: Visit) -> None:
    broken = text_of(administrator.post("/servers/search/test").text)
    good = text_of(administrator.post("/servers/deploy/test").text)

    assert "it does not work" in broken
    assert "cannot start: command 'no-such-program' was not found" in broken
    assert "it works" in good
    assert "Tokens of its list" in good
    assert "MiB" in good


def test_a_server_is_restarted(office: Office, administrator: Visit, declare: Declare) -> None:
    name = declare("again", echo(office))
    office.running.settle()

    done = administrator.do(f"/servers/{name}/restart", reason="a test")

    assert "again is being connected anew." in done.text
    (row,) = office.client().ask(audit.search(audit.Filter(text=name), limit=1)).items
    assert (row.tool, row.outcome) == ("servers.restart", "ok"), row


def test_a_server_is_taken_out_of_service_and_put_back(
    office: Office, administrator: Visit, declare: Declare
) -> None:
    name = declare("away", echo(office))

    out = administrator.do(f"/servers/{name}/disable", reason="it misbehaves")
    assert "away is out of service" in out.text
    assert "Put back into service" in out.text
    assert declared(office, name)["enabled"] is False

    back = administrator.do(f"/servers/{name}/enable")
    assert "Take out of service" in back.text
    assert declared(office, name)["enabled"] is True


def test_a_quarantined_server_says_what_it_needs(office: Office, administrator: Visit) -> None:
    office.running.settle()
    states = {s.name: s.state for s in office.client().ask(servers.list_all()).items}

    page = administrator.page("/servers/search")

    assert states["search"] in ("backing_off", "quarantined")
    assert "restart" in page.partition("Where it stands")[2].partition("<dl")[0]


def test_a_server_is_removed_after_a_preview(
    office: Office, administrator: Visit, declare: Declare
) -> None:
    name = declare("gone", echo(office))
    form = fields_of(administrator.page(f"/servers/{name}"), "/remove")

    preview = administrator.post(f"/servers/{name}/remove", form)
    assert f"mcp_servers.{name}" in preview.text
    assert declared(office, name)
    done = administrator.do(f"/servers/{name}/remove", fields_of(preview.text, "/remove"))

    assert "gone is removed. It is revision" in done.text
    assert administrator.get(f"/servers/{name}").status_code == 404


def test_an_auditor_sees_no_form_and_no_secret(office: Office, declare: Declare) -> None:
    name = declare("guarded", echo(office, env={"TOKEN": SECRET}))
    auditor = office.visit("auditor")

    pages = [auditor.page("/servers"), auditor.page(f"/servers/{name}")]

    for page in pages:
        main = page.partition("<main")[2]
        assert 'method="post"' not in main
        assert "/edit" not in main
        assert "-new" not in main
        assert SECRET not in page


def test_what_a_server_says_is_only_text(
    office: Office, administrator: Visit, declare: Declare
) -> None:
    tool = {"name": "odd", "title": MARKUP, "description": f"{MARKUP}\x1b[2J"}
    odd = fixture_entry((tool,), office.folder / "odd", session="shared", description=MARKUP)
    declare("odd", odd)
    declare("noisy", {"command": sys.executable, "args": ["-c", NOISY], "description": MARKUP})
    office.running.settle()

    pages = [administrator.page(path) for path in ("/servers", "/servers/odd", "/servers/noisy")]
    pages.append(administrator.post("/servers/noisy/test").text)

    for page in pages:
        assert "<script>alert" not in page
        assert "\x1b" not in page
        assert "\u202e" not in page
    assert "&lt;script&gt;alert" in pages[1]
    assert "\N{SYMBOL FOR ESCAPE}[31m\N{REPLACEMENT CHARACTER} broken" in pages[2]
