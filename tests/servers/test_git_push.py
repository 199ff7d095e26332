"""git_push (S0.3): to a configured remote, by name, and never by force."""

import subprocess

import pytest
from tests.servers.checkouts import Checkout, done, refused

from remit.servers.git.server import GitServer


async def test_a_push_sends_the_current_branch_and_makes_it_follow(
    project: Checkout, origin: Checkout, server: GitServer
) -> None:
    project.git("switch", "--quiet", "--create", "topic")
    head = project.commit("new.txt", "1")

    push = await done(server, "git_push")

    assert push == {
        "remote": "origin",
        "branch": "topic",
        "commit": head,
        "result": "created",
        "set_upstream": True,
    }
    assert origin.git("rev-parse", "topic").strip() == head
    assert project.git("rev-parse", "--abbrev-ref", "topic@{upstream}") == "origin/topic\n"


async def test_a_push_says_whether_it_changed_anything(
    project: Checkout, origin: Checkout, server: GitServer
) -> None:
    assert (await done(server, "git_push"))["result"] == "up-to-date"
    head = project.commit("new.txt", "1")
    assert (await done(server, "git_push"))["result"] == "updated"
    assert origin.head() == head


async def test_a_push_may_name_another_branch_and_leave_its_upstream_alone(
    project: Checkout, origin: Checkout, server: GitServer
) -> None:
    project.git("branch", "topic")

    await done(server, "git_push", branch="topic", set_upstream=False)

    assert origin.git("rev-parse", "topic") == project.git("rev-parse", "topic")
    with pytest.raises(subprocess.CalledProcessError):
        project.git("rev-parse", "topic@{upstream}")


async def test_a_push_that_would_need_force_is_refused(
    project: Checkout, origin: Checkout, colleague: Checkout, server: GitServer
) -> None:
    theirs = colleague.commit("theirs.txt", "1")
    colleague.git("push", "--quiet")
    project.commit("ours.txt", "1")

    text = await refused(server, "git_push")

    assert "git_pull first" in text
    assert origin.head() == theirs


async def test_force_cannot_come_in_through_the_configuration(
    project: Checkout, origin: Checkout, colleague: Checkout, server: GitServer
) -> None:
    theirs = colleague.commit("theirs.txt", "1")
    colleague.git("push", "--quiet")
    project.commit("ours.txt", "1")
    project.git("config", "remote.origin.push", "+refs/heads/*:refs/heads/*")

    await refused(server, "git_push")
    project.git("config", "remote.origin.mirror", "true")
    await refused(server, "git_push")

    assert origin.head() == theirs


@pytest.mark.parametrize("branch", ["+main", "main:other", "+main:main", ":main", "HEAD", "a*"])
async def test_a_refspec_is_no_branch_name(
    project: Checkout, origin: Checkout, server: GitServer, branch: str
) -> None:
    project.commit("ours.txt", "1")
    before = origin.git("for-each-ref")

    for tool in ("git_push", "git_pull"):
        assert "not a valid branch name" in await refused(server, tool, branch=branch)
    assert origin.git("for-each-ref") == before


async def test_a_remote_is_a_configured_name_and_never_an_address(
    project: Checkout, origin: Checkout, server: GitServer
) -> None:
    project.commit("ours.txt", "1")
    before = origin.git("for-each-ref")
    addresses = (str(origin.path), f"file://{origin.path}", "../origin.git", ".", "ext::sh -c id")

    for tool in ("git_push", "git_pull"):
        for address in (*addresses, "upstream"):
            text = await refused(server, tool, remote=address)

            assert "not configured here (configured: origin)" in text
    assert origin.git("for-each-ref") == before


async def test_a_remote_helper_that_runs_commands_is_refused_even_when_configured(
    project: Checkout, server: GitServer
) -> None:
    project.git("config", "protocol.ext.allow", "always")
    project.git("remote", "add", "origin", "ext::sh -c touch% pwned")

    for tool in ("git_push", "git_pull"):
        assert "transport 'ext' not allowed" in await refused(server, tool)
    assert not (project.path / "pwned").exists()


async def test_a_refusing_pre_push_hook_is_quoted_and_nothing_is_sent(
    project: Checkout, origin: Checkout, server: GitServer
) -> None:
    before = origin.head()
    project.commit("ours.txt", "1")
    project.hook("pre-push", "echo 'tests are red' >&2; exit 1")

    assert "tests are red" in await refused(server, "git_push")
    assert origin.head() == before


async def test_a_refusal_of_the_remote_is_quoted(
    project: Checkout, origin: Checkout, server: GitServer
) -> None:
    before = origin.head()
    project.commit("ours.txt", "1")
    origin.hook("pre-receive", "echo 'branch is protected'; exit 1")

    assert "branch is protected" in await refused(server, "git_push")
    assert origin.head() == before


async def test_there_must_be_a_branch_with_a_commit_to_push(
    project: Checkout, origin: Checkout, server: GitServer
) -> None:
    assert origin.path.is_dir()
    assert "has no commit here" in await refused(server, "git_push", branch="nowhere")
    project.git("switch", "--quiet", "--detach")
    assert "HEAD is detached" in await refused(server, "git_push")


async def test_a_remote_that_is_not_there_fails_without_asking_anybody(
    project: Checkout, server: GitServer
) -> None:
    project.git("remote", "add", "origin", "/nowhere/at/all.git")

    assert "does not appear to be a git repository" in await refused(server, "git_push")


async def test_credentials_in_a_remote_url_appear_in_no_output(
    project: Checkout, origin: Checkout, server: GitServer
) -> None:
    url = "http://ada:hunter2hunter2@127.0.0.1:1/x.git"
    project.git("remote", "set-url", "origin", url)
    project.git("config", f"url.{url}.insteadOf", "short:")
    assert origin.path.is_dir()
    project.commit("notes.txt", f"{url}\nhunter2hunter2\n", f"Merge branch 'x' of {url}")
    project.hook("pre-push", 'echo "pushing to $2 as hunter2hunter2" >&2; exit 1')
    project.hook("pre-commit", f"echo 'see {url}'; exit 1")
    project.write("readme.txt", f"{url}\n")

    texts = [
        await refused(server, "git_push"),
        await refused(server, "git_pull"),
        await refused(server, "git_commit", message="m", all=True),
        str(await done(server, "git_log")),
        str(await done(server, "git_diff", target="HEAD~1")),
        str(await done(server, "git_branch", scope="all")),
    ]

    for text in texts:
        assert "hunter2" not in text
        assert "ada:" not in text
    assert "127.0.0.1:1/x.git" in texts[1]


async def test_a_token_without_a_user_is_hidden_and_a_plain_ssh_user_is_left_alone(
    project: Checkout, server: GitServer
) -> None:
    project.git("remote", "add", "origin", "https://tok_0123456789@example.test/x.git")
    project.git("remote", "add", "mirror", "ssh://git@example.test/x.git")
    project.git("remote", "add", "short", "https://ada:pw@short.test/x.git")
    project.write("readme.txt", "tok_0123456789 git@example.test u:p@other.test ada:pw@a.test\n")

    patch = (await done(server, "git_diff"))["patch"]

    assert "+*** git@example.test u:p@other.test a.test\n" in patch
