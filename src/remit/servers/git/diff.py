"""git_diff: what changed, as a list of files and as a patch, page by page."""

import os
from collections.abc import Iterator, Mapping, Sequence

from remit.servers.arguments import Arguments
from remit.servers.errors import ToolError
from remit.servers.git.fence import fenced_paths
from remit.servers.git.names import shown
from remit.servers.git.patch import PatchPage
from remit.servers.git.refs import get_range
from remit.servers.git.repository import Repository
from remit.servers.git.run import LISTING_CAP
from remit.servers.git.status import IN_SUBMODULES, state_of

# No program of the repository's choosing, and the same format whatever is configured.
_PLAIN = (
    *("--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--find-renames"),
    IN_SUBMODULES,
)
_PREFIXES = ("--src-prefix=a/", "--dst-prefix=b/", "--submodule=short")

_FETCH_FIRST = (
    "this partial clone lacks some of the contents, and reading fetches nothing: have them fetched"
    " first (`git fetch --refetch`, or git_checkout the commit)"
)
_ADVICE = "give a commit, a branch or a range as target"

_Files = Mapping[str, dict[str, object]]


async def git_diff(repository: Repository, arguments: Arguments) -> dict[str, object]:
    """Compare the working tree, the index or commits.

    Raises:
        ToolError: If the target is no commit, a path is outside, or there is no such page.
    """
    git, what = repository.reader, await _compared(repository, arguments)
    listing = await git.ask("diff", *_PLAIN, "--raw", "--numstat", "-z", *what, cap=LISTING_CAP)
    files = _files(listing.fields)
    number = arguments.number("page", 1)
    page = PatchPage(number, [_paths(path, file) for path, file in files.items()])
    context = f"--unified={arguments.number('context_lines', 3)}"
    poured = await git.pour(page, "diff", *_PLAIN, *_PREFIXES, "--patch", context, *what)
    if not (poured.ok and listing.ok):
        said = poured.said or listing.said
        advice = _FETCH_FIRST if "promisor" in said else _ADVICE
        raise ToolError(f"git diff failed: {said}\n{advice}")
    patch = git.text(page.finish())
    if number > 1 and not patch:
        raise ToolError(f"this diff has no page {number}; begin with page 1")
    every = list(files)
    paths = [every[index] for index in page.files]
    return {
        "files": [_entry(path, files[path]) for path in paths],
        "patch": _noted(patch, page, number, paths),
        "page": number,
        "next_page": number + 1 if page.has_next else None,
        "summary": {
            "files": len(files),
            "additions": _sum(files, "additions"),
            "deletions": _sum(files, "deletions"),
        },
        "truncated": page.has_next or listing.truncated,
    }


async def _compared(repository: Repository, arguments: Arguments) -> list[str]:
    """Return the arguments that say what is compared with what."""
    target, staged = arguments.find_text("target"), arguments.flag("staged")
    paths = fenced_paths(repository.top, arguments.texts("paths"))
    what = ["--cached"] if staged else []
    if target is not None:
        what.append(await get_range(repository.reader, target, "target"))
        if staged and ".." in what[-1]:
            raise ToolError("staged compares the index with one commit; leave out the range")
    return [*what, "--", *paths]


def _noted(patch: str, page: PatchPage, number: int, paths: Sequence[str]) -> str:
    """Return the patch with a note at each end that was cut."""
    before = f"[goes on with {shown(paths[0])}]\n" if page.begins_inside and paths else ""
    after = f"\n[there is more: call again with page {number + 1}, or name paths]\n"
    return before + patch + (after if page.has_next else "")


def _entry(path: str, file: Mapping[str, object]) -> dict[str, object]:
    old = {"old_path": shown(str(file["old_path"]))} if "old_path" in file else {}
    return {"path": shown(path), **file, **old}


def _sum(files: _Files, count: str) -> int:
    counts = (file[count] for file in files.values())
    return sum(number for number in counts if isinstance(number, int))


def _paths(path: str, file: Mapping[str, object]) -> tuple[bytes, bytes]:
    return os.fsencode(str(file.get("old_path", path))), os.fsencode(path)


def _files(fields: Sequence[str]) -> dict[str, dict[str, object]]:
    """Read `--raw --numstat -z`: first the states of all files, then the counts of all."""
    remaining = iter(fields)
    states: dict[str, str] = {}
    files: dict[str, dict[str, object]] = {}
    for field in remaining:
        if field.startswith(":"):
            letter = field.rpartition(" ")[2]
            path = next(remaining, "")
            # Renames and copies have two paths, the old one first. What is unmerged has two
            # records, of which the first says so.
            states.setdefault(next(remaining, "") if letter[:1] in "RC" else path, state_of(letter))
        else:
            path, file = _counts(field, remaining)
            files[path] = {"state": states.get(path, "changed"), **file}
    return files


def _counts(field: str, remaining: Iterator[str]) -> tuple[str, dict[str, object]]:
    added, removed, path = field.split("\t", 2)
    old = None if path else next(remaining, "")
    path = path or next(remaining, "")
    file: dict[str, object] = {
        # Git counts no lines in binary files and writes `-`.
        "additions": None if added == "-" else int(added),
        "deletions": None if removed == "-" else int(removed),
    }
    return path, file if old is None else file | {"old_path": old}
