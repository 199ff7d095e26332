"""Credentials come from the environment only, are seen by nobody, and are never asked for."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.servers.checkouts import Checkout, done, refused
from tests.servers.git_web import open_git_web

from remit.servers.git.connect import Credentials
from remit.servers.git.server import GitServer, open_server

TOKEN = "tok/en with=signs"
ENCODED = "tok%2Fen%20with%3Dsigns"


@pytest.fixture
def web(origin: Checkout, project: Checkout) -> Generator[str]:
    """The address of `origin` over HTTP; `project` has it as its remote."""
    with open_git_web(origin.path.parent, "ada", TOKEN) as url:
        project.git("remote", "set-url", "origin", f"{url}/origin.git")
        yield url


async def test_a_push_and_a_pull_authenticate_with_what_the_environment_has(
    project: Checkout, origin: Checkout, colleague: Checkout, web: str
) -> None:
    credentials = f"https://eve:other@elsewhere.test {web.replace('//', f'//ada:{ENCODED}@')}"
    server = GitServer(project.path, environ={"GIT_CREDENTIALS": credentials})
    project.hook("pre-push", "env > hook.log; ps -ef >> hook.log; echo $0 >&2")
    project.commit("new.txt", "1")

    pushed = await done(server, "git_push")
    colleague.git("pull", "-q")
    colleague.commit("theirs.txt", "1")
    colleague.git("push", "-q")
    pulled = await done(server, "git_pull")

    assert pushed["result"] == "updated"
    assert pulled["result"] == "fast-forward"
    assert origin.git("rev-parse", "main").strip() == project.head()
    seen = (project.path / "hook.log").read_text()
    assert "credential" in seen, "where the file is, which is gone by now"
    assert not any(secret in seen for secret in (TOKEN, ENCODED, "ada:"))
    assert not list(Path("/tmp").glob("remit-git-*/credentials"))  # noqa: S108, where it was


@pytest.mark.parametrize("credentials", ["", "http://ada:wrong-token@127.0.0.1", "elsewhere"])
async def test_without_the_right_ones_it_says_so_at_once_and_asks_nobody(
    project: Checkout, web: str, tmp_path: Path, credentials: str
) -> None:
    asked = tmp_path / "asked"
    project.git("config", "core.askPass", f"touch {asked};")
    environ = {"SSH_ASKPASS": f"touch {asked}", "DISPLAY": ":0"}
    if credentials:
        line = web.replace("//", "//ada:wrong-token@") if "ada" in credentials else ""
        environ["GIT_CREDENTIALS"] = line or "https://ada:wrong-token@elsewhere.test"
    project.commit("new.txt", "1")
    before = project.state()

    for tool in ("git_push", "git_pull"):
        text = await refused(GitServer(project.path, environ=environ), tool)

        assert "GIT_CREDENTIALS" in text
        assert "wrong-token" not in text
    assert project.state() == before


async def test_a_helper_of_the_repository_is_not_asked_where_the_environment_has_some(
    project: Checkout, web: str, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    project.git("config", "credential.helper", f"!touch {ran};")
    line = web.replace("//", f"//ada:{ENCODED}@")
    project.commit("new.txt", "1")

    await done(GitServer(project.path, environ={"GIT_CREDENTIALS": line}), "git_push")

    assert not ran.exists()


async def test_an_address_that_the_repository_redirects_gets_no_credentials(
    project: Checkout, web: str
) -> None:
    project.git("remote", "set-url", "origin", "https://forge.test/origin.git")
    project.git("config", f"url.{web}/.insteadOf", "https://forge.test/")
    environ = {"GIT_CREDENTIALS": f"https://ada:{ENCODED}@forge.test"}
    project.commit("new.txt", "1")

    text = await refused(GitServer(project.path, environ=environ), "git_push")

    assert "GIT_CREDENTIALS" in text


async def test_an_askpass_program_of_the_environment_is_used(
    project: Checkout, web: str, tmp_path: Path
) -> None:
    assert web
    program = tmp_path / "askpass"
    program.write_text(f'#!/bin/sh\ncase "$1" in User*) echo ada;; *) echo "{TOKEN}";; esac\n')
    program.chmod(0o755)
    project.commit("new.txt", "1")

    server = GitServer(project.path, environ={"GIT_ASKPASS": str(program)})

    assert (await done(server, "git_push"))["result"] == "updated"


async def test_the_secrets_of_the_environment_are_in_no_output(project: Checkout) -> None:
    environ = {"GIT_CREDENTIALS": f"https://ada:{ENCODED}@forge.test"}
    project.hook("pre-commit", f"echo 'found {TOKEN} and {ENCODED}'; exit 1")
    project.write("readme.txt", f"{TOKEN} {ENCODED}\n")
    server = GitServer(project.path, environ=environ)

    said = await refused(server, "git_commit", message="m", all=True)
    diff = await done(server, "git_diff")

    for text in (said, diff["patch"]):
        assert "***" in text
        assert TOKEN not in text
        assert ENCODED not in text


@pytest.mark.parametrize(
    "value",
    [
        "token",
        "https://host",
        "https://user@host",
        "https://u:p@h@x",
        "ssh://u:p@h",
        "https://u:@h",
    ],
)
def test_credentials_that_do_not_fit_stop_the_server_and_are_not_repeated(
    tmp_path: Path, value: str
) -> None:
    with pytest.raises(ValueError, match="git server: GIT_CREDENTIALS has to be") as caught:
        open_server([], {"GIT_CREDENTIALS": f"https://a:b@c {value}"}, tmp_path)

    assert "\n" not in str(caught.value)
    assert value not in str(caught.value)


def test_a_short_secret_is_not_searched_for() -> None:
    credentials = Credentials.parse({"GIT_CREDENTIALS": "https://ada:short@forge.test"})

    assert credentials.secrets == frozenset()
    assert "short" not in repr(credentials)


async def test_an_address_given_for_a_remote_is_not_repeated_with_its_password(
    server: GitServer, project: Checkout
) -> None:
    address = "https://ada:hunter2hunter2@git.example.test/orders"
    for tool in ("git_push", "git_pull"):
        result = await server.call_tool(tool, {"remote": address, "branch": "main"})
        assert result["isError"]
        assert "git.example.test/orders' is not configured" in str(result)
        assert "hunter2" not in str(result)
    assert project.git("remote") == ""
