"""What the ten tools take (tools.md), and what is added to it."""

from collections.abc import Mapping
from typing import Final

from remit.servers.notes import DEFAULT_LENGTH, MOST_LENGTH
from remit.servers.shapes import (
    LONGEST_TEXT,
    Schema,
    choice,
    count,
    flag,
    given,
    one_of,
    text,
    texts,
)

_TITLE: Final = 1024
_NAME: Final = 255
_PULL: Final = count("Number of the pull request.", None, 1, 2**31 - 1)
_ISSUE: Final = count("Number of the issue.", None, 1, 2**31 - 1)
_PAGE: Final = count("Which page.", 1, 1, 10_000)
_PER_PAGE: Final = count("How many on a page.", 30, 1, 100)
_BODY: Final = text("Text, in Markdown.", LONGEST_TEXT)
_MAX_CHARS: Final = count("Characters after which a text is cut.", DEFAULT_LENGTH, 100, MOST_LENGTH)
_KEY: Final = text(
    "A text of your own that stands for this one request. A second call with the same key makes"
    " nothing new and returns what the first one made; the key is kept in the text, unseen.",
    100,
    pattern="^[A-Za-z0-9._:/-]+$",
)

_PARTS: Final = ("files", "commits", "reviews", "checks", "diff")

_INPUTS: Final[Mapping[str, tuple[Mapping[str, Schema], tuple[str, ...]]]] = {
    "create_pull_request": (
        {
            "title": text("Title.", _TITLE),
            "head": text(
                "Branch with the changes, such as topic or, in a fork, user:topic.", _NAME
            ),
            "base": text("Branch that is to take them.", _NAME),
            "body": _BODY,
            "draft": flag("Whether it is not ready for review."),
        },
        ("title", "head", "base"),
    ),
    "get_pull_request": (
        {
            "pull_number": _PULL,
            "include": {
                "type": "array",
                "items": one_of(*_PARTS),
                "uniqueItems": True,
                "description": "What to show beside the pull request itself.",
            },
            "page": count("Which page of files, commits, reviews and checks.", 1, 1, 100),
            "max_chars": _MAX_CHARS,
            "diff_from": count("Character at which the diff is to begin.", 0, 0, 2**31 - 1),
        },
        ("pull_number",),
    ),
    "update_pull_request": (
        {
            "pull_number": _PULL,
            "title": text("New title.", _TITLE),
            "body": {**_BODY, "minLength": 0, "description": "New text, in Markdown."},
            "state": {**one_of("open", "closed"), "description": "New state."},
            "base": text("New branch to take the changes.", _NAME),
            "reviewers": texts("Users to ask for a review.", _NAME, 15),
            "review": given(
                {
                    "event": {
                        **one_of("APPROVE", "REQUEST_CHANGES", "COMMENT"),
                        "description": "What the review says.",
                    },
                    "body": text("Text of the review; only APPROVE goes without.", LONGEST_TEXT),
                },
                ["event"],
            ),
        },
        ("pull_number",),
    ),
    "merge_pull_request": (
        {
            "pull_number": _PULL,
            "merge_method": choice("How to merge.", "merge", "squash", "rebase"),
            "commit_title": text("Title of the commit.", _TITLE),
            "commit_message": text("Rest of the commit's message.", LONGEST_TEXT),
            "sha": text(
                "Commit that the head must be at, so that nothing unseen is merged.",
                64,
                pattern="^[0-9a-f]{40,64}$",
            ),
        },
        ("pull_number",),
    ),
    "create_issue": (
        {
            "title": text("Title.", _TITLE),
            "body": _BODY,
            "labels": texts("Labels.", _NAME, 100),
            "assignees": texts("Users who are to do it.", _NAME, 10),
            "idempotency_key": _KEY,
        },
        ("title",),
    ),
    "get_issue": (
        {
            "issue_number": _ISSUE,
            "comments": flag("Whether to show the comments, oldest first."),
            "page": count("Which page of the comments, 30 on each.", 1, 1, 10_000),
            "max_chars": _MAX_CHARS,
        },
        ("issue_number",),
    ),
    "add_issue_comment": (
        {
            "issue_number": count("Number of the issue or pull request.", None, 1, 2**31 - 1),
            "body": _BODY,
            "idempotency_key": _KEY,
        },
        ("issue_number", "body"),
    ),
    "list_issues": (
        {
            "state": choice("Which ones.", "open", "closed", "all"),
            "labels": texts("Only those with all of these labels.", _NAME, 100),
            "assignee": text("Only those of this user; * for any user, none for nobody.", _NAME),
            "since": text(
                "Only those changed at or after this time, such as 2026-01-31T00:00:00Z.", 40
            ),
            "page": _PAGE,
            "per_page": _PER_PAGE,
        },
        (),
    ),
    "get_repository": ({}, ()),
    "search_code": (
        {
            "query": text(
                "Words and qualifiers as GitHub's code search takes them, such as"
                " 'parse path:src language:python'.",
                256,
            ),
            "page": count("Which page.", 1, 1, 1000),
            "per_page": _PER_PAGE,
        },
        ("query",),
    ),
}

_ANYWHERE: Final = frozenset({"search_code"})
"""Tools that do without a repository."""


def input_schemas(owner: str, repo: str) -> Mapping[str, Schema]:
    """Return the input schema by tool name, in the order in which the tools are listed.

    Args:
        owner: Of the repository of calls that name none; empty when there is none.
        repo: Its name.
    """
    pattern = "^[A-Za-z0-9._-]+$"
    own = {
        "owner": text("Whose repository it is.", _NAME, pattern=pattern),
        "repo": text("Name of the repository.", _NAME, pattern=pattern),
    }
    if owner:
        own = {
            "owner": {**own["owner"], "default": owner},
            "repo": {**own["repo"], "default": repo},
        }
    return {
        name: given(
            {**properties, **own},
            [*required, *([] if owner or name in _ANYWHERE else own)],
        )
        for name, (properties, required) in _INPUTS.items()
    }
