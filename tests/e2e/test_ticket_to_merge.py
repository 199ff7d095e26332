"""From a ticket to a merge, as the example goes it (S0.27; issue 6, must show 1)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from remit.testing.gateway import environment
from remit.testing.github_fake import TOKENS
from remit.testing.squad import JIRA_TOKEN, git

EXAMPLE = Path(__file__).parents[2] / "examples" / "ticket-to-merge"

pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("way", [[], ["--library"]], ids=["gateway", "library"])
def test_a_ticket_becomes_a_merge_and_is_closed_each_step_by_the_role_that_may(
    tmp_path: Path, way: list[str]
) -> None:
    walked = subprocess.run(
        [sys.executable, str(EXAMPLE), *way, str(tmp_path)],
        capture_output=True, text=True, timeout=240, check=False, env=environment(),
    )  # fmt: skip
    if "are not here" in walked.stderr and os.environ.get("CI") != "true":
        pytest.skip("the fakes of GitHub and Jira are not installed; `make setup` gets them")

    assert walked.returncode == 0, walked.stdout + walked.stderr
    road, _, story = walked.stdout.partition("the audit tells it")
    done = [line.split()[:2] for line in road.splitlines() if " ok " in line]
    refused = [line.split()[:2] for line in road.splitlines() if " refused " in line]
    assert [tool for _, tool in done] == [
        "jira__create_ticket",
        "jira__assign_ticket",
        "git__git_checkout",
        "git__git_commit",
        "git__git_push",
        "github__create_pull_request",
        "git__git_checkout",
        "github__get_pull_request",
        "jira__change_status",
        "jira__add_comment",
        "github__add_issue_comment",
        "git__git_diff",
        "github__update_pull_request",
        "github__merge_pull_request",
        "git__git_merge",
        "git__git_push",
        "jira__change_status",
        "jira__get_sprint",
    ]
    assert {role for role, _ in refused} == {role for role, _ in done}
    assert story.count("was refused") == len(refused) == 11
    # a mapping in a program is no revision
    assert story.count(f", revision {0 if way else 1}") == len(done)
    assert "health.py" in git(tmp_path / "orders.git", "ls-tree", "--name-only", "main")
    within = (tmp_path / ".remit").rglob("*")
    kept = [tmp_path / "gateway.log", *(path for path in within if path.is_file())]
    for token in (*TOKENS.values(), JIRA_TOKEN):
        assert token not in walked.stdout
        assert [file.name for file in kept if token.encode() in file.read_bytes()] == []
