"""get_repository and search_code: what is there."""

import re
from typing import Final

from remit.servers.arguments import Arguments
from remit.servers.errors import ToolError
from remit.servers.github.fields import names
from remit.servers.github.pages import next_page
from remit.servers.github.repository import Repository
from remit.servers.notes import Notes, excerpt
from remit.servers.rest.fields import (
    Fields,
    fields_of,
    find_text,
    flag,
    inner,
    items_of,
    number,
    text,
)
from remit.servers.rest.requests import Asked

_MATCHES: Final = "application/vnd.github.text-match+json"
_MOST_FOUND: Final = 1000
_PLACED: Final = re.compile(r"(?:^|\s)(?:repo|org|user):", re.IGNORECASE)
_FRAGMENTS: Final = 3

_MERGES: Final = {
    "merge": "allow_merge_commit",
    "squash": "allow_squash_merge",
    "rebase": "allow_rebase_merge",
}


async def get_repository(place: Repository, _arguments: Arguments) -> dict[str, object]:
    """Show a repository.

    Raises:
        RestFault: GitHub does not tell.
    """
    fields, notes = fields_of((await place.get()).data), Notes()
    full_name = text(fields, "full_name")
    if full_name.lower() != place.full_name.lower():
        notes.add(f"{place.full_name} was renamed: call it {full_name}")
    return {
        "full_name": full_name,
        "description": text(fields, "description"),
        "url": text(fields, "html_url"),
        "clone_url": text(fields, "clone_url"),
        "default_branch": text(fields, "default_branch"),
        "visibility": text(fields, "visibility")
        or ("private" if flag(fields, "private") else "public"),
        "archived": flag(fields, "archived"),
        "fork": flag(fields, "fork"),
        "language": find_text(fields, "language"),
        "topics": names(fields, "topics", ""),
        "license": find_text(inner(fields, "license"), "spdx_id"),
        "open_issues": number(fields, "open_issues_count"),
        "stars": number(fields, "stargazers_count"),
        "forks": number(fields, "forks_count"),
        "may_push": flag(inner(fields, "permissions"), "push"),
        "merge_methods": [way for way, allowed in _MERGES.items() if flag(fields, allowed)],
        "created_at": text(fields, "created_at"),
        "pushed_at": find_text(fields, "pushed_at"),
        "notes": notes.said(),
    }


async def search_code(place: Repository, arguments: Arguments) -> dict[str, object]:
    """Search the default branches, of the place's repository unless the query says where.

    Raises:
        ToolError: The page is beyond what GitHub shows.
        RestFault: GitHub does not tell.
    """
    query, page = arguments.text("query"), arguments.number("page", 1)
    per_page, notes = arguments.number("per_page", 30), Notes()
    if (page - 1) * per_page >= _MOST_FOUND:
        raise ToolError(f"GitHub shows the first {_MOST_FOUND} finds only; narrow the query")
    if place.owner and _PLACED.search(query) is None:
        query = f"{query} repo:{place.full_name}"
        notes.add(f"searched in {place.full_name} only; a repo:, org: or user: in the query widens")
    reply = await place.client.ask(
        Asked(
            method="GET",
            path="/search/code",
            query={"q": query, "page": page, "per_page": per_page},
            headers={"Accept": _MATCHES},
            reads=True,
            bucket="search",
        )
    )
    fields = fields_of(reply.data)
    incomplete = flag(fields, "incomplete_results")
    if incomplete:
        notes.add("GitHub ran out of time and shows a part; narrow the query")
    return {
        "total_count": number(fields, "total_count"),
        "incomplete": incomplete,
        "items": [_find(item) for item in items_of(fields.get("items"))],
        "page": page,
        "next_page": next_page(reply, page),
        "notes": notes.said(),
    }


def _find(item: Fields) -> dict[str, object]:
    matches = item.get("text_matches")
    fragments = [] if matches is None else names(item, "text_matches", "fragment")
    return {
        "repository": text(inner(item, "repository"), "full_name"),
        "path": text(item, "path"),
        "sha": text(item, "sha"),
        "url": text(item, "html_url"),
        "fragments": [excerpt(one) for one in fragments[:_FRAGMENTS]],
    }
