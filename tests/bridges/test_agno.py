"""`remit.bridges.agno` in Agno's own agent loop."""

from pathlib import Path

import pytest
from tests.bridges.harness import INSTALLATION, WAYS, Office, assert_day, run_page, run_published
from tests.bridges.published import published_tools
from tests.docs.scratch import Scratch

pytestmark = pytest.mark.timeout(INSTALLATION)


def test_an_agent_works_with_what_its_principal_may_do(python: Path, office: Office) -> None:
    told = office.run(python, "agno_agent").value

    assert_day(told["remote"], unlisted="does not exist")
    assert_day(told["local"], unlisted="does not exist")
    assert office.cancelled() == 2
    assert told["without await"] == {way: [['read {"of": "sync"}', False]] for way in WAYS}
    # A run with a broken set-up fails, and never goes on without tools.
    assert {status for status, _ in told["broken"].values()} == {"ERROR"}
    assert "does not take the key" in told["broken"]["remote"][1]
    assert "cannot reach http://127.0.0.1:9" in told["broken"]["away"][1]
    assert "no role 'nobody' is declared" in told["broken"]["local"][1]
    assert "secret" not in str(office.ran())


def test_every_published_schema_becomes_a_tool(python: Path, tmp_path: Path, shared: Path) -> None:
    tools = published_tools(shared, tmp_path)

    tools.assert_usable(run_published(python, "agno_agent", tools, tmp_path), tmp_path)


def test_its_page_does_what_it_says(python: Path, scratch: Scratch) -> None:
    run_page("bridge-agno", python, scratch)
