"""The nine tools as a client sees them: names, inputs and hints."""

from collections.abc import Mapping
from typing import Final

from remit.servers.git.outputs import OUTPUT_SCHEMAS

_LONGEST_NAME = 4096
_LONGEST_MESSAGE = 65536


def _text(description: str, longest: int = _LONGEST_NAME, **more: object) -> dict[str, object]:
    limits = {"minLength": 1, "maxLength": longest}
    return {"type": "string", "description": description, **limits, **more}


def _choice(description: str, *values: str) -> dict[str, object]:
    return {
        "type": "string",
        "enum": list(values),
        "default": values[0],
        "description": description,
    }


def _flag(description: str, *, default: bool = False) -> dict[str, object]:
    return {"type": "boolean", "default": default, "description": description}


def _count(description: str, default: int, least: int, most: int) -> dict[str, object]:
    limits = {"minimum": least, "maximum": most, "default": default}
    return {"type": "integer", "description": description, **limits}


def _paths(description: str) -> dict[str, object]:
    return {
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": _LONGEST_NAME},
        "maxItems": 1000,
        "description": description,
    }


_REMOTE = _text("Name of a configured remote, never a URL.", default="origin")

_INPUTS: Final[Mapping[str, Mapping[str, dict[str, object]]]] = {
    "git_status": {},
    "git_diff": {
        "target": _text("Commit, branch or range (a..b, a...b) to compare with."),
        "staged": _flag("Compare the index instead of the working tree."),
        "paths": _paths("Only these files or directories, relative to the top level."),
        "context_lines": _count("Lines of context around a change.", 3, 0, 1000),
    },
    "git_log": {
        "max_count": _count("How many commits at most.", 20, 1, 1000),
        "ref": _text("Branch, commit or range (a..b) to list; the current branch when left out."),
        "path": _text("Only commits that touch this path, relative to the top level."),
        "author": _text("Only commits whose author's name or email contains this text."),
        "since": _text("Only commits after this date, such as 2026-01-31 or '2 weeks ago'."),
        "until": _text("Only commits before this date."),
    },
    "git_branch": {
        "branch_name": _text("Name of the branch to create; leave out to list."),
        "base": _text("Where the new branch starts; the current commit when left out."),
        "scope": _choice("Which branches to list.", "local", "remote", "all"),
    },
    "git_checkout": {
        "branch_name": _text(
            "Branch to switch to; one that only a remote has is made to track it."
        ),
        "create": _flag("Create the branch at the current commit first."),
    },
    "git_commit": {
        "message": _text("Commit message.", _LONGEST_MESSAGE),
        "paths": _paths("Also stage and commit these, relative to the top level."),
        "all": _flag("Commit every change, new and deleted files included."),
    },
    "git_push": {
        "remote": _REMOTE,
        "branch": _text("Local branch to push to its namesake; the current one when left out."),
        "set_upstream": _flag("Make the branch follow the pushed one.", default=True),
    },
    "git_pull": {
        "remote": _REMOTE,
        "branch": _text("Branch of the remote; the upstream of the current one when left out."),
        "strategy": _choice("How to bring it in.", "ff-only", "merge", "rebase"),
    },
    "git_merge": {
        "branch_name": _text("Branch to merge into the current one, such as topic or origin/main."),
        "strategy": _choice("How to merge; squash makes one commit.", "merge", "ff-only", "squash"),
        "message": _text("Message of the merge or squash commit.", _LONGEST_MESSAGE),
    },
}

_REQUIRED: Final[Mapping[str, list[str]]] = {
    "git_checkout": ["branch_name"],
    "git_commit": ["message"],
    "git_merge": ["branch_name"],
}

_REPO_PATH = _text("Repository inside the configured one; the configured one when left out.")

INPUT_SCHEMAS: Final[Mapping[str, Mapping[str, object]]] = {
    name: {
        "type": "object",
        "properties": {**properties, "repo_path": _REPO_PATH},
        "required": _REQUIRED.get(name, []),
        "additionalProperties": False,
    }
    for name, properties in _INPUTS.items()
}
"""Input schema by tool name, in the order in which the tools are listed."""

_TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    "git_status": ("Status", "Show the branch and every staged, unstaged and untracked change."),
    "git_diff": (
        "Diff",
        "Show changes as files and a patch: of the working tree, unless staged or target say else.",
    ),
    "git_log": ("Log", "List commits, newest first."),
    "git_branch": ("Branches", "List branches, or create one when branch_name is given."),
    "git_checkout": ("Check out", "Switch to a branch; refuses to lose local changes."),
    "git_commit": (
        "Commit",
        "Commit what is staged, plus paths, or every change with all. Runs the hooks.",
    ),
    "git_push": ("Push", "Push a branch to its namesake on a remote. Never forces."),
    "git_pull": (
        "Pull",
        "Fetch a branch and fast-forward, merge or rebase. A conflict names files, changes none.",
    ),
    "git_merge": (
        "Merge",
        "Merge a branch into the current one. A conflict names the files and changes nothing.",
    ),
}

# (readOnly, destructive, idempotent, openWorld). A pull with rebase replaces local commits,
# and pulling again may bring something new; a second checkout, push or branch does nothing.
_HINTS: Final[Mapping[str, tuple[bool, bool, bool, bool]]] = {
    "git_status": (True, False, True, False),
    "git_diff": (True, False, True, False),
    "git_log": (True, False, True, False),
    "git_branch": (False, False, True, False),
    "git_checkout": (False, False, True, False),
    "git_commit": (False, False, False, False),
    "git_push": (False, False, True, True),
    "git_pull": (False, True, False, True),
    "git_merge": (False, False, True, False),
}

_HINT_NAMES = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")

TOOLS: Final[tuple[Mapping[str, object], ...]] = tuple(
    {
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": INPUT_SCHEMAS[name],
        "outputSchema": OUTPUT_SCHEMAS[name],
        "annotations": {
            "title": title,
            **dict(zip(_HINT_NAMES, _HINTS[name], strict=True)),
        },
    }
    for name, (title, description) in _TEXTS.items()
)
"""The tools in wire format."""
