"""A Jira Data Center to test with: the published fake `jira820`, as a process of its own."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

START: Final = 60.0
"""Seconds it has to answer; generous, since CI is slow."""

_URL: Final = re.compile(r"Uvicorn running on (http://[0-9.]+:\d+)")
_PASSED_ON: Final = ("PATH", "HOME", "LANG", "VIRTUAL_ENV", "PYTHONPATH")


def is_jira_here() -> bool:
    """Whether the fake is installed."""
    return find_spec("jira820") is not None


@contextmanager
def open_jira(
    folder: Path, project: str = "SHOP", settings: Mapping[str, object] | None = None
) -> Generator[str]:
    """Give the address of a Jira of its own, with tickets, boards and sprints; stop it afterwards.

    It takes every token, and whoever writes is `admin`. Users are `u01`, `u02` and so on; the
    scrum board has closed, active and future sprints.

    Args:
        folder: Where it keeps its settings and its log.
        project: Key of its one project.
        settings: Of jira820, such as `transition_scheme`.

    Raises:
        RuntimeError: It did not start.
    """
    configuration, log = folder / "jira820.yaml", folder / "jira820.log"
    # JSON is YAML. A small world, so that it is there at once.
    small = {"epics_per_module": 1, "children_per_epic": [2, 3], "standalone_per_module": 2}
    configuration.write_text(json.dumps({**small, "history_per_module": 1, **(settings or {})}))
    environ = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environ |= {
        "JIRA820_CONFIG": str(configuration),
        "JIRA820_HOST": "127.0.0.1",
        "JIRA820_PORT": "0",
        "JIRA820_PROJECT_KEY": project,
    }
    with log.open("wb") as written:
        process = subprocess.Popen(
            [sys.executable, "-m", "jira820"],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
        )
    try:
        yield _address(process, log)
    finally:
        process.kill()
        process.wait(START)


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    pause, until = threading.Event(), time.monotonic() + START
    while process.poll() is None and time.monotonic() < until:
        found = _URL.search(log.read_text(errors="replace"))
        if found:
            return found.group(1)
        pause.wait(0.05)
    raise RuntimeError(f"jira820 did not start: {log.read_text(errors='replace')[-2000:]}")
