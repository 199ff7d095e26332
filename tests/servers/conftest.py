"""A repository, its server and its remote, apart from the machine's own git configuration."""

from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from uuid import uuid4

import pytest
from tests.servers.checkouts import Checkout
from tests.servers.github_worlds import World, fake_or_skip, open_world

from remit.servers.git.server import GitServer
from remit.testing.github_fake import GitHubFake, open_github_fake


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


@pytest.fixture(scope="session")
def github_service(tmp_path_factory: pytest.TempPathFactory) -> Generator[GitHubFake | None]:
    """One stateful fake of GitHub for all tests; each makes a repository of its own."""
    with open_github_fake(tmp_path_factory.mktemp("github")) as fake:
        yield fake


@pytest.fixture
def github(github_service: GitHubFake | None) -> GitHubFake:
    """The fake of GitHub."""
    return fake_or_skip(github_service)


@pytest.fixture
def repository(github: GitHubFake) -> str:
    """The full name of a repository of the test's own, with main and topic."""
    name = github.make_repository(f"orders-{uuid4().hex[:12]}")
    github.make_branch(name, "topic", {"total.py": "def total(lines):\n    return sum(lines)\n"})
    return name


@pytest.fixture
async def hub(github: GitHubFake, repository: str) -> AsyncGenerator[World]:
    """The GitHub server in Ada's name, with faults to throw between it and the fake."""
    async with open_world(repository=repository, behind=github.url) as world:
        yield world
