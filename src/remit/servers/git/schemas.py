"""What the nine tools take."""

from collections.abc import Mapping
from typing import Final

from remit.servers.shapes import LONGEST_TEXT, Schema, choice, count, flag, given, text, texts

_REMOTE = text("Name of a configured remote, never a URL.", default="origin")


def _page(of: str) -> Schema:
    return count(f"Which page of {of}; the result says whether there is a next.", 1, 1, 1_000_000)


_INPUTS: Final[Mapping[str, Mapping[str, Schema]]] = {
    "git_status": {},
    "git_diff": {
        "target": text("Commit, branch or range (a..b, a...b) to compare with."),
        "staged": flag("Compare the index instead of the working tree."),
        "paths": texts("Only these files or directories, relative to the top level."),
        "context_lines": count("Lines of context around a change.", 3, 0, 1000),
        "page": _page("a large diff"),
    },
    "git_log": {
        "max_count": count("How many commits at most.", 20, 1, 1000),
        "ref": text("Branch, commit or range (a..b) to list; the current branch when left out."),
        "path": text("Only commits that touch this path, relative to the top level."),
        "author": text("Only commits whose author's name or email contains this text."),
        "since": text("Only commits after this date, such as 2026-01-31 or '2 weeks ago'."),
        "until": text("Only commits before this date."),
        "page": _page("the commits, each of max_count"),
    },
    "git_branch": {
        "branch_name": text("Name of the branch to create; leave out to list."),
        "base": text("Where the new branch starts; the current commit when left out."),
        "scope": choice("Which branches to list.", "local", "remote", "all"),
        "page": _page("a list of more than 100"),
    },
    "git_checkout": {
        "branch_name": text("Branch to switch to; one that only a remote has is made to track it."),
        "create": flag("Create the branch at the current commit first."),
    },
    "git_commit": {
        "message": text("Commit message.", LONGEST_TEXT),
        "paths": texts("Also stage and commit these, relative to the top level."),
        "all": flag("Commit every change, new and deleted files included."),
    },
    "git_push": {
        "remote": _REMOTE,
        "branch": text("Local branch to push to its namesake; the current one when left out."),
        "set_upstream": flag("Make the branch follow the pushed one.", default=True),
    },
    "git_pull": {
        "remote": _REMOTE,
        "branch": text("Branch of the remote; the upstream of the current one when left out."),
        "strategy": choice("How to bring it in.", "ff-only", "merge", "rebase"),
    },
    "git_merge": {
        "branch_name": text("Branch to merge into the current one, such as topic or origin/main."),
        "strategy": choice("How to merge; squash makes one commit.", "merge", "ff-only", "squash"),
        "message": text("Message of the merge or squash commit.", LONGEST_TEXT),
    },
}

_REQUIRED: Final[Mapping[str, list[str]]] = {
    "git_checkout": ["branch_name"],
    "git_commit": ["message"],
    "git_merge": ["branch_name"],
}

_REPO_PATH = text("Repository inside the configured one; the configured one when left out.")

INPUT_SCHEMAS: Final[Mapping[str, Schema]] = {
    name: given({**properties, "repo_path": _REPO_PATH}, _REQUIRED.get(name, ()))
    for name, properties in _INPUTS.items()
}
"""Input schema by tool name, in the order in which the tools are listed."""
