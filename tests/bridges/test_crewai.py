"""`remit.bridges.crewai` in CrewAI's own agent loop, over a running gateway."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.bridges.harness import (
    INSTALLATION,
    PROGRAMS,
    READERS,
    WRITERS,
    assert_day,
    open_office,
    run_page,
    run_program,
)
from tests.bridges.published import Schema, published_tools
from tests.bridges.strict_model import as_strict, in_strict_mode
from tests.docs.scratch import Scratch

from remit.bridges.strict_schema import StrictSchema

PROGRAM = os.fspath(PROGRAMS / "crewai_agent.py")

pytestmark = pytest.mark.timeout(INSTALLATION)


@pytest.fixture(scope="module")
def told(crewai_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    with open_office(tmp_path_factory.mktemp("office")) as office:
        value = office.run(crewai_python, "crewai_agent").value
        return value | {"cancelled": office.cancelled(), "ran": office.ran()}


def test_an_agent_goes_through_its_day(told: Any) -> None:  # issue 7: 2, 3
    assert_day(told["remote"], unlisted="Tool not found")
    assert "secret" not in str(told["ran"])


def test_a_run_that_is_followed_sees_a_change_between_two_requests(told: Any) -> None:
    demoted = [name for name in READERS if name != "desk__read"]
    turns = [READERS, WRITERS, WRITERS, demoted]  # issue 7: 3

    for kind, run in zip(("kickoff", "crew"), told["remote"]["within a run"], strict=True):
        offered = [sorted(name.replace("_", "__") for name in names) for names in run["offered"]]
        assert offered == turns
        assert run["heard"] == [f'read {{"of": "a {kind}"}}', "write {}", "steps {}"]
    assert "cannot reach http://127.0.0.1:9" in told["broken"]["followed"]


def test_no_answer_is_kept_so_that_each_call_is_checked_and_recorded(told: Any) -> None:
    assert told["remote"]["twice"] == ['read {"of": "crew"}'] * 2
    assert told["ran"].count(("read", {"of": "crew"})) == 2


def test_a_toolset_that_is_closed_ends_its_calls_and_begins_anew(told: Any) -> None:
    [read] = told["remote"]["cut short"]
    assert "closed while it was in use" in read
    assert told["cancelled"] == 2
    assert [name.replace("_", "__") for name in told["remote"]["again"]] == READERS


def test_a_broken_set_up_says_what_to_do(told: Any) -> None:
    assert "does not take the key" in told["broken"]["remote"]
    assert "cannot reach http://127.0.0.1:9" in told["broken"]["away"]
    assert "use Toolset.remote" in told["broken"]["local"]


def test_every_published_schema_is_shown_without_loss_and_can_be_called(
    crewai_python: Path, tmp_path: Path, shared: Path
) -> None:  # issue 7: 4
    tools = published_tools(shared, tmp_path)
    shown = {name: as_shown(schema) for name, schema in tools.schemas.items()}
    strict = {name: as_strict(shown[name], tools.arguments[name]) for name in shown}
    allow = {"allow": [f"{name}/*" for name in tools.servers]}
    document = {"mcp_servers": tools.servers, "roles": {"reader": allow}}
    given = tmp_path / "given.json"
    with open_office(tmp_path, document) as office:
        keys = {"reader": office.gateway.key("reader")}
        given.write_text(
            json.dumps({"url": office.gateway.base, "keys": keys, "arguments": strict})
        )
        environ = {"GIVEN_FILE": os.fspath(given)}
        told = run_program(crewai_python, [PROGRAM], tmp_path, environ).value

    kept = ["awkward__kept_by_frameworks"]
    tools.assert_usable(told, tmp_path, as_shown=as_shown, may_leave_out=kept)


def as_shown(schema: Schema) -> Any:
    """Return what CrewAI shows the model of a schema that the bridge gives it."""
    shown = in_strict_mode(StrictSchema(schema).shown())
    return {key: value for key, value in shown.items() if key not in {"title", "description"}}


def test_every_snippet_of_its_page_runs(crewai_python: Path, scratch: Scratch) -> None:
    run_page("bridge-crewai", crewai_python, scratch)
