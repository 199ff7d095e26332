"""The repository holds what it should, and nothing that it must not."""

import re
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, check=True, capture_output=True, text=True
    ).stdout
    return [REPOSITORY / name for name in listed.split("\0") if name]


def test_no_commit_names_a_registry_host_or_a_path_of_this_machine() -> None:
    if not (REPOSITORY / ".git").exists():
        pytest.skip("not a git checkout")
    names = (
        "pypi" + r"\.org",
        "pythonhosted" + r"\.org",
        "registry" + r"\.npmjs",
        "deb" + r"\.debian",
    )
    hosts = "|".join(names)
    forbidden = re.compile(rf"{hosts}|/work/{'main'}|/root/\.")

    found = [
        f"{path.relative_to(REPOSITORY)}: {match.group()}"
        for path in tracked()
        if path.is_file()
        for match in forbidden.finditer(path.read_text(errors="replace"))
    ]

    assert found == []


def test_the_makefile_stays_short() -> None:
    assert len((REPOSITORY / "Makefile").read_text().splitlines()) <= 60
