"""The git server in the gateway: where relative paths begin, and what its entry gives it."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.servers.checkouts import Checkout

from remit.app.bundled import builtins_in
from remit.servers.git.server import open_server
from remit.testing.gateway import run_remit


async def test_a_repository_is_found_beside_the_declaration_wherever_remit_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    subprocess.run(["git", "init", "-q", str(tmp_path / "there" / "orders")], check=True)
    monkeypatch.chdir(tmp_path / "here")
    args = ["--repository", "orders"]

    result = await builtins_in(tmp_path / "there")["git"](args, {}).call_tool("git_status", {})

    assert not result["isError"]
    with pytest.raises(ValueError, match="is not a directory"):
        open_server(args, {}, Path())


def test_as_a_part_of_the_gateway_it_has_the_variables_of_its_entry(
    project: Checkout, tmp_path: Path
) -> None:
    secret = "ghp_secretOfTheGateway"
    identity = {f"GIT_{who}_NAME": "Ada's agent" for who in ("AUTHOR", "COMMITTER")}
    identity |= {f"GIT_{who}_EMAIL": "agent@example.test" for who in ("AUTHOR", "COMMITTER")}
    entry = {
        "builtin": "git",
        "args": ["--repository", "project"],
        "env": {**identity, "GIT_CREDENTIALS": "https://ada:${TOKEN_OF_ADA}@forge.example.test"},
    }
    document = {
        "version": "1.0",
        "mcp_servers": {"git": entry},
        "roles": {"developer": {"allow": ["git/*"]}},
    }
    (tmp_path / "remit.yaml").write_text(json.dumps(document))
    nobody = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "TOKEN_OF_ADA": secret}
    project.hook("pre-commit", "env > .git/hook.log")
    project.write("new.txt", f"{secret}\n")
    call = ("call", "--as", "role:developer", "git/git_commit", "--args")

    ended = run_remit(*call, '{"message": "m", "all": true}', folder=tmp_path, environ=nobody)

    assert ended.returncode == 0, ended.stderr
    assert project.git("log", "-1", "--format=%an <%ae>") == "Ada's agent <agent@example.test>\n"
    assert secret not in (project.path / ".git" / "hook.log").read_text()
    kept = [path.read_bytes() for path in (tmp_path / ".remit").rglob("*") if path.is_file()]
    assert kept
    assert not any(secret.encode() in content for content in kept)
