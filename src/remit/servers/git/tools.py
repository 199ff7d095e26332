"""The nine tools as a client sees them."""

from typing import Final

from remit.servers.git.branch import git_branch, git_checkout
from remit.servers.git.commit import git_commit
from remit.servers.git.diff import git_diff
from remit.servers.git.log import git_log
from remit.servers.git.merge import git_merge
from remit.servers.git.outputs import OUTPUT_SCHEMAS
from remit.servers.git.pull import git_pull
from remit.servers.git.push import git_push
from remit.servers.git.schemas import INPUT_SCHEMAS
from remit.servers.git.status import git_status
from remit.servers.toolbox import Hints, ToolMaker

_READS: Final = Hints(read_only=True, idempotent=True)


_tool = ToolMaker(INPUT_SCHEMAS, OUTPUT_SCHEMAS)

# A pull with rebase replaces local commits, and pulling again may bring something new; a second
# checkout, push or branch does nothing.
TOOLS: Final = (
    _tool(
        "git_status",
        "Status",
        "Show the branch and every staged, unstaged and untracked change.",
        _READS,
        git_status,
    ),
    _tool(
        "git_diff",
        "Diff",
        "Show changes as files and a patch: of the working tree, unless staged or target say else.",
        _READS,
        git_diff,
    ),
    _tool("git_log", "Log", "List commits, newest first.", _READS, git_log),
    _tool(
        "git_branch",
        "Branches",
        "List branches, or create one when branch_name is given.",
        Hints(idempotent=True),
        git_branch,
    ),
    _tool(
        "git_checkout",
        "Check out",
        "Switch to a branch; refuses to lose local changes.",
        Hints(idempotent=True),
        git_checkout,
    ),
    _tool(
        "git_commit",
        "Commit",
        "Commit what is staged, plus paths, or every change with all. Runs the hooks.",
        Hints(),
        git_commit,
    ),
    _tool(
        "git_push",
        "Push",
        "Push a branch to its namesake on a remote. Never forces.",
        Hints(idempotent=True, open_world=True),
        git_push,
    ),
    _tool(
        "git_pull",
        "Pull",
        "Fetch a branch and fast-forward, merge or rebase. A conflict names files, changes none.",
        Hints(destructive=True, open_world=True),
        git_pull,
    ),
    _tool(
        "git_merge",
        "Merge",
        "Merge a branch into the current one. A conflict names the files and changes nothing.",
        Hints(idempotent=True),
        git_merge,
    ),
)
"""In the order in which they are listed."""
