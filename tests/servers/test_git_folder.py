"""Relative paths in `args` of a builtin server begin where the declaration is."""

import subprocess
from pathlib import Path

import pytest

from remit.app.bundled import builtins_in
from remit.servers.git.server import open_server


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
