"""The design document's own mapping file: checked, explained, asked about (Must show 2 and 4)."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from remit import MCPToolMapper
from remit.testing.gateway import Ended, run_remit

LAYERS = ["tenant", "server", "deny", "ceiling", "access", "tool"]


@pytest.fixture(scope="module")
def mapping(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Take the YAML of the mapping file out of the document, as it stands there."""
    (document,) = (shared / "seeds").glob("000_*.txt")
    (text,) = re.findall(
        r"### Configuration File:[^\n]*\n+```yaml\n(.*?)```", document.read_text(), re.DOTALL
    )
    config = tmp_path_factory.mktemp("seed") / "mapping.yaml"
    config.write_text(text)
    return config


def run(mapping: Path, *arguments: str) -> Ended:
    return run_remit(*arguments, "--config", mapping.name, folder=mapping.parent)


def problems(report: dict[str, Any], code: str) -> list[str]:
    return [entry["message"] for entry in report["warnings"] if entry["code"] == code]


def test_check_counts_roles_and_grants_and_names_what_does_not_exist(mapping: Path) -> None:
    done = run(mapping, "check", "--json")

    report = json.loads(done.stdout)
    missing = Counter(
        tool for text in problems(report, "unknown-tool") for tool in re.findall(r"'git_\w+'", text)
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert report["summary"] == {"roles": 9, "grants": 101}
    assert report["errors"] == []
    # R16, R30: what the published git server lacks, once for each role that is granted it.
    assert missing == {"'git_push'": 4, "'git_pull'": 4, "'git_merge'": 2}
    (unclaimed,) = problems(report, "unclaimed-package")
    assert "'mcp-server-github'" in unclaimed
    assert all(entry["file"] == "mapping.yaml" for entry in report["warnings"])
    assert all(entry["line"] and entry["remedy"] for entry in report["warnings"])


def test_the_servers_of_the_document_are_reached_as_it_says(mapping: Path) -> None:
    # S0.1, S0.2, S0.4, S0.6
    mapper = MCPToolMapper(mapping)

    servers = mapper.config["mcp_servers"]
    assert servers == {name: mapper.get_server_config(name) for name in ("git", "github", "jira")}
    assert servers["git"] == {"command": "uvx", "args": ["mcp-server-git"], "env": {}}
    assert servers["github"] == {
        "command": "uvx",
        "args": ["mcp-server-github"],
        "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}"},
    }
    assert servers["jira"] == {
        "command": "python",
        "args": ["-m", "backend.integrations.mcp.servers.jira_server"],
        "env": {name: f"${{{name}}}" for name in ("JIRA_URL", "JIRA_USERNAME", "JIRA_API_TOKEN")},
    }


def test_the_variable_of_the_document_names_the_file(mapping: Path) -> None:
    # S0.13
    done = run_remit(
        "check", "--json", folder=mapping.parent, environ={"MCP_CONFIG_PATH": str(mapping)}
    )

    assert json.loads(done.stdout)["summary"] == {"roles": 9, "grants": 101}


def test_check_says_the_same_to_people(mapping: Path) -> None:
    done = run(mapping, "check")

    last = done.stdout.splitlines()[-1]
    assert done.returncode == 0
    assert last.startswith("mapping.yaml: 9 roles, 101 grants, 0 errors, ")


def test_a_no_is_explained_layer_by_layer(mapping: Path) -> None:
    done = run(mapping, "explain", "--as", "role:designer", "git/git_commit", "--json")

    answer = json.loads(done.stdout)
    verdicts = {entry["layer"]: entry["verdict"] for entry in answer["layers"]}
    assert done.returncode == 1
    assert (answer["allowed"], answer["layer"], answer["revision"]) == (False, "ceiling", 1)
    assert "'designer'" in answer["reason"]
    assert list(verdicts) == LAYERS
    assert [layer for layer in LAYERS if verdicts[layer] == "deny"] == ["ceiling"]
    # No server was started, so nobody can know whether it is offered.
    assert answer["available"] is False


def test_a_yes_names_the_rule_in_the_file(mapping: Path) -> None:
    done = run(mapping, "explain", "--as", "role:tech_lead", "git__git_merge", "--json")

    answer = json.loads(done.stdout)
    assert done.returncode == 0
    assert (answer["allowed"], answer["layer"]) == (True, "ceiling")
    assert answer["rule"] == "roles.tech_lead.tools.git[4]"


def test_an_explanation_for_people_names_layer_rule_and_revision(mapping: Path) -> None:
    done = run(mapping, "explain", "--as", "role:tech_lead", "git/git_merge")

    assert "decided by ceiling, rule roles.tech_lead.tools.git[4], revision 1" in done.stdout


def test_who_can_names_everybody(mapping: Path) -> None:
    done = run(mapping, "who-can", "git/git_merge", "--json")

    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert set(found["roles"]) == {"tech_lead", "devops_engineer"}
    assert found.keys() >= {"roles", "keys", "users", "agents"}


def test_nobody_is_an_answer_with_status_1(mapping: Path) -> None:
    done = run(mapping, "who-can", "git/git_reset")

    assert done.returncode == 1
    assert done.stdout == "nobody can call git/git_reset\n"
