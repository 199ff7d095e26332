"""Real repositories for the tests of the git server, and calls on it."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import jsonschema_rs

from remit.servers.git.server import GitServer


@dataclass(frozen=True, slots=True)
class Checkout:
    """A git working tree, worked on with the real command."""

    path: Path

    @classmethod
    def begin(cls, path: Path) -> "Checkout":
        """Make a repository of its own at *path*, with one commit."""
        path.mkdir(parents=True)
        made = cls(path)
        made.git("init", "--quiet")
        made.commit("inner.txt", path.name)
        return made

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            check=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
        )
        return done.stdout

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def commit(self, name: str, text: str, message: str = "") -> str:
        self.write(name, text)
        self.git("add", "--", name)
        self.git("commit", "--quiet", "--message", message or f"Write {name}")
        return self.head()

    def head(self) -> str:
        return self.git("rev-parse", "HEAD").strip()

    def hook(self, name: str, script: str) -> None:
        hooks = Path(self.git("rev-parse", "--path-format=absolute", "--git-path", "hooks").strip())
        hooks.mkdir(exist_ok=True)
        hook = hooks / name
        hook.write_text(f"#!/bin/sh\n{script}\n")
        hook.chmod(0o755)

    def state(self) -> tuple[object, ...]:
        """Everything a failed call must leave alone: HEAD, branches, status, index, files."""
        files = {
            str(file.relative_to(self.path)): file.read_bytes()
            for file in self.path.rglob("*")
            if file.is_file() and ".git" not in file.parts
        }
        private = Path(self.git("rev-parse", "--absolute-git-dir").strip())
        unfinished = {
            name
            for name in ("MERGE_HEAD", "SQUASH_MSG", "MERGE_MSG", "rebase-merge", "index.lock")
            if (private / name).exists()
        }
        return (
            self.git("rev-parse", "--symbolic-full-name", "HEAD"),
            self.git("for-each-ref", "refs/heads"),
            self.git("status", "--porcelain=v2", "-z"),
            self.git("ls-files", "--stage", "-z"),
            files,
            unfinished,
        )


async def done(server: GitServer, tool: str, **arguments: object) -> dict[str, Any]:
    """Call a tool that must succeed; its result must fit its own output schema."""
    result = await server.call_tool(tool, arguments)
    assert result["isError"] is False, result
    structured = cast("dict[str, Any]", result["structuredContent"])
    schema = next(known["outputSchema"] for known in server.tools() if known["name"] == tool)
    jsonschema_rs.validate(cast("dict[str, Any]", schema), structured)
    assert json.loads(text_of(result)) == structured
    return structured


async def refused(server: GitServer, tool: str, **arguments: object) -> str:
    """Call a tool that must fail and return what it says."""
    result = await server.call_tool(tool, arguments)
    assert result["isError"] is True, result
    assert "structuredContent" not in result
    return text_of(result)


def text_of(result: Mapping[str, object]) -> str:
    content = cast("list[dict[str, str]]", result["content"])
    assert [block["type"] for block in content] == ["text"]
    return content[0]["text"]
