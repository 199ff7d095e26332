"""Hostile names of files and branches: there and back exactly, or refused (must show 5)."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.servers.checkouts import Checkout, done, refused

from remit.servers.errors import ToolError
from remit.servers.git.names import read_name, shown
from remit.servers.git.server import GitServer

FILES = [
    b"--upload-pack=touch pwned",
    b"-rf",
    b"caf\xe9.txt",
    b"\xff\xfe",
    b"line\nbreak",
    b"tab\tand\x1bescape\x7f",
    b'"quoted"',
    b'"half',
    b"back\\slash",
    b"\\351",
    b":(top)magic",
    b"*.txt",
    b"@{-1}",
    b"refs/heads/x",
    "spün/€.txt".encode(),
    b"$(touch pwned)",
    b"; touch pwned #",
    b" leading and trailing ",
]
BRANCHES = [
    "--upload-pack=touch pwned",
    "-D",
    "a\nb",
    "a\x1bb",
    "a b",
    "@{-1}",
    "@",
    "HEAD",
    "refs/heads/x",
    "refs/remotes/origin/main",
    "a:b",
    "+a",
    ":a",
    "^a",
    "a..b",
    "a~1",
    "a^",
    "a?",
    "[a]",
    "*",
    "a\\b",
    "/a",
    "a/",
    "a//b",
    "a.lock",
    ".a",
    "a.",
    "a@{1}",
    "a\ud800b",
    '"caf\\351"',
]
GOOD_BRANCHES = [
    "grün/€",
    "$(touch${IFS}pwned)",
    ";touch",
    "a'b",
    '"x"',
    "#7",
    "main@work",
    "heads/main",
]


@given(st.binary(min_size=1, max_size=20).filter(lambda raw: b"\0" not in raw))
def test_every_name_comes_back_exactly_and_is_plain_text_on_the_way(raw: bytes) -> None:
    name = os.fsdecode(raw)

    text = shown(name)

    assert read_name(text) == name
    assert json.loads(json.dumps(text, ensure_ascii=False).encode()) == text
    assert all(sign >= " " for sign in text)


@given(st.text(max_size=20))
def test_what_is_no_quoted_name_is_no_name_or_itself(text: str) -> None:
    try:
        name = read_name(text)
    except ToolError:
        name = None
    assert name == text or text.startswith('"')


@pytest.mark.parametrize("text", ['"', '""', '"a', '"a\\"', '"\\400"', '"\\000"', '"a"b"', '"\\q"'])
def test_a_broken_quoted_name_is_refused(text: str) -> None:
    with pytest.raises(ToolError, match="double quote"):
        read_name(text)


@pytest.mark.parametrize("raw", FILES)
async def test_a_file_of_any_name_is_seen_committed_and_compared_by_the_name_that_is_shown(
    project: Checkout, server: GitServer, raw: bytes
) -> None:
    file = os.path.join(os.fsencode(project.path), raw)  # noqa: PTH118, of bytes
    _write(file, b"1\n")

    await done(server, "git_status")
    name = shown(os.fsdecode(raw))
    given_name = f"./{name}" if name.startswith("-") else name
    committed = await done(server, "git_commit", message="Odd", paths=[given_name])
    _write(file, b"2\n")
    status = await done(server, "git_status")
    diff = await done(server, "git_diff", paths=[given_name])
    log = await done(server, "git_log", path=given_name)

    assert committed["files"] == [name]
    assert [one["path"] for one in status["unstaged"]] == [name]
    assert [one["path"] for one in diff["files"]] == [name]
    assert [one["subject"] for one in log["commits"]] == ["Odd"]
    assert not (project.path / "pwned").exists()


async def test_a_quoted_path_is_held_to_the_fence_too(project: Checkout, server: GitServer) -> None:
    assert project.head()
    for path in ('"../other"', '"a/../../other"', '"/etc/passwd"', '".git/config"', '"\\056git"'):
        text = await refused(server, "git_log", path=path)

        assert "outside the repository" in text or "git's own files" in text
    for path in ('"a\\000b"', '"a'):
        assert "double quote" in await refused(server, "git_log", path=path)


@pytest.mark.parametrize("name", BRANCHES)
async def test_a_hostile_branch_name_is_refused_by_every_tool_and_changes_nothing(
    project: Checkout, origin: Checkout, server: GitServer, name: str
) -> None:
    before = (project.state(), origin.git("for-each-ref"))

    for tool, arguments in (
        ("git_branch", {"branch_name": name}),
        ("git_checkout", {"branch_name": name}),
        ("git_checkout", {"branch_name": name, "create": True}),
        ("git_merge", {"branch_name": name}),
        ("git_push", {"branch": name}),
        ("git_pull", {"branch": name}),
    ):
        text = await refused(server, tool, **arguments)

        assert "branch" in text
        text.encode()
    assert (project.state(), origin.git("for-each-ref")) == before
    assert not (project.path / "pwned").exists()


@pytest.mark.parametrize("name", GOOD_BRANCHES)
async def test_an_odd_but_valid_branch_name_goes_all_the_way_round(
    project: Checkout, origin: Checkout, server: GitServer, name: str
) -> None:
    await done(server, "git_checkout", branch_name=name, create=True)
    project.write("new.txt", "1")
    committed = await done(server, "git_commit", message="m", paths=["new.txt"])
    pushed = await done(server, "git_push")
    listed = await done(server, "git_branch", scope="all")
    pulled = await done(server, "git_pull")
    status = await done(server, "git_status")
    await done(server, "git_checkout", branch_name="main")
    merged = await done(server, "git_merge", branch_name=name)

    assert committed["branch"] == pushed["branch"] == pulled["branch"] == merged["branch"] == name
    assert origin.git("rev-parse", f"refs/heads/{name}").strip() == project.head()
    assert {branch["name"] for branch in listed["branches"]} >= {name, f"origin/{name}"}
    assert (status["branch"], status["upstream"]) == (name, f"origin/{name}")
    assert not (project.path / "pwned").exists()


async def test_a_branch_that_is_not_utf8_is_shown_and_refused(
    project: Checkout, origin: Checkout, server: GitServer
) -> None:
    assert origin.path.is_dir()
    project.git("switch", "-q", "--create", os.fsdecode(b"caf\xe9"))

    status = await done(server, "git_status")
    listed = await done(server, "git_branch")

    assert status["branch"] == listed["current"] == '"caf\\351"'
    assert [branch["name"] for branch in listed["branches"]] == ['"caf\\351"', "main"]
    assert [branch["current"] for branch in listed["branches"]] == [True, False]
    project.write("new.txt", "1")
    committed = await done(server, "git_commit", message="m", paths=["new.txt"])
    assert committed["branch"] == '"caf\\351"'
    for tool in ("git_push", "git_pull"):
        assert "not UTF-8" in await refused(server, tool)
    switched = await done(server, "git_checkout", branch_name="main")
    assert switched["previous"] == '"caf\\351"'
    assert "not UTF-8" in await refused(server, "git_checkout", branch_name='"caf\\351"')


async def test_a_tag_of_the_same_name_is_not_mistaken_for_the_branch(
    project: Checkout, origin: Checkout, server: GitServer
) -> None:
    project.git("tag", "main")
    second = project.commit("second.txt", "1")

    assert (await done(server, "git_push"))["branch"] == "main"
    assert origin.git("rev-parse", "refs/heads/main").strip() == second
    assert (await done(server, "git_branch"))["current"] == "main"
    project.git("switch", "-q", "--create", "topic")
    assert (await done(server, "git_checkout", branch_name="main"))["commit"] == second


async def test_commit_messages_and_authors_of_any_bytes_are_text(
    project: Checkout, server: GitServer, tmp_path: Path
) -> None:
    message = tmp_path / "message"
    message.write_bytes(b"caf\xe9 \x1b[31mred\n\nbody \xff\n")
    project.git("-c", "i18n.commitEncoding=utf-8", "commit", "--allow-empty", "-qF", str(message))

    log = await done(server, "git_log")
    listed = await done(server, "git_branch")

    json.dumps([log, listed], ensure_ascii=False).encode()
    assert log["commits"][0]["subject"].startswith("caf")


def _write(file: bytes, text: bytes) -> None:
    os.makedirs(os.path.dirname(file), exist_ok=True)  # noqa: PTH103, PTH120, of bytes
    with open(file, "wb") as written:  # noqa: PTH123, of bytes
        written.write(text)
