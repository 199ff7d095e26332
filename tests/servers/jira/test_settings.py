"""The Jira server as a program and as a builtin: its settings, alone and in the gateway."""

import json
import re
from pathlib import Path

import pytest

from remit.servers.jira.server import open_server
from remit.servers.jira.tools import TOOLS
from remit.testing.gateway import run_remit
from remit.testing.jira_cloud import open_jira_cloud

GOOD = {"JIRA_URL": "https://x.test/jira/", "JIRA_API_TOKEN": "sesame-opens"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"JIRA_URL": ""}, "JIRA_URL is not set"),
        ({"JIRA_URL": "x.atlassian.net"}, "JIRA_URL is no http or https address"),
        ({"JIRA_URL": "https://ann:pw@x.test"}, "holds a user or password"),
        ({"JIRA_API_TOKEN": " "}, "JIRA_API_TOKEN is not set"),
        ({"JIRA_API_TOKEN": "sesame\nopens"}, "no HTTP header can hold"),
        ({"JIRA_DEPLOYMENT": "server"}, "none of auto, cloud, datacenter"),
    ],
)
def test_settings_that_do_not_fit_are_told_in_one_line_without_the_secret(
    change: dict[str, str], told: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(told)) as caught:
        open_server([], GOOD | change, Path())

    assert str(caught.value).startswith("jira server: ")
    assert "\n" not in str(caught.value)
    assert "sesame" not in str(caught.value)


def test_an_unknown_argument_names_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="--read-only"):
        open_server(["--readonly"], GOOD, Path())


def test_the_eight_tools_take_what_is_fixed_and_say_what_they_do() -> None:
    hints = {tool.name: tool.on_wire()["annotations"] for tool in TOOLS}
    required = {tool.name: tool.takes["required"] for tool in TOOLS}

    assert required == {
        "create_ticket": ["project_key", "summary"],
        "get_ticket": ["ticket_key"],
        "update_ticket": ["ticket_key"],
        "add_comment": ["ticket_key", "body"],
        "change_status": ["ticket_key", "status"],
        "assign_ticket": ["ticket_key", "assignee"],
        "search_tickets": [],
        "get_sprint": [],
    }
    reading = {name for name, one in hints.items() if _flag(one, "readOnlyHint")}
    again = {name for name, one in hints.items() if _flag(one, "idempotentHint")}
    assert reading == {"get_ticket", "search_tickets", "get_sprint"}
    assert again - reading == {"update_ticket", "assign_ticket"}


def _flag(annotations: object, name: str) -> bool:
    return isinstance(annotations, dict) and annotations[name] is True


def test_as_a_part_of_the_gateway_it_has_the_variables_of_its_entry(tmp_path: Path) -> None:
    secret = "sesame-opens"
    with open_jira_cloud() as web:
        env = {"JIRA_URL": web.url, "JIRA_USERNAME": "bot@x.test", "JIRA_API_TOKEN": "${SESAME}"}
        roles = {
            "project_manager": {"tools": {"jira": ["create_ticket", "change_status"]}},
            "qa_tester": {"tools": {"jira": ["change_status"]}},
        }
        document = {
            "version": "1.0",
            "mcp_servers": {"jira": {"builtin": "jira", "env": env}},
            "roles": roles,
        }
        (tmp_path / "remit.yaml").write_text(json.dumps(document))
        ticket = json.dumps({"project_key": "SHOP", "summary": "Basket is empty"})
        asked = ("jira/create_ticket", "--args", ticket)
        environ = {"SESAME": secret}

        refused = run_remit(
            "call", "--as", "role:qa_tester", *asked, folder=tmp_path, environ=environ
        )
        none = len(web.requests("POST"))
        done = run_remit(
            "call", "--as", "role:project_manager", *asked, folder=tmp_path, environ=environ
        )
        without = run_remit("call", "--as", "role:project_manager", *asked, folder=tmp_path)

    assert refused.returncode == 1
    assert none == 0
    assert done.returncode == 0, done.stderr
    assert '"key": "SHOP-1"' in done.stdout
    assert without.returncode != 0
    assert "SESAME" in without.stderr + without.stdout
    kept = [path.read_bytes() for path in (tmp_path / ".remit").rglob("*") if path.is_file()]
    assert kept
    assert not any(secret.encode() in content for content in kept)
    assert secret not in "".join(one.stdout + one.stderr for one in (refused, done, without))
