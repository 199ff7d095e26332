"""git_diff: what changed, as a list of files and as a patch."""

from collections.abc import Iterator

from remit.servers.arguments import Arguments
from remit.servers.errors import ToolError
from remit.servers.git.fence import fenced_paths
from remit.servers.git.refs import get_range
from remit.servers.git.repository import Repository
from remit.servers.git.run import OUTPUT_CAP
from remit.servers.git.status import state_of

# No program of the repository's choosing, and the same format whatever is configured.
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--find-renames")
_PREFIXES = ("--src-prefix=a/", "--dst-prefix=b/", "--submodule=short")

_ADVICE = "give a commit, a branch or a range as target"


async def git_diff(repository: Repository, arguments: Arguments) -> dict[str, object]:
    """Compare the working tree, the index or commits.

    Raises:
        ToolError: If the target is no commit, or a path is outside.
    """
    target, staged = arguments.find_text("target"), arguments.flag("staged")
    paths = fenced_paths(repository.top, arguments.texts("paths"))
    what = ["--cached"] if staged else []
    if target is not None:
        what.append(await get_range(repository.git, target, "target"))
        if staged and ".." in what[-1]:
            raise ToolError("staged compares the index with one commit; leave out the range")
    what += ["--", *paths]
    listing = await repository.git.ask("diff", *_PLAIN, "--raw", "--numstat", "-z", *what)
    files = list(_files(listing.out))
    context = f"--unified={arguments.number('context_lines', 3)}"
    patch = await repository.git.ask("diff", *_PLAIN, *_PREFIXES, "--patch", context, *what)
    if not patch.ok:
        raise ToolError(f"git diff failed: {patch.said}\n{_ADVICE}")
    note = f"\n[truncated at {OUTPUT_CAP} bytes: name paths to see the rest]\n"
    return {
        "files": files,
        "patch": patch.out + (note if patch.truncated else ""),
        "truncated": patch.truncated or listing.truncated,
    }


def _files(listing: str) -> Iterator[dict[str, object]]:
    """Yield a dictionary a file from `--raw --numstat -z`: first all states, then all counts."""
    fields = listing.split("\0")
    # What follows the last NUL is empty, or a record that the cap cut in two.
    fields.pop()
    remaining = iter(fields)
    states: dict[str, str] = {}
    for field in remaining:
        if field.startswith(":"):
            letter = field.rpartition(" ")[2]
            path = next(remaining, "")
            # Renames and copies have two paths, the old one first.
            states[next(remaining, "") if letter[:1] in "RC" else path] = state_of(letter)
            continue
        added, removed, path = field.split("\t", 2)
        old = None if path else next(remaining, "")
        path = path or next(remaining, "")
        file: dict[str, object] = {
            "path": path,
            "state": states.get(path, "changed"),
            # Git counts no lines in binary files and writes `-`.
            "additions": None if added == "-" else int(added),
            "deletions": None if removed == "-" else int(removed),
        }
        yield file if old is None else file | {"old_path": old}
