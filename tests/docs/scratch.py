"""A folder in which the blocks of one page are run, as a reader would at a shell."""

import os
import re
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from remit.testing.gateway import free_port

LONGEST = 30.0
"""Seconds that a command of a document may take."""

_LONG_RUNNING = re.compile(
    r"remit (?:serve|stdio)\b|remit demo(?!.*--once)|remit audit tail.* (?:-f\b|--follow)"
)
_SERVE = re.compile(r"\bremit serve(?!.*--port)")
_SERVES = re.compile(rb"remit serves .*\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a command printed, both streams as they came, and its exit status."""

    text: str
    status: int


class Scratch:
    """Runs commands one after the other; folder, exported variables and `$?` carry over.

    The port and the folder of the documents stand for those of this run.

    Args:
        folder: Empty.
        commands: Where the quick `remit` is.

    Attributes:
        python: What runs a page's programs.
    """

    def __init__(self, folder: Path, commands: Path) -> None:
        self._folder = folder / "page"
        self._folder.mkdir()
        (folder / "home").mkdir()
        self._state = folder / "state.sh"
        self._state.write_text(f"cd {self._folder}\n")
        self._environment = _environment(folder / "home", commands)
        self._status = 0
        self.python = Path(sys.executable)
        self._running: list[subprocess.Popen[bytes]] = []
        self._meanings = {
            "127.0.0.1:8400": f"127.0.0.1:{free_port()}",
            "/path/to/": f"{self._folder}/",
        }

    @property
    def cwd(self) -> Path:
        """The folder that the last command left us in."""
        return Path(self.value("PWD"))

    @property
    def environment(self) -> Mapping[str, str]:
        """What a reader with git and remit on the path would have."""
        return self._environment

    def value(self, variable: str) -> str:
        """Return an exported variable."""
        asked = f'. {self._state}; printf %s "${variable}"'
        return subprocess.run(
            ["bash", "-c", asked], capture_output=True, text=True, check=True, timeout=LONGEST
        ).stdout

    def here(self, text: str) -> str:
        """Return *text* of a document in the words of this run."""
        for documented, real in self._meanings.items():
            text = text.replace(documented, real)
        port = self._meanings["127.0.0.1:8400"].partition(":")[2]
        return _SERVE.sub(f"remit serve --port {port}", text)

    def run(self, command: str) -> Output:
        """Run a line of shell to its end."""
        script = (
            f". {self._state}\n(exit {self._status})\n{self.here(command)}\nstatus=$?\n"
            f'{{ export -p; printf "cd %q\\n" "$PWD"; }} >{self._state}\nexit $status\n'
        )
        done = subprocess.run(
            ["bash", "-c", script],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        self._status = done.returncode
        return Output(text=self._as_documented(done.stdout), status=done.returncode)

    def start(self, command: str) -> str:
        """Start a command that goes on until it is stopped; return what a gateway says first."""
        process = subprocess.Popen(
            ["bash", "-c", f". {self._state}; exec {self.here(command)}"],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._running.append(process)
        self._status = 0
        if "remit serve" not in command:
            return ""
        printed = first_words(process)
        assert _SERVES.search(printed.encode()), printed
        return self._as_documented(printed)

    def stop(self) -> None:
        """End what was started."""
        for process in self._running:
            process.terminate()
        for process in self._running:
            process.communicate(timeout=LONGEST)

    def _as_documented(self, text: str) -> str:
        for documented, real in self._meanings.items():
            text = text.replace(real, documented)
        return text


def is_long_running(command: str) -> bool:
    """Whether a command goes on until it is stopped."""
    return _LONG_RUNNING.search(command) is not None


def _environment(home: Path, commands: Path) -> dict[str, str]:
    places = (commands, Path(sys.executable).parent, os.environ["PATH"])
    person = {"NAME": "Ada", "EMAIL": "ada@example.test"}
    return {
        "PATH": ":".join(map(str, places)),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "init.defaultBranch",
        "GIT_CONFIG_VALUE_0": "main",
        **{f"GIT_AUTHOR_{key}": value for key, value in person.items()},
        **{f"GIT_COMMITTER_{key}": value for key, value in person.items()},
    }


def first_words(process: subprocess.Popen[bytes]) -> str:
    """Return what *process* prints until it serves, ends, or has had enough time."""
    assert process.stdout is not None
    printed = b""
    deadline = time.monotonic() + LONGEST
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ)
        while not _SERVES.search(printed) and ready.select(deadline - time.monotonic()):
            chunk = os.read(process.stdout.fileno(), 4096)
            if not chunk:
                break
            printed += chunk
    return printed.decode()
