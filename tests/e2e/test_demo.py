"""`remit demo --once` shows the main job on real input and leaves nothing (the issue's demo)."""

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.processes import descendants, mentioning

from remit.testing.fleets import eventually
from remit.testing.gateway import Ended, environment, run_remit

REPOSITORY = Path(__file__).parents[2]
FILESYSTEM = REPOSITORY / ".tools" / "node_modules" / ".bin" / "mcp-server-filesystem"

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def shown(scratch: Path) -> Ended:
    """Run the demo once, with temporary folders of its own; a column is wide, so no line folds."""
    environ = {"TMPDIR": str(scratch), "COLUMNS": "200"}
    return run_remit("demo", "--once", folder=REPOSITORY, environ=environ)


def rows(shown: Ended, start: str) -> list[str]:
    return [line for line in shown.stdout.splitlines() if line.lstrip().startswith(start)]


def test_it_ends_well_and_leaves_nothing(shown: Ended, scratch: Path) -> None:
    assert (shown.returncode, shown.stderr) == (0, "")
    assert list(scratch.iterdir()) == []
    assert mentioning(str(scratch)) == set()


def test_it_starts_servers_that_others_wrote_and_says_why_one_is_missing(shown: Ended) -> None:
    states = {
        name: rows(shown, f"{name} ")[0].split()[2]
        for name in ("git", "published_git", "time", "github")
    }

    assert states == dict.fromkeys(["git", "published_git", "time"], "ready") | {
        "github": "stopped"
    }
    assert "nobody has claimed this name" in rows(shown, "github ")[0]


@pytest.mark.skipif(
    shutil.which("node") is None or not FILESYSTEM.exists(),
    reason="node or the filesystem server is absent: make setup",
)
def test_it_starts_the_filesystem_server(shown: Ended) -> None:
    assert rows(shown, "files ")[0].split()[2] == "ready"


def test_each_role_is_shown_its_list_in_both_eras(shown: Ended) -> None:
    (backend,) = rows(shown, "backend_developer speaks")
    (designer,) = rows(shown, "designer speaks")
    assert "2026-07-28" in backend
    assert "2025-11-25" in designer
    assert "git__git_commit, " in shown.stdout
    assert "Not connected at the moment: github." in shown.stdout


def test_a_commit_is_pushed_and_really_in_the_bare_remote(shown: Ended) -> None:
    (pushed,) = rows(shown, "backend_developer  git__git_push")
    (landed,) = rows(shown, "the bare remote now has")
    assert " ok " in pushed
    assert "Wrap parcels as gifts on feature/gift-wrap" in landed


def test_a_refused_call_stands_beside_its_explanation(shown: Ended) -> None:
    refused = rows(shown, "designer ")
    assert any("git__git_commit" in line and "refused" in line for line in refused)
    assert "remit explain --as role:designer git/git_commit" in shown.stdout
    assert any("no role allows it" in line for line in rows(shown, "ceiling"))


def test_the_record_of_what_happened_is_shown(shown: Ended) -> None:
    (pushed,) = [row for row in rows(shown, "key:backend_developer") if "git/git_push" in row]
    (denied,) = [row for row in rows(shown, "key:designer") if "git/git_commit" in row]
    assert re.search(r"allow\s+ok", pushed)
    assert re.search(r"deny\s+none", denied)


def test_the_configuration_to_paste_is_json(shown: Ended) -> None:
    text = shown.stdout[shown.stdout.index('{\n  "mcpServers"') :]
    entry, _ = json.JSONDecoder().raw_decode(text)
    server = entry["mcpServers"]["remit"]
    assert server["url"].endswith("/mcp")
    assert server["headers"]["Authorization"].startswith("Bearer rmt_")


async def test_it_serves_until_it_is_told_to_end(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "remit", "demo", "--port", "0"],
        cwd=REPOSITORY,
        env=environment({"TMPDIR": str(tmp_path), "COLUMNS": "200"}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    output = b""
    while b"until Ctrl-C" not in output:
        line = process.stdout.readline()
        assert line, output.decode()
        output += line
    children = descendants(process.pid)

    process.send_signal(signal.SIGINT)

    assert process.wait(20) == 0
    process.stdout.close()
    await eventually(lambda: not any(child.is_alive for child in children))
    assert children
    assert list(tmp_path.iterdir()) == []
