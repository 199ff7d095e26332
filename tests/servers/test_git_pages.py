"""Large results of the git server come page by page, and are whole (issue 6, must show 5)."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.servers.checkouts import Checkout, done, refused

from remit.servers.git.patch import PAGE, PatchPage
from remit.servers.git.server import GitServer

TOKENS = 60_000
"""Characters of a whole result, well under what clients take (25,000 tokens)."""


async def _pages(server: GitServer, **arguments: object) -> list[dict[str, Any]]:
    pages = [await done(server, "git_diff", **arguments)]
    while (number := pages[-1]["next_page"]) is not None:
        pages.append(await done(server, "git_diff", page=number, **arguments))
    return pages


def _bare(page: dict[str, Any]) -> str:
    """The page's patch without the notes at its ends."""
    patch = page["patch"]
    if patch.startswith("[goes on with"):
        patch = patch.partition("\n")[2]
    if page["next_page"] is not None:
        patch = patch.rpartition("\n[there is more: call again with page")[0]
    return patch


def _whole(project: Checkout, *what: str) -> str:
    plain = ("-c", "core.quotepath=off", "diff", "--no-color")
    return project.git(*plain, *what)


def _import(path: Path, *commands: str) -> None:
    subprocess.run(
        ["git", "fast-import", "--quiet"], cwd=path, check=True, input="".join(commands).encode()
    )


def _commit(number: int, *changes: str) -> str:
    who = "Ada <ada@example.test> 1767225600 +0000"
    message = f"data {len(str(number)) + 1}\nc{number}\n"
    return f"commit refs/heads/main\ncommitter {who}\n{message}" + "".join(changes)


def _file(name: str, text: str) -> str:
    return f"M 644 inline {name}\ndata {len(text.encode())}\n{text}\n"


async def test_a_diff_of_ten_thousand_files_is_read_page_by_page_and_whole(
    empty: Checkout, server: GitServer
) -> None:
    names = [f"src/part{number % 100}/file{number}.py" for number in range(10_000)]
    _import(
        empty.path,
        _commit(1, *(_file(name, f"old {name}\n") for name in names)),
        _commit(2, *(_file(name, f"new {name}\n") for name in names)),
    )

    first, second = [
        await done(server, "git_diff", target="HEAD~1..HEAD", page=number) for number in (1, 2)
    ]
    part = ["src/part0", "src/part1", "src/part10", "src/part11"]
    pages = await _pages(server, target="HEAD~1..HEAD", paths=part)

    assert first["summary"] == {"files": 10_000, "additions": 10_000, "deletions": 10_000}
    assert first["next_page"] == 2
    beginning = _bare(first) + _bare(second)
    assert _whole(empty, "HEAD~1", "HEAD").startswith(beginning)
    assert [file["path"] for file in first["files"] + second["files"]] == sorted(names)[
        : beginning.count("diff --git")
    ]
    assert "".join(map(_bare, pages)) == _whole(empty, "HEAD~1", "HEAD", "--", *part)
    assert [file["path"] for page in pages for file in page["files"]] == [
        name for name in sorted(names) if name.rpartition("/")[0] in part
    ]
    assert all(len(page["patch"]) < PAGE + 200 for page in pages)
    assert all(len(str(page)) < TOKENS for page in pages)
    assert [page["page"] for page in pages] == list(range(1, len(pages) + 1))
    assert [page["truncated"] for page in pages] == [True] * (len(pages) - 1) + [False]


async def test_a_file_larger_than_a_page_goes_on_on_the_next(
    project: Checkout, server: GitServer
) -> None:
    project.commit("a.txt", "1\n")
    project.commit("z.txt", "1\n")
    project.write("a.txt", "2\n")
    project.write("readme.txt", "a long line of text, é\n" * 5_000)
    project.write("z.txt", "2\n")

    pages = await _pages(server)

    assert len(pages) > 2
    assert "".join(map(_bare, pages)) == _whole(project)
    assert [file["path"] for file in pages[0]["files"]] == ["a.txt"], "it fits, whole"
    assert [file["path"] for file in pages[2]["files"]] == ["readme.txt"]
    assert pages[2]["patch"].startswith("[goes on with readme.txt]\n")
    assert [file["path"] for file in pages[-1]["files"]] == ["readme.txt", "z.txt"]
    assert pages[0]["summary"]["additions"] == 5_002


async def test_a_line_longer_than_a_page_is_cut_between_two_signs(
    project: Checkout, server: GitServer
) -> None:
    project.write("readme.txt", "€diff --git a/x b/x " * 20_000)

    pages = await _pages(server)

    assert "".join(map(_bare, pages)) == _whole(project)
    assert {file["path"] for page in pages for file in page["files"]} == {"readme.txt"}
    assert all("\ufffd" not in page["patch"] for page in pages)


async def test_every_kind_of_change_is_under_its_file(project: Checkout, server: GitServer) -> None:
    project.commit("type.txt", "a file\n")
    project.commit("mode.sh", "#!/bin/sh\n")
    project.commit("old name.txt", "a text that goes on for a while\n" * 10)
    project.commit("back\\slash.txt", "1\n")
    project.commit('qu"ote.txt', "1\n")
    project.commit("tab\there.txt", "1\n")
    project.commit("ünï.txt", "1\n")
    (project.path / "type.txt").unlink()
    (project.path / "type.txt").symlink_to("readme.txt")
    (project.path / "mode.sh").chmod(0o755)
    project.git("mv", "old name.txt", "new name.txt")
    (project.path / "binary.bin").write_bytes(bytes(range(256)))
    for name in ("back\\slash.txt", 'qu"ote.txt', "tab\there.txt", "ünï.txt"):
        project.write(name, "2\n")
    project.git("add", "--all")

    diff = await done(server, "git_diff", staged=True)

    states = {file["path"]: file["state"] for file in diff["files"]}
    assert states == {
        "back\\slash.txt": "modified",
        "binary.bin": "added",
        "mode.sh": "modified",
        "new name.txt": "renamed",
        'qu"ote.txt': "modified",
        '"tab\\there.txt"': "modified",
        "type.txt": "type-changed",
        "ünï.txt": "modified",
    }
    assert diff["patch"] == _whole(project, "--cached")


async def test_a_diff_in_the_middle_of_a_merge_shows_the_conflict(
    project: Checkout, server: GitServer
) -> None:
    project.git("switch", "-qc", "topic")
    project.commit("a b.txt", "theirs\n")
    project.git("switch", "-q", "main")
    project.commit("a b.txt", "ours\n")
    subprocess.run(["git", "merge", "-q", "topic"], cwd=project.path, check=False)

    diff = await done(server, "git_diff")

    assert [(file["path"], file["state"]) for file in diff["files"]] == [("a b.txt", "unmerged")]
    assert "++<<<<<<< HEAD" in diff["patch"]
    staged = await done(server, "git_diff", staged=True)
    assert "Unmerged path a b.txt" in staged["patch"]


async def test_a_page_that_is_not_there_is_an_error_and_an_empty_diff_is_not(
    project: Checkout, server: GitServer
) -> None:
    assert "has no page 2" in await refused(server, "git_diff", page=2)
    empty = await done(server, "git_diff")
    assert (empty["files"], empty["patch"], empty["next_page"]) == ([], "", None)
    project.write("readme.txt", "changed\n")
    assert "has no page 7" in await refused(server, "git_diff", page=7)


@pytest.mark.parametrize("size", [1, 7, 65536])
def test_pages_do_not_depend_on_how_the_patch_arrives(size: int) -> None:
    parts = [f"diff --git a/{n} b/{n}\n".encode() + b"+line\n" * (n**3) for n in range(22)]
    parts[20] = parts[20].replace(b"+line\n", b"+line", 9_000)
    patch = b"".join(parts)
    paths = [(str(number).encode(), str(number).encode()) for number in range(22)]
    joined, number, more = b"", 1, True

    while more:
        page = PatchPage(number, paths)
        for start in range(0, len(patch), size):
            if not page(patch[start : start + size]):
                break
        kept = page.finish()
        assert 0 < len(kept) <= PAGE
        joined, number, more = joined + kept, number + 1, page.has_next
        if size == 1 and number > 3:
            return

    assert joined == patch


async def test_the_pages_of_a_log_are_of_max_count_commits(
    empty: Checkout, server: GitServer
) -> None:
    _import(empty.path, *(_commit(number, _file("a", f"{number}")) for number in range(25)))
    subjects: list[str] = []
    page: int | None = 1

    while page is not None:
        log = await done(server, "git_log", max_count=10, page=page)
        subjects += [commit["subject"] for commit in log["commits"]]
        assert log["has_more"] is (log["next_page"] is not None)
        page = log["next_page"]

    assert subjects == [f"c{number}" for number in reversed(range(25))]
    beyond = await done(server, "git_log", max_count=10, page=9)
    assert (beyond["commits"], beyond["has_more"]) == ([], False)


async def test_a_long_message_is_trimmed_with_a_note(project: Checkout, server: GitServer) -> None:
    project.commit("a.txt", "1", "Subject\n\n" + "word " * 2_000)

    log = await done(server, "git_log")

    assert log["truncated"] is True
    assert log["commits"][0]["body"].endswith("more characters]")
    assert len(log["commits"][0]["body"]) < 5_000
    assert log["commits"][0]["subject"] == "Subject"


async def test_branches_come_a_hundred_at_a_time(project: Checkout, server: GitServer) -> None:
    names = [f"b{number:03}" for number in range(150)]
    refs = "".join(f"create refs/heads/{name} {project.head()}\n" for name in names)
    subprocess.run(
        ["git", "update-ref", "--stdin"], cwd=project.path, check=True, input=refs.encode()
    )

    first = await done(server, "git_branch")
    second = await done(server, "git_branch", page=2)

    assert (first["total"], first["next_page"], second["next_page"]) == (151, 2, None)
    assert (first["truncated"], second["truncated"]) == (True, False)
    assert [branch["name"] for branch in first["branches"] + second["branches"]] == [*names, "main"]
    assert (await done(server, "git_branch", branch_name="new"))["total"] == 1


async def test_a_status_names_some_files_and_counts_all(
    project: Checkout, server: GitServer
) -> None:
    for number in range(1_500):
        project.write(f"{'n' * 200}{number:04}.txt", "")

    status = await done(server, "git_status")

    assert status["truncated"] is True
    assert status["counts"] == {"staged": 0, "unstaged": 0, "untracked": 1_500, "conflicts": 0}
    assert status["untracked"] == [f"{'n' * 200}{number:04}.txt" for number in range(200)]
    assert len(str(status)) < TOKENS
    commit = await done(server, "git_commit", message="Many", all=True)
    assert (len(commit["files"]), commit["file_count"]) == (200, 1_500)
