"""What every test shares."""

import gc
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from remit.testing.services import Postgres, open_postgres, postgres_programs

IN_CI = os.environ.get("CI") == "true"

BOUND = "REMIT_TESTS_ARE_BOUND_BY_MODES"
"""Set where a test already runs without the rights by which root reads and writes anything."""

# A busy machine is no reason to fail; in CI the examples are the same each time.
settings.register_profile(
    "default",
    deadline=None,
    derandomize=IN_CI,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("full", settings.get_profile("default"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def loggers() -> Generator[None]:
    """Undo what a command that ran in this process set up for its own."""
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def shared() -> Path:
    """Give the folder of handed cases and configurations, or skip where it is absent."""
    folder = Path(os.environ.get("REMIT_SHARED", Path(__file__).parents[2] / "shared"))
    if not folder.is_dir():
        pytest.skip("the folder of handed cases is absent: set REMIT_SHARED to it")
    return folder


@pytest.fixture(scope="session")
def postgres() -> Generator[Postgres]:
    """Run a PostgreSQL server for the session; a test that stops it runs its own."""
    programs = postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed under /usr/lib/postgresql")
    with open_postgres(programs) as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Postgres) -> Generator[str]:
    """Make a database for one test."""
    with postgres.database() as url:
        yield url


def pytest_collection_finish() -> None:
    """Leave what all tests are out of every later search for garbage, which took 0.8 s for it."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is marked `bound_by_modes` where the modes of files bind even root."""
    if pyfuncitem.get_closest_marker("bound_by_modes") is None or os.geteuid() != 0:
        return None
    if BOUND in os.environ:
        return None
    done = subprocess.run(
        [
            *("setpriv", "--bounding-set=-dac_override,-dac_read_search"),
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", pyfuncitem.nodeid),
        ],
        env={**os.environ, BOUND: "1"},
        cwd=pyfuncitem.config.rootpath,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure in CI: there, everything that a test needs is to be had."""
    report = yield
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"skipped, which is a failure in CI: {reason}"
    return report
