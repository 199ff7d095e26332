"""A quick `remit`, and a folder a page."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs import nursery
from tests.docs.scratch import LONGEST, Scratch


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give a folder with a `remit` that need not be imported each time."""
    folder = tmp_path_factory.mktemp("bin")
    address = str(folder / "nursery")
    with subprocess.Popen(
        [sys.executable, nursery.__file__, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        nursery.write_script(folder, address)
        yield folder
        process.stdin.close()
        process.wait(timeout=LONGEST)


@pytest.fixture
def scratch(tmp_path: Path, commands: Path) -> Iterator[Scratch]:
    """Give a folder to run a page's blocks in."""
    made = Scratch(tmp_path, commands)
    yield made
    made.stop()
