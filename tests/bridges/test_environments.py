"""The environments of the frameworks: what they hold, and what pins them."""

import re
from pathlib import Path

import pytest
from tests.bridges.harness import INSTALLATION, REPOSITORY, run_program

pytestmark = pytest.mark.timeout(INSTALLATION)

LOCKS = sorted((REPOSITORY / "locks").glob("*.lock"))
_PIN = re.compile(r"^([A-Za-z0-9_.-]+)==([^ ;]+)", re.MULTILINE)
_VERSIONS = """
import json
from importlib.metadata import distributions

found = {one.name.lower().replace("_", "-"): one.version for one in distributions()}
print(json.dumps(found))
"""


def pins(path: Path) -> dict[str, str]:
    return dict(_PIN.findall(path.read_text()))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_a_lock_pins_everything_by_hash_and_names_no_place(lock: Path) -> None:
    text = lock.read_text()

    assert "://" not in text
    assert all("--hash=sha256:" in part for part in re.split(r"\n(?=[A-Za-z0-9])", text))


def test_frameworks_run_beside_the_packages_that_remit_is_tested_with(
    python: Path, tmp_path: Path
) -> None:
    own = pins(REPOSITORY / "requirements.lock")

    versions = run_program(python, ["-c", _VERSIONS], tmp_path, {}).value

    assert {"agno", "deepagents", "langchain", "openai-agents", "remit"} <= versions.keys()
    assert {"claude-agent-sdk", "pydantic-ai-slim"} <= versions.keys()
    assert {
        name for name, version in versions.items() if own.get(name, version) != version
    } == set()


def test_adk_runs_beside_all_of_remit_but_for_the_telemetry_it_caps(
    adk_python: Path, tmp_path: Path
) -> None:
    own = pins(REPOSITORY / "requirements.lock")

    versions = run_program(adk_python, ["-c", _VERSIONS], tmp_path, {}).value

    differing = {name for name, version in versions.items() if own.get(name, version) != version}
    assert {"google-adk", "remit"} <= versions.keys()
    assert {name for name in differing if not name.startswith("opentelemetry")} == set()


def test_crewai_runs_with_no_more_of_remit_than_talks_to_a_gateway(
    crewai_python: Path, tmp_path: Path
) -> None:
    versions = run_program(crewai_python, ["-c", _VERSIONS], tmp_path, {}).value

    assert {"crewai", "remit", "httpx2", "msgspec", "anyio", "structlog"} <= versions.keys()
    assert {"fastapi", "sqlalchemy", "joserfc"}.isdisjoint(versions)
    assert versions["mcp"].startswith("1.")
