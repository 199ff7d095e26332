"""The machine of docs/deployment.md: a folder of a test's own in the place of `/`."""

import configparser
import os
import re
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.docs.blocks import REPOSITORY, Block, blocks_of
from tests.docs.scratch import first_words

from remit.testing.gateway import free_port

PAGE = REPOSITORY / "docs" / "deployment.md"
BLOCKS = blocks_of(PAGE)

LONGEST = 120.0
"""Seconds that a command may take; generous, since pip is slow on a busy machine."""

_PLACES = re.compile(r"(?<![\w./-])/(?=(?:opt|etc|var/lib)/(?:remit|nginx)\b)")
_AS_USER = re.compile(r"runuser -u remit -- ")
_OWNER = re.compile(r"-o (?:remit|10001) (?:-g remit )?")


def block(beginning: str) -> Block:
    """Return the block of the page that begins so."""
    (found,) = [one for one in BLOCKS if one.text.startswith(beginning)]
    return found


class Server:
    """Runs what the page says, in this folder and on a free port, as whoever runs the tests.

    What the tests cannot have is left out: the user `remit`, and systemctl and docker.

    Args:
        folder: Empty.

    Attributes:
        root: That folder.
        port: Stands for 8400.
        key: A caller's, as the page's commands made it.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder
        self.port = free_port()
        self.key = ""
        for place in ("opt", "etc", "var/lib"):
            (folder / place).mkdir(parents=True)

    @property
    def state(self) -> Path:
        """Where the declaration is."""
        return self.root / "var/lib/remit"

    def here(self, text: str) -> str:
        """Return *text* of the page in the words of this machine."""
        text = _OWNER.sub("", _AS_USER.sub("", text))
        return _PLACES.sub(f"{self.root}/", text).replace("8400", str(self.port))

    def write(self, block: Block) -> Path:
        """Write the file that the block's first line names."""
        path = Path(self.here(block.file or ""))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.here(block.text))
        return path

    def run(self, script: str, cwd: Path = REPOSITORY) -> str:
        """Run *script* to its end; every line of it has to succeed."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", self.here(script)],
            cwd=cwd,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}"
        return done.stdout

    def runs(
        self, command: Sequence[str], environ: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run *command* beside the declaration, with these variables alone."""
        return subprocess.run(
            [self.here(word) for word in command],
            cwd=self.state,
            env=environ,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )

    def environment(self) -> dict[str, str]:
        """Return what a machine has before anything is installed, and no network for pip."""
        python = Path(os.path.realpath(sys.executable)).parent
        return {
            "HOME": str(self.root),
            "PATH": f"{python}:/usr/bin:/bin:/usr/sbin",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_INDEX": "1",
        }

    def add_user(self, command: str) -> None:
        """Add a user to the files of this folder, as only root can."""
        if os.geteuid() != 0:
            return
        for name in ("passwd", "group", "shadow", "gshadow"):
            (self.root / "etc" / name).touch()
        self.run(command.replace("useradd ", f"useradd --prefix {self.root} "))
        for name in ("passwd", "group"):
            assert (self.root / "etc" / name).read_text().startswith("remit:")

    @contextmanager
    def serving(
        self, command: Sequence[str], environ: Mapping[str, str]
    ) -> Generator[subprocess.Popen[bytes]]:
        """Run a gateway beside the declaration; it is told to stop at the end, and does."""
        process = subprocess.Popen(
            command,
            cwd=self.state,
            env=environ,
            umask=0o077,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            printed = first_words(process)
            assert f":{self.port}/mcp" in printed, printed
            yield process
        finally:
            process.terminate()
            written, _ = process.communicate(timeout=LONGEST)
        assert process.returncode == 0, written.decode()

    def bring_packages(self) -> None:
        """Put the packages of this environment into that of the server, but for remit itself.

        `requirements-dev.lock` has them in the versions of `requirements.lock`, so that pip finds
        what it is told to install, and needs no network.
        """
        ours, theirs = Path(sys.prefix), self.root / "opt/remit"
        library = f"lib/python3.{sys.version_info.minor}/site-packages"
        for folder in ("bin", library):
            for path in (ours / folder).iterdir():
                there = theirs / folder / path.name
                if not (there.exists() or path.name.startswith("remit")):
                    there.symlink_to(path)


def key_in(printed: str) -> str:
    """Return the key that a command printed."""
    (key,) = re.findall(r"(?m)^rmt_\S+$", printed)
    return key


def unit() -> Mapping[str, str]:
    """Return the directives of the unit's service."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # pyright: ignore[reportAttributeAccessIssue] - as the manual has it
    parser.read_string(block("# /etc/systemd/system/remit.service").text)
    return parser["Service"]
