"""Peers at pinned versions, each in an environment of its own under `.bench`, made once."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.kit import CACHE, REPOSITORY
from bench.processes import BenchError
from bench.targets import LEGACY, Target, peer

INSTALL_LIMIT = 600.0
"""Seconds for one of them."""

NPM_PACKAGES = ("mcp-proxy@6.7.19", "supergateway@4.0.0")
"""Installed together: npm keeps one folder in order, and the kit looks in one."""


def install(name: str, requirement: str) -> Path:
    """Install something into an environment of its own, unless that was done; return its folder.

    Raises:
        BenchError: It does not install; the text says why.
    """
    folder = CACHE / "venvs" / name
    mark = folder / "requirement"
    wanted = f"{requirement}\nPython {sys.version} in {sys.base_prefix}"
    if mark.exists() and mark.read_text() == wanted:
        return folder
    print(f"installing {requirement} (once)", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(folder)])
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    # The kit's scripts, which it runs in this environment, import the latter two.
    _run([*pip, *requirement.split(), "uvloop", "orjson"])
    mark.write_text(wanted)
    return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A program of others.

    Attributes:
        kit_name: The kit's target that starts it; empty for one that we start ourselves.
        requirement: For pip, with what it needs and does not say; empty for what comes by npm.
        slow: Measured only when every peer is asked for.
    """

    name: str
    kit_name: str
    version: str
    note: str
    requirement: str = ""
    slow: bool = False

    def prepare(self) -> Target:
        """Install it, unless that was done, and return it as a target.

        Raises:
            BenchError: It does not install; the text says why.
        """
        if self.requirement:
            install(self.name, self.requirement)
        else:
            _npm()
        if not self.kit_name:
            return self._own()
        python = str(CACHE / "venvs" / self.name / "bin" / "python") if self.requirement else ""
        return peer(self.name, self.kit_name, version=self.version, note=self.note, python=python)

    def _own(self) -> Target:
        port = "9190"
        return Target(
            name=self.name, command=(sys.executable, "-m", f"bench.{self.name}", port),
            url=f"http://127.0.0.1:{port}/mcp", tool="up-echo", era=LEGACY, cwd=REPOSITORY,
            version=self.version, note=self.note,
        )  # fmt: skip


PEERS: Sequence[Peer] = (
    Peer(
        name="fastmcp", kit_name="fastmcp-proxy", version="4.2.3", requirement="fastmcp==4.2.3",
        note="`create_proxy`, as documented",
    ),
    Peer(
        name="mcp-proxy", kit_name="mcp-proxy-npm-stdio", version="6.7.19",
        note="npm; a bridge before a stdio child",
    ),
    Peer(
        name="supergateway", kit_name="supergateway-stdio", version="4.0.0",
        note="npm; a bridge before a stdio child, stateful",
    ),
    Peer(
        name="mcpo", kit_name="mcpo-rest", version="0.0.20",
        requirement="mcpo==0.0.20 mcp<2 fastapi<0.130",
        note="MCP as REST, which is what its callers speak",
    ),
    Peer(
        name="litellm", kit_name="litellm-mcp", version="1.106.12",
        requirement="litellm[proxy]==1.106.12", slow=True, note="its MCP gateway, one key",
    ),
    Peer(
        name="contextforge", kit_name="", version="1.0.7",
        requirement="mcp-contextforge-gateway==1.0.7.post20260921", slow=True,
        note="SQLite, authentication off",
    ),
)  # fmt: skip


def _npm() -> None:
    folder = CACHE / "npm"
    mark = folder / "requirement"
    wanted = "\n".join(NPM_PACKAGES)
    if mark.exists() and mark.read_text() == wanted:
        return
    if shutil.which("npm") is None:
        raise BenchError("npm is not installed")
    print(f"installing {' '.join(NPM_PACKAGES)} (once)", file=sys.stderr)
    quiet = ("--silent", "--no-audit", "--no-fund", "--no-save")
    _run(["npm", "install", *quiet, "--prefix", str(folder), *NPM_PACKAGES])
    mark.write_text(wanted)


def _run(command: Sequence[str]) -> None:
    CACHE.mkdir(exist_ok=True)
    try:
        done = subprocess.run(
            command, cwd=CACHE, capture_output=True, text=True, timeout=INSTALL_LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        raise BenchError(f"not installed within {INSTALL_LIMIT:.0f} s") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise BenchError(f"does not install: {said[-1] if said else done.returncode}")
