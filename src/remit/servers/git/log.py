"""git_log: commits, newest first."""

from remit.servers.arguments import Arguments
from remit.servers.errors import ToolError
from remit.servers.git.dates import known_date
from remit.servers.git.fence import fenced_paths, plain
from remit.servers.git.refs import find_commit, get_range
from remit.servers.git.repository import Repository
from remit.servers.git.run import LISTING_CAP

# No field can hold a NUL, so a fixed number of fields between NULs needs no other separator.
_FIELDS = ("%H", "%P", "%an", "%ae", "%aI", "%cI", "%D", "%s", "%b")
_FORMAT = "--format=" + "%x00".join(_FIELDS)

LONGEST_BODY = 4000
"""Characters of a commit's message, after its first line, that are given."""

_PLAIN = ("--no-show-signature", "--no-patch", "--no-mailmap", "--encoding=UTF-8")


async def git_log(repository: Repository, arguments: Arguments) -> dict[str, object]:
    """List the commits that a ref or range reaches, filtered.

    Raises:
        ToolError: If the ref is no commit, a date is none, or the path is outside.
    """
    git, ref = repository.reader, arguments.find_text("ref")
    wanted = arguments.number("max_count", 20)
    # One more than wanted, to know whether there are more. An author is text, not a pattern.
    page = arguments.number("page", 1)
    options = [f"--max-count={wanted + 1}", f"--skip={(page - 1) * wanted}", "--fixed-strings"]
    for name in ("author", "since", "until"):
        value = arguments.find_text(name)
        if value is not None:
            value = plain(value, name)
            options.append(f"--{name}={value if name == 'author' else known_date(value, name)}")
    path = arguments.find_text("path")
    paths = fenced_paths(repository.top, [] if path is None else [path])
    if ref is not None:
        start = await get_range(git, ref, "ref")
    elif await find_commit(git, "HEAD") is None:
        return {"commits": [], "has_more": False, "next_page": None, "truncated": False}
    else:
        start = "HEAD"
    output = await git.ask(
        *("log", "-z", _FORMAT, *_PLAIN, *options, start, "--", *paths), cap=LISTING_CAP
    )
    if not output.ok:
        raise ToolError(f"git log failed: {output.said}\nsee git_branch for what can be listed")
    fields = output.out.split("\0")
    # Whole commits only: the cap may have cut the last one in two.
    whole = (len(fields) - 1) // len(_FIELDS) * len(_FIELDS)
    starts = range(0, whole, len(_FIELDS))
    commits = [_commit(fields[first : first + len(_FIELDS)]) for first in starts]
    has_more = len(commits) > wanted or output.truncated
    return {
        "commits": commits[:wanted],
        "has_more": has_more,
        "next_page": page + 1 if has_more and not output.truncated else None,
        "truncated": output.truncated or any(len(text) > LONGEST_BODY for text in fields),
    }


def _commit(fields: list[str]) -> dict[str, object]:
    commit, parents, name, email, authored, committed, refs, subject = fields[:-1]
    body = fields[-1].strip()
    return {
        "commit": commit,
        "parents": parents.split(),
        "author": {"name": name, "email": email},
        "authored": authored,
        "committed": committed,
        "refs": refs.split(", ") if refs else [],
        "subject": subject,
        "body": body if len(body) <= LONGEST_BODY else _cut(body),
    }


def _cut(body: str) -> str:
    return f"{body[:LONGEST_BODY]}\n[{len(body) - LONGEST_BODY} more characters]"
