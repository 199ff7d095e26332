"""`remit.bridges.agno` in Agno's own agent loop."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.bridges.harness import (
    INSTALLATION,
    LONGEST,
    READERS,
    REPOSITORY,
    WAYS,
    WRITERS,
    assert_day,
    open_office,
    run_page,
    run_published,
)
from tests.bridges.published import published_tools
from tests.docs.scratch import Scratch

from remit.testing.gateway import environment
from remit.testing.squad import git

pytestmark = pytest.mark.timeout(INSTALLATION)


@pytest.fixture(scope="module")
def told(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    with open_office(tmp_path_factory.mktemp("office")) as office:
        value = office.run(python, "agno_agent").value
        return value | {"cancelled": office.cancelled(), "ran": office.ran()}


def test_an_agent_works_with_what_its_principal_may_do(told: Any) -> None:
    assert_day(told["remote"], unlisted="does not exist")
    assert_day(told["local"], unlisted="does not exist")
    assert told["cancelled"] == 2
    assert told["without await"] == {way: [['read {"of": "sync"}', False]] for way in WAYS}
    assert told["left out"] == {"odd": "Agno keeps the arguments _agno_agent for itself"}
    # A run with a broken set-up fails, and never goes on without tools.
    assert {status for status, _ in told["broken"].values()} == {"ERROR"}
    assert "does not take the key" in told["broken"]["remote"][1]
    assert "cannot reach http://127.0.0.1:9" in told["broken"]["away"][1]
    assert "no role 'nobody' is declared" in told["broken"]["local"][1]
    # What a call meets is to Agno a failure of that call.
    assert told["broken later"] == ["COMPLETED", True, "the gateway has gone"]
    assert "secret" not in str(told["ran"])


@pytest.mark.parametrize("how", ["arun", "arun streamed", "run", "run streamed"])
def test_a_model_that_follows_sees_a_change_within_the_run(told: Any, how: str) -> None:
    told = told["within a run"][how]  # issue 7: 3

    own = ["nothing_of_remits"]
    demoted = [name for name in READERS if name != "desk__read"]
    turns = [READERS, WRITERS, WRITERS, demoted, demoted]
    assert told["offered"] == [names + own for names in turns]
    read, write, taken, unknown = told["heard"]
    assert read == [f'read {{"of": "{how}"}}', False]
    assert write == ['write {"of": "true"}', False]  # as it was written
    assert "desk__read was not called" in taken[0]
    assert "does not exist" in unknown[0]
    assert told["hooked"] == ["desk__read", "desk__write", "desk__read"]


def test_pictures_and_sounds_reach_the_model_as_such(told: Any) -> None:
    attached = [["image/png", "89504e470d0a1a0a"], ["audio/mpeg", "mp3", "4944330400"]]

    for way in WAYS:
        assert told["looked"][way] == ["a shelf\n[image]\n[audio]", "user", *attached]


def test_every_published_schema_becomes_a_tool(python: Path, tmp_path: Path, shared: Path) -> None:
    tools = published_tools(shared, tmp_path)

    tools.assert_usable(run_published(python, "agno_agent", tools, tmp_path), tmp_path)


@pytest.mark.usefixtures("python")
def test_a_squad_of_agents_has_each_the_tools_of_its_role(tmp_path: Path) -> None:
    example = REPOSITORY / "scripts" / "example"  # S0.25

    worked = subprocess.run(
        [example, "agno-squad", tmp_path],
        capture_output=True, text=True, timeout=LONGEST, check=False, env=environment(),
    )  # fmt: skip

    assert worked.returncode == 0, worked.stdout + worked.stderr
    work, _, record = worked.stdout.partition("the record")
    lines = [line.split()[:3] for line in work.splitlines() if "git__" in line]
    assert [line for line in lines if line[0] != "ERROR"] == [
        ["backend_developer", "git__git_checkout", "ok"],
        ["backend_developer", "git__git_commit", "ok"],
        ["backend_developer", "git__git_merge", "refused"],
        ["designer", "git__git_log", "ok"],
        ["designer", "git__git_commit", "refused"],
        ["tech_lead", "git__git_diff", "ok"],
        ["tech_lead", "git__git_checkout", "ok"],
        ["tech_lead", "git__git_merge", "ok"],
        ["tech_lead", "git__git_commit", "refused"],
    ]
    assert record.count(" allow ") == 6
    assert git(tmp_path, "ls-tree", "--name-only", "main").split() == ["health.py"]


def test_its_page_does_what_it_says(python: Path, scratch: Scratch) -> None:
    run_page("bridge-agno", python, scratch)
