"""The git server alone, as the MCP inspector sees it (issue 6, must show 6)."""

import os
from pathlib import Path

import pytest
from tests.servers.checkouts import Checkout
from tests.servers.inspector import Inspector

from remit.servers.git.server import GitServer


def _inspector(project: Checkout, folder: Path, *args: str) -> Inspector:
    environ = {name: value for name, value in os.environ.items() if name.startswith("GIT_CONFIG")}
    arguments = ["--repository", str(project.path), *args]
    return Inspector(folder, "remit.servers.git", arguments, environ)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_the_nine_tools_and_finds_no_fault_with_them(
    project: Checkout, tmp_path: Path, era: str
) -> None:
    listed = _inspector(project, tmp_path).listed("--protocol-era", era)

    assert listed == {str(tool["name"]): tool for tool in GitServer(project.path).tools()}


def test_the_inspector_can_do_a_days_work(
    project: Checkout, origin: Checkout, tmp_path: Path
) -> None:
    inspector = _inspector(project, tmp_path)
    project.write("new.txt", "1\n")

    switched = inspector.call("git_checkout", branch_name="topic", create=True)
    committed = inspector.call("git_commit", message="Work\n\nDone.", paths=["new.txt"])
    pushed = inspector.call("git_push", "--protocol-era", "modern")

    assert switched["structuredContent"]["branch"] == "topic"
    assert committed["structuredContent"]["files"] == ["new.txt"]
    assert pushed["structuredContent"]["result"] == "created"
    assert origin.git("rev-parse", "topic").strip() == project.head()


def test_the_inspector_is_told_what_is_refused(project: Checkout, tmp_path: Path) -> None:
    refused = _inspector(project, tmp_path).call("git_diff", target="--output=/tmp/x")

    assert refused["isError"] is True
    assert "may not start with '-'" in refused["content"][0]["text"]
