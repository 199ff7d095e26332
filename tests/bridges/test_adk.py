"""`remit.bridges.adk` in the agent loop of Google's ADK."""

from pathlib import Path
from typing import Any

import pytest
from tests.bridges.harness import (
    INSTALLATION,
    READERS,
    WAYS,
    assert_day,
    open_office,
    run_page,
    run_published,
)
from tests.bridges.published import published_tools
from tests.docs.scratch import Scratch

pytestmark = pytest.mark.timeout(INSTALLATION)


@pytest.fixture(scope="module")
def told(adk_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    with open_office(tmp_path_factory.mktemp("office")) as office:
        value = office.run(adk_python, "adk_agent").value
        return value | {"cancelled": office.cancelled(), "ran": str(office.ran())}


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_goes_through_its_day(told: Any, way: str) -> None:  # issue 7: 2, 3
    assert_day(told[way])
    assert "secret" not in told["ran"]


@pytest.mark.parametrize("way", WAYS)
def test_a_change_is_seen_by_the_next_turn_of_the_same_run(told: Any, way: str) -> None:
    before, after = told[way]["same run"]

    assert sorted(before) == READERS
    assert set(before) - set(after) == {"desk__read"}
    demoted, heard = told[way]["added"]
    assert set(told[way]["promoted"]) - set(demoted) == {"desk__read", "desk__write"}
    assert heard == ["write {}", False]


@pytest.mark.parametrize("way", WAYS)
def test_filter_and_prefix_of_adk_hold(told: Any, way: str) -> None:
    assert told[way]["prefixed"] == [["my_desk__read"], [['read {"of": "prefixed"}', False]]]


def test_what_the_run_left_behind_is_cancelled_at_the_server(told: Any) -> None:
    assert told["cancelled"] == 2


def test_a_broken_set_up_ends_the_run_with_what_to_do(told: Any) -> None:
    assert "does not take the key" in told["broken"]["remote"]
    assert "cannot reach http://127.0.0.1:9" in told["broken"]["away"]
    assert "no role 'nobody' is declared" in told["broken"]["local"]


def test_every_published_schema_is_shown_unaltered_and_can_be_called(
    adk_python: Path, tmp_path: Path, shared: Path
) -> None:  # issue 7: 4
    tools = published_tools(shared, tmp_path)

    told = run_published(adk_python, "adk_agent", tools, tmp_path)

    tools.assert_usable(told, tmp_path, as_shown=dict)


def test_every_snippet_of_its_page_runs(adk_python: Path, scratch: Scratch) -> None:
    run_page("bridge-adk", adk_python, scratch)
