"""A repository, its server and its remote, apart from the machine's own git configuration."""

from pathlib import Path

import pytest
from tests.servers.checkouts import Checkout

from remit.servers.git.server import GitServer


@pytest.fixture(autouse=True)
def _own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "gitconfig"
    settings.write_text(
        "[user]\nname = Ada\nemail = ada@example.test\n[init]\ndefaultBranch = main\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def empty(tmp_path: Path) -> Checkout:
    """A repository without a commit."""
    path = tmp_path / "project"
    path.mkdir()
    checkout = Checkout(path)
    checkout.git("init", "--quiet")
    return checkout


@pytest.fixture
def project(empty: Checkout) -> Checkout:
    """A repository with one commit on main."""
    empty.commit("readme.txt", "one\ntwo\nthree\n", "First")
    return empty


@pytest.fixture
def server(empty: Checkout) -> GitServer:
    """The server over `project` (or `empty`, the same folder)."""
    return GitServer(empty.path)


@pytest.fixture
def origin(project: Checkout, tmp_path: Path) -> Checkout:
    """A bare remote of `project`, which has main and follows it."""
    path = tmp_path / "origin.git"
    project.git("clone", "--quiet", "--bare", ".", str(path))
    project.git("remote", "add", "origin", str(path))
    project.git("fetch", "--quiet", "origin")
    project.git("branch", "--quiet", "--set-upstream-to=origin/main")
    return Checkout(path)


@pytest.fixture
def colleague(origin: Checkout, tmp_path: Path) -> Checkout:
    """Somebody else's clone of `origin`."""
    path = tmp_path / "colleague"
    origin.git("clone", "--quiet", str(origin.path), str(path))
    return Checkout(path)
