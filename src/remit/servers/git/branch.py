"""git_branch and git_checkout: list branches, create them, switch to them."""

from remit.servers.arguments import Arguments
from remit.servers.errors import ToolError
from remit.servers.git.refs import branch_from, current_branch, find_commit, get_commit
from remit.servers.git.repository import Repository

_SCOPES = {
    "local": ("refs/heads",),
    "remote": ("refs/remotes",),
    "all": ("refs/heads", "refs/remotes"),
}
# Neither names nor subjects can hold a line break, so a line is one branch.
_FORMAT = "--format=%(refname)%00%(objectname)%00%(upstream:short)%00%(symref)%00%(subject)"


async def git_branch(repository: Repository, arguments: Arguments) -> dict[str, object]:
    """List branches, or create one without switching to it.

    Raises:
        ToolError: If the new name is not valid or taken, or its base is no commit.
    """
    name, base = arguments.find_text("branch_name"), arguments.find_text("base")
    if name is not None:
        commit = await _create(repository, name, base)
        branches, truncated = await _branches(repository, (f"refs/heads/{name}",))
        created: dict[str, str] | None = {"name": name, "commit": commit}
    elif base is not None:
        raise ToolError("base is where a new branch starts; give its branch_name too")
    else:
        scope = arguments.text("scope", "local")
        branches, truncated = await _branches(repository, _SCOPES[scope])
        created = None
    return {
        "current": await current_branch(repository.git),
        "branches": branches,
        "created": created,
        "truncated": truncated,
    }


async def git_checkout(repository: Repository, arguments: Arguments) -> dict[str, object]:
    """Switch to a branch, which may be new.

    Raises:
        ToolError: If there is no such branch, or local changes are in the way.
    """
    git, create = repository.git, arguments.flag("create")
    name = await branch_from(git, arguments.text("branch_name"))
    previous = await current_branch(git)
    options = ["--create", name] if create else ["--guess", name]
    output = await git.ask("switch", "--no-overwrite-ignore", "--no-progress", *options)
    current = await current_branch(git)
    if not output.ok and current == name != previous:
        raise ToolError(f"now on {name!r}, but the post-checkout hook failed: {output.said}")
    if not output.ok:
        raise ToolError(
            f"could not switch to {name!r}: {output.said}\nnothing changed; commit local changes"
            " that are in the way, see git_branch for the branches, or set create for a new one"
        )
    return {
        "branch": name,
        "previous": previous,
        "commit": await find_commit(git, "HEAD"),
        "created": create,
    }


async def _create(repository: Repository, name: str, base: str | None) -> str:
    git = repository.git
    await branch_from(git, name)
    if base is not None:
        commit = await get_commit(git, base, "base")
    else:
        head = await find_commit(git, "HEAD")
        if head is None:
            raise ToolError(
                "there is no commit to start from; commit first, or use git_checkout with create"
            )
        commit = head
    await git.run("branch", name, commit, advice="choose another branch_name")
    return commit


async def _branches(
    repository: Repository, patterns: tuple[str, ...]
) -> tuple[list[dict[str, object]], bool]:
    """Return the branches under *patterns*, and whether there were too many to show."""
    git = repository.git
    output = await git.ask("for-each-ref", "--sort=refname", _FORMAT, *patterns)
    current = await current_branch(git)
    branches: list[dict[str, object]] = []
    for line in output.out.splitlines(keepends=True):
        fields = line.split("\0")
        # Without its line break, a line was cut by the cap.
        if not line.endswith("\n") or fields[3]:
            continue  # `origin/HEAD` is another name of a branch, not a branch
        reference, commit, upstream = fields[:3]
        remote = reference.startswith("refs/remotes/")
        name = reference.split("/", 2)[2]
        branches.append(
            {
                "name": name,
                "commit": commit,
                "remote": remote,
                "current": not remote and name == current,
                "upstream": upstream or None,
                "subject": fields[4].removesuffix("\n"),
            }
        )
    return branches, output.truncated
