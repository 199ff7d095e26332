"""git_push: send a branch to a configured remote, never by force."""

from remit.servers.arguments import Arguments
from remit.servers.errors import ToolError
from remit.servers.git.refs import (
    branch_from,
    current_branch,
    find_commit,
    get_remote,
    require_text,
)
from remit.servers.git.repository import Repository
from remit.servers.git.run import Output

# The flags of `git push --porcelain` that mean success.
_RESULTS = {" ": "updated", "*": "created", "=": "up-to-date"}


async def git_push(repository: Repository, arguments: Arguments) -> dict[str, object]:
    """Push one branch to the branch of the same name.

    Raises:
        ToolError: If the remote or the branch is unknown, or the remote or a hook refuses.
    """
    git = repository.git
    remote = await get_remote(git, arguments.text("remote", "origin"))
    branch = await branch_to_push(repository, arguments.find_text("branch"))
    set_upstream = arguments.flag("set_upstream", default=True)
    upstream = ["--set-upstream"] if set_upstream else []
    # Both sides in full: a short name would pick up a configured `+` refspec, that is, force.
    refspec = f"refs/heads/{branch}:refs/heads/{branch}"
    options = ("--porcelain", "--recurse-submodules=no", *upstream)
    with repository.credentials.given_to(git) as sender:
        output = await sender.ask("push", *options, "--", remote, refspec)
    if not output.ok:
        raise ToolError(f"git push failed: {output.said}\n{_advice(branch, output)}")
    flags = [line[0] for line in output.out.splitlines() if "\t" in line]
    return {
        "remote": remote,
        "branch": branch,
        "commit": await find_commit(git, f"refs/heads/{branch}"),
        "result": _RESULTS.get(flags[0] if flags else "", "updated"),
        "set_upstream": set_upstream,
    }


async def branch_to_push(repository: Repository, name: str | None) -> str:
    """Return the branch *name*, or the current one, which must have a commit.

    Raises:
        ToolError: If there is none.
    """
    git = repository.git
    branch = await (current_branch(git) if name is None else branch_from(git, name, "branch"))
    if branch is None:
        raise ToolError("HEAD is detached; name the branch to push")
    require_text(branch)
    if await find_commit(git, f"refs/heads/{branch}") is None:
        raise ToolError(f"branch {branch!r} has no commit here; see git_branch for the branches")
    return branch


def _advice(branch: str, output: Output) -> str:
    if "[rejected]" in output.out:
        return (
            f"the remote has commits that {branch!r} lacks: git_pull first, then push again"
            " (a push is never forced)"
        )
    if "could not read" in output.err or "Authentication failed" in output.err:
        return (
            "git has no credentials for this remote, or they are refused: have GIT_CREDENTIALS set"
            " (https://USER:TOKEN@HOST) in the server's environment; remit never asks for them"
        )
    return "repair what is named above and push again"
