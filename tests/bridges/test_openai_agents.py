"""The OpenAI Agents SDK's own agent loop, over a running gateway and in its own process."""

from pathlib import Path
from typing import Any

import pytest
from tests.bridges.harness import (
    INSTALLATION,
    READERS,
    assert_day,
    open_office,
    run_page,
    run_published,
)
from tests.bridges.published import published_tools
from tests.docs.scratch import Scratch

pytestmark = pytest.mark.timeout(INSTALLATION)


@pytest.fixture(scope="module")
def told(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    with open_office(tmp_path_factory.mktemp("office")) as office:
        answer = office.run(python, "openai_agent")
        return answer.value | {"cancelled": office.cancelled(), "ran": office.ran()}


@pytest.mark.parametrize("way", ["remote", "local"])
def test_an_agent_goes_through_its_day(told: Any, way: str) -> None:  # S4.31, issue 7: 2, 3
    assert_day(told[way])


@pytest.mark.parametrize("way", ["remote", "local"])
def test_a_change_is_seen_within_the_run(told: Any, way: str) -> None:  # issue 7: 3
    before, after = told[way]["same run"]

    assert sorted(before) == READERS
    assert set(before) - set(after) == {"desk__read"}


def test_what_a_cancelled_run_left_behind_is_cancelled_at_the_server(told: Any) -> None:
    assert told["cancelled"] == 2
    assert "write" not in [name for name, _ in told["ran"]]


def test_it_runs_without_await(told: Any) -> None:
    expected = [['read {"of": "sync"}', False]]
    assert told["without await"] == {"remote": expected, "local": expected}


def test_a_broken_set_up_ends_the_run_with_what_to_do(told: Any) -> None:
    assert "remit keys create" in told["broken"]["remote"]
    assert "declared roles: reader, writer" in told["broken"]["local"]
    assert "127.0.0.1:9" in told["broken"]["away"]
    assert "rmt_wrong" not in str(told["broken"])


def test_every_published_schema_is_shown_whole_and_not_strict_and_can_be_called(
    python: Path, tmp_path: Path, shared: Path
) -> None:  # issue 7: 4
    tools = published_tools(shared, tmp_path)
    answer = run_published(python, "openai_schemas", tools, tmp_path)

    tools.assert_usable(answer, tmp_path)
    assert answer["strict"] == []


def test_every_snippet_of_its_page_runs(python: Path, scratch: Scratch) -> None:
    run_page("bridge-openai-agents", python, scratch)
