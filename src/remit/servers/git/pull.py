"""git_pull: fetch a branch of a configured remote and bring it into the current one."""

from remit.servers.arguments import Arguments
from remit.servers.errors import ToolError
from remit.servers.git.merge import (
    fast_forward,
    is_ancestor,
    merge,
    require_done,
    require_quiet,
    undone_on_failure,
)
from remit.servers.git.obstacles import require_clear
from remit.servers.git.refs import (
    branch_from,
    current_branch,
    find_commit,
    get_commit,
    get_remote,
    require_identity,
    require_text,
)
from remit.servers.git.repository import Repository

_FETCH = (
    "--refmap=",  # a mirror's configured refspec would overwrite local branches
    "--no-prune",
    "--no-write-fetch-head",
    "--no-recurse-submodules",
    "--no-progress",
)
_REBASE = ("--no-autostash", "--no-autosquash", "--no-update-refs", "--no-fork-point", "--no-stat")


async def git_pull(repository: Repository, arguments: Arguments) -> dict[str, object]:
    """Fetch, then fast-forward, merge or rebase.

    Raises:
        ToolError: On conflicts, which are named, and on everything else that stands in the
            way; branch and working tree are then as they were.
    """
    git = repository.git
    strategy = arguments.text("strategy", "ff-only")
    remote = await get_remote(git, arguments.text("remote", "origin"))
    branch = await _branch(repository, remote, arguments.find_text("branch"))
    await require_quiet(repository)
    before = await find_commit(git, "HEAD")
    target = await _fetch(repository, remote, branch)
    if strategy == "ff-only" or before is None:
        result = await fast_forward(repository, target)
    elif strategy == "merge":
        result = await merge(repository, target, f"Merge branch '{branch}' of {remote}")
    else:
        result = await _rebase(repository, target)
    return {
        "remote": remote,
        "branch": branch,
        "into": await current_branch(git),
        "strategy": strategy,
        "result": result,
        "before": before,
        "commit": await find_commit(git, "HEAD"),
    }


async def _branch(repository: Repository, remote: str, name: str | None) -> str:
    """Return the branch to fetch: *name*, or what the current one follows, or its namesake."""
    git = repository.git
    if name is not None:
        return await branch_from(git, name, "branch")
    current = await current_branch(git)
    if current is None:
        raise ToolError("HEAD is detached; name the branch to pull, or git_checkout one first")
    followed = await git.ask("config", "--get", f"branch.{current}.remote")
    if followed.out.removesuffix("\n") == remote:
        ref = await git.ask("config", "--get", f"branch.{current}.merge")
        upstream = ref.out.removesuffix("\n").removeprefix("refs/heads/")
        if upstream:
            return await branch_from(git, upstream, "the configured upstream branch")
    return require_text(current)


async def _fetch(repository: Repository, remote: str, branch: str) -> str:
    """Update the remote-tracking branch and return its commit."""
    tracking = f"refs/remotes/{remote}/{branch}"
    with repository.credentials.given_to(repository.git) as receiver:
        await receiver.run(
            "fetch",
            *_FETCH,
            "--",
            remote,
            f"+refs/heads/{branch}:{tracking}",
            advice="see that the branch exists on the remote and that git has credentials for it"
            " (GIT_CREDENTIALS in the server's environment); nothing changed",
        )
    return await get_commit(repository.git, tracking, "branch")


async def _rebase(repository: Repository, target: str) -> str:
    before = await find_commit(repository.git, "HEAD")
    if await is_ancestor(repository, "HEAD", target):
        return await fast_forward(repository, target)
    await require_clear(repository, target)
    git = await require_identity(repository.git)
    async with undone_on_failure(repository, target, "rebase", "--abort"):
        await require_done(repository, await git.ask("rebase", *_REBASE, target))
    return "up-to-date" if await find_commit(repository.git, "HEAD") == before else "rebased"
