"""`--url` and `--key`: commands ask a running gateway and show what they would show beside it."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import typer.testing
from tests.api.worlds import AGENT, ROLE, Api

from remit.cli.main import app
from remit.cli.remote import KEY_VARIABLE

pytestmark = pytest.mark.timeout(120)


def typed(api: Api, *arguments: str, by: str = "administrator", expect: int = 0) -> str:
    """Run a command with the key in the environment; return both streams."""
    environ = {KEY_VARIABLE: api.credentials[by] or ""}
    words = [*arguments, "--url", api.base]
    done = typer.testing.CliRunner().invoke(app, words, env=environ)
    assert done.exit_code == expect, (arguments, done.output, done.exception)
    return done.output


def typed_json(api: Api, *arguments: str, **more: Any) -> Any:
    return json.loads(typed(api, *arguments, "--json", **more))


def test_who_sees_and_may_what(api: Api) -> None:
    asked = ("--as", f"role:{ROLE}")

    assert [tool["tool"] for tool in typed_json(api, "tools", *asked)] == ["work"]
    answer = typed_json(api, "explain", *asked, "tools__work")
    assert (answer["allowed"], answer["rule"]) == (True, f"roles.{ROLE}.tools.tools[0]")
    assert "may not" in typed(api, "explain", *asked, "tools/rest", expect=1)
    assert ROLE in typed_json(api, "who-can", "tools/work")["roles"]


def test_arguments_and_limits_are_told_of_a_call_that_is_not_made(api: Api) -> None:
    asked = ("explain", "--as", f"role:{ROLE}", "tools/work", "--args")

    fitting = typed_json(api, *asked, "{}")
    assert fitting["arguments"] == {"checked": True, "valid": True, "problem": None}
    assert fitting["allowed"]
    assert "--args must be a JSON object" in typed(api, *asked, "[]", expect=2)


def test_policy_tests_are_asked_of_what_is_in_force_there(api: Api, tmp_path: Path) -> None:
    cases = tmp_path / "cases.yaml"
    cases.write_text(
        f"- {{as: role:{ROLE}, tool: tools/work, expect: allow}}\n"
        f"- {{as: role:{ROLE}, tool: tools/rest, expect: deny}}\n"
    )

    told = typed_json(api, "test", str(cases))
    assert (told["summary"]["passed"], told["failures"]) == (2, [])
    reached = f"roles.{ROLE}.tools.tools[0]"
    assert reached not in [one["rule"] for one in told["uncovered"]]
    cases.write_text("- {as: role:ghost, tool: tools/work, expect: deny}\n")
    assert "cannot be asked: the gateway knows no" in typed(api, "test", str(cases), expect=1)
    assert "only an administrator" in typed(api, "test", str(cases), by="role key", expect=1)


def test_policy_tests_say_what_is_missing_as_they_do_without_a_gateway(
    api: Api, tmp_path: Path
) -> None:
    entry = {"command": "no-such-program-anywhere"}
    declared = typed_json(api, "export")
    document = declared | {"mcp_servers": declared["mcp_servers"] | {"away": entry}}
    config = tmp_path / "remit.yaml"
    config.write_text(json.dumps(document))
    typed(api, "apply", str(config))
    tools = ("tools/work", "tools/wrok", "tools/resource:doc://1", "away/any", "nowhere/any")
    cases = tmp_path / "cases.yaml"
    cases.write_text(
        json.dumps([{"as": "role:nobody", "tool": t, "expect": "deny"} for t in tools])
    )
    cases.write_text(cases.read_text().replace("nobody", ROLE).replace('"deny"', '"allow"', 1))
    try:
        told = typed_json(api, "test", str(cases))
    finally:
        config.write_text(json.dumps(declared))
        typed(api, "apply", str(config))

    assert [one["tool"] for one in told["missing"]] == ["tools/wrok", "nowhere/any"]


def test_tenants_are_made_and_listed(api: Api) -> None:
    made = typed_json(api, "tenants", "create", "typed")

    listed = typed_json(api, "tenants", "list")
    assert made in listed
    assert listed[0]["name"] == "default"
    assert "only an administrator" in typed(api, "tenants", "list", by="role key", expect=1)


def test_keys_are_made_rotated_and_revoked(api: Api) -> None:
    acting = ("--act-for", AGENT)
    made = typed_json(api, "keys", "create", "r/1", "--role", ROLE, "--expires", "1d", *acting)
    assert made["key"].startswith("rmt_")
    again = typed_json(api, "keys", "rotate", "r/1", "--overlap", "5")
    assert again["key"] != made["key"]
    listed = [key for key in typed_json(api, "keys", "list") if key["name"] == "r/1"]
    assert [key["state"] for key in listed] == ["ending", "holds"]
    assert [key["act_for"] for key in listed] == [[AGENT], [AGENT]]
    assert typed_json(api, "keys", "revoke", "r/1")["state"] == "revoked"
    assert "no key named" in typed(api, "keys", "revoke", "r/1", expect=1)


def test_an_auditor_is_made_and_lists_keys_but_makes_none(api: Api) -> None:
    typed_json(api, "keys", "create", "eye", "--auditor")

    (listed,) = [
        key for key in typed_json(api, "keys", "list", by="auditor") if key["name"] == "eye"
    ]
    assert (listed["for"], listed["auditor"], listed["admin"]) == ("auditing", True, False)
    refused = typed(api, "keys", "create", "more", "--admin", by="auditor", expect=1)
    assert "an auditor reads and changes nothing" in refused


def test_agents_and_users_are_changed(api: Api) -> None:
    made = typed_json(api, "agents", "create", "far-1", "--type", "worker", "--epic", "spring")
    assert (made["type"], made["epic"]) == ("WORKER", "spring")
    changed = typed_json(api, "agents", "change", "far-1", "--role", ROLE, "--epic", "")
    assert (changed["role"], changed["epic"]) == (ROLE, None)
    assert "far-1" in [agent["id"] for agent in typed_json(api, "agents", "list")]

    assert typed_json(api, "users", "disable", "auth0|bo/1")["disabled"]
    assert typed_json(api, "users", "list")[0]["name"] == "auth0|bo/1"
    assert "is enabled" in typed(api, "users", "enable", "auth0|bo/1")
    assert "not disabled" in typed(api, "users", "enable", "auth0|bo/1", expect=1)


def test_a_declaration_goes_out_is_changed_and_comes_back(api: Api, tmp_path: Path) -> None:
    file = tmp_path / "remit.yaml"
    file.write_text(typed(api, "export"))
    assert typed_json(api, "export")["roles"][ROLE]
    begun = typed_json(api, "revisions")[0]["number"]
    assert typed_json(api, "apply", str(file))["written"] is False
    file.write_text(file.read_text().replace("- work", "- rest"))

    wish = typed_json(api, "apply", str(file), "--dry-run")
    assert (wish["written"], wish["revision"]) == (False, begun + 1)
    assert f"role:{ROLE} gains tools/rest" in typed(api, "apply", str(file), "--reason", "a wish")
    shown = typed(api, "revisions", str(begun + 1))
    assert "a wish" in shown
    assert "rest" in shown
    assert typed_json(api, "revisions", str(begun + 1))["document"]["roles"][ROLE]

    back = typed_json(api, "rollback", str(begun))
    assert back["number"] == begun + 2
    file.write_text("rolls: {}")
    assert "unknown key" in typed(api, "apply", str(file), expect=1)


def test_masks_that_went_out_come_back_as_what_they_stand_for(api: Api, tmp_path: Path) -> None:
    file = tmp_path / "remit.yaml"
    declared = typed_json(api, "export")
    declared["mcp_servers"]["far"] = far = {
        "url": "https://ann:8f3c0a61b2d94e57@far.example.test/mcp?token=8f3c0a61b2d94e57",
        "headers": {"X-API-Key": "8f3c0a61b2d94e57"},
        "enabled": False,
    }
    file.write_text(json.dumps(declared))
    begun = typed_json(api, "revisions")[0]["number"]
    assert typed_json(api, "apply", str(file))["written"]

    file.write_text(typed(api, "export"))
    assert file.read_text().count("[redacted]") == 3
    assert "8f3c0a61b2d94e57" not in file.read_text()
    assert typed_json(api, "apply", str(file))["written"] is False
    file.write_text(file.read_text().replace("enabled: false", "enabled: false\n    timeout: 7"))
    assert typed_json(api, "apply", str(file))["written"]
    shown = typed_json(api, "export")["mcp_servers"]["far"]
    assert (shown["timeout"], shown["headers"]) == (7, {"X-API-Key": "[redacted]"})

    file.write_text(json.dumps({**declared, "mcp_servers": {"new": {**far, "url": "[redacted]"}}}))
    refused = typed(api, "apply", str(file), expect=1)
    assert "left as it was shown it would stay" in refused
    assert "must be an address" not in refused
    typed(api, "rollback", str(begun))


def test_a_call_is_made_by_the_keys_own_holder(api: Api) -> None:
    own = ("call", "--as", "key:caller-role", "tools/work")

    assert "work" in json.dumps(typed_json(api, *own, by="role key"))
    assert "key:admin" in typed(api, *own, expect=2)  # R12: administering opens no tool
    refused = ("call", "--as", "key:caller-role", "tools/rest")
    told = typed(api, *refused, by="role key", expect=1)
    request = told.rpartition("request ")[2].partition(")")[0]
    row = api.get("/audit", params={"text": request})["items"][0]
    assert (row["id"], row["tool"], row["decision"]) == (request, "rest", "deny")


def test_the_record_is_searched_exported_and_verified(api: Api, tmp_path: Path) -> None:
    for _ in range(3):
        typed(api, "keys", "revoke", "none-such", expect=1)
    found = typed_json(api, "audit", "search", "--tool", "keys.revoke", "--limit", "2")
    assert len(found) == 2
    assert found[0]["id"] != found[1]["id"]
    assert "keys.revoke" in typed(api, "audit", "tail", "-n", "5")
    assert typed_json(api, "audit", "verify")["ok"]
    assert typed(api, "audit", "verify").startswith("OK: ")
    logged = typed_json(api, "audit", "decisions", "--agent", AGENT, "--limit", "3")
    assert logged == api.get("/audit/decisions", params={"agent": AGENT, "limit": 3})["items"]
    assert typed(api, "audit", "decisions", "--agent", "no-such-agent") == "no decisions\n"
    file = tmp_path / "record.csv"
    typed(api, "audit", "export", "--format", "csv", "--output", str(file))
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert {row["tool"] for row in rows} >= {"keys.revoke"}


def test_a_gateway_that_cannot_be_asked_is_status_3_and_a_refusal_is_1(api: Api) -> None:
    assert "only an administrator" in typed(api, "keys", "list", by="role key", expect=1)
    assert "needs a key" in typed(api, "keys", "list", by="wrong key", expect=1)
    runner = typer.testing.CliRunner()
    for arguments, status in (
        (["keys", "list", "--url", "http://127.0.0.1:9", "--key", "k"], 3),
        (["keys", "list", "--url", "ftp://x", "--key", "k"], 2),
        (["keys", "list", "--url", api.base], 2),
        (["keys", "list", "--key", "k"], 2),
    ):
        assert runner.invoke(app, arguments, env={KEY_VARIABLE: ""}).exit_code == status
