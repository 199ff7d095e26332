"""What the demo plays on: a scratch repository with a bare remote, and a declaration."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from remit.admin.default_roles import default_document

HISTORY = (
    ("README.md", "# Orders\n\nTakes orders, ships parcels.\n", "Describe the service"),
    ("orders.py", "def total(prices):\n    return sum(prices)\n", "Add up an order"),
    (
        "orders.py",
        "def total(prices, rebate=0):\n    return sum(prices) - rebate\n",
        "Take a rebate",
    ),
)
"""File, content and message of each commit."""

ASSISTANT = "assistant"
"""The demo's tenth role: it may ask the third-party servers, and only read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Where the demo plays."""

    folder: Path
    work: Path
    remote: Path
    config: Path


def make_scene(folder: Path) -> Scene:
    """Make repository, remote and `remit.yaml` in *folder*."""
    scene = Scene(
        folder=folder,
        work=folder / "orders",
        remote=folder / "orders.git",
        config=folder / "remit.yaml",
    )
    _git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(scene.remote))
    _git(folder, "clone", "--quiet", str(scene.remote), str(scene.work))
    _git(scene.work, "checkout", "--quiet", "-B", "main")
    _git(scene.work, "config", "user.name", "Demo")
    _git(scene.work, "config", "user.email", "demo@example.test")
    for file, content, message in HISTORY:
        (scene.work / file).write_text(content)
        _git(scene.work, "add", file)
        _git(scene.work, "commit", "--quiet", "--message", message)
    _git(scene.work, "push", "--quiet", "--set-upstream", "origin", "main")
    scene.config.write_text(json.dumps(_document(scene), indent=2))
    return scene


def remote_log(scene: Scene, branch: str) -> str:
    """Return the last commit of *branch* as the bare remote has it, one line."""
    shown = _git(scene.remote, "log", "-1", "--format=%h %an: %s", branch)
    return shown.strip()


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, timeout=30
    )
    return done.stdout


def _document(scene: Scene) -> dict[str, object]:
    document = default_document()
    roles = dict(document["roles"])
    roles[ASSISTANT] = {
        "description": "Answers questions with what it may read",
        "allow": ["time/*", "files/read_*", "files/list_*", "published_git/git_log"],
    }
    return {"version": "1.0", "mcp_servers": dict(_servers(scene)), "roles": roles}


def _servers(scene: Scene) -> Iterator[tuple[str, dict[str, object]]]:
    scripts = Path(sys.executable).parent
    yield "git", {"builtin": "git", "args": ["--repository", str(scene.work)]}
    yield (
        "published_git",
        {
            "command": str(scripts / "mcp-server-git"),
            "args": ["--repository", str(scene.work)],
            "description": "the published git server, a program of somebody else's",
        },
    )
    yield "time", {"command": str(scripts / "mcp-server-time"), "args": ["--local-timezone", "UTC"]}
    program = _filesystem_program()
    if program is not None:
        yield "files", {"command": str(program), "args": [str(scene.work)]}
    yield (
        "github",
        {
            "command": "uvx",
            "args": ["mcp-server-github"],
            "description": "as many guides say; nobody has claimed that package name",
        },
    )


def _filesystem_program() -> Path | None:
    """Return the filesystem server that `make setup` installs, where node is there."""
    if shutil.which("node") is None:
        return None
    inside = Path(".tools/node_modules/.bin/mcp-server-filesystem").absolute()
    beside = Path(sys.prefix).parent / ".tools/node_modules/.bin/mcp-server-filesystem"
    return next((path for path in (inside, beside) if path.exists()), None)
