"""The shapes of the ten tools' structured results."""

from collections.abc import Mapping
from typing import Final

from remit.servers.shapes import (
    COUNT,
    COUNT_OR_NULL,
    FLAG,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    list_of,
    one_of,
    or_null,
    record,
)

_FLAG_OR_NULL: Final = or_null(FLAG)
_NOTES: Final[Schema] = {
    **list_of(TEXT),
    "description": "What is left out or remarkable, and how to get more.",
}
_NEXT_PAGE: Final[Schema] = {**COUNT_OR_NULL, "description": "null on the last page"}

_PULL: Final[Mapping[str, Schema]] = {
    "number": COUNT,
    "title": TEXT,
    "state": one_of("open", "closed"),
    "merged": FLAG,
    "draft": FLAG,
    "author": TEXT_OR_NULL,
    "body": TEXT,
    "head": {**TEXT, "description": "Branch with the changes, as owner:branch."},
    "head_sha": TEXT,
    "base": TEXT,
    "mergeable": {**_FLAG_OR_NULL, "description": "null while GitHub is working it out"},
    "mergeable_state": TEXT,
    "merge_commit": {**TEXT_OR_NULL, "description": "null unless it is merged"},
    "merged_by": TEXT_OR_NULL,
    "requested_reviewers": list_of(TEXT),
    "assignees": list_of(TEXT),
    "labels": list_of(TEXT),
    "comments": COUNT,
    "commit_count": COUNT,
    "additions": COUNT,
    "deletions": COUNT,
    "changed_files": COUNT,
    "url": TEXT,
    "created_at": TEXT,
    "updated_at": TEXT,
    "merged_at": TEXT_OR_NULL,
}

_REVIEW: Final = record(
    id=COUNT,
    author=TEXT_OR_NULL,
    state=TEXT,
    body=TEXT,
    commit=TEXT_OR_NULL,
    submitted_at=TEXT_OR_NULL,
    url=TEXT,
)

_PARTS: Final[Mapping[str, Schema]] = {
    "files": list_of(
        record(
            ("previous_path",),
            path=TEXT,
            status=TEXT,
            additions=COUNT,
            deletions=COUNT,
            previous_path=TEXT,
        )
    ),
    "commits": list_of(
        record(sha=TEXT, author=TEXT_OR_NULL, authored_at=TEXT_OR_NULL, message=TEXT)
    ),
    "reviews": list_of(_REVIEW),
    "checks": list_of(record(name=TEXT, status=TEXT, conclusion=TEXT_OR_NULL, url=TEXT_OR_NULL)),
    "diff": TEXT,
}

_COMMENT: Final[Mapping[str, Schema]] = {
    "id": COUNT,
    "author": TEXT_OR_NULL,
    "body": TEXT,
    "url": TEXT,
    "created_at": TEXT,
    "updated_at": TEXT,
}

_ISSUE_BRIEF: Final[Mapping[str, Schema]] = {
    "number": COUNT,
    "title": TEXT,
    "state": one_of("open", "closed"),
    "author": TEXT_OR_NULL,
    "labels": list_of(TEXT),
    "assignees": list_of(TEXT),
    "comment_count": COUNT,
    "url": TEXT,
    "created_at": TEXT,
    "updated_at": TEXT,
}

_ISSUE: Final[Mapping[str, Schema]] = {
    **_ISSUE_BRIEF,
    "body": TEXT,
    "state_reason": TEXT_OR_NULL,
    "milestone": TEXT_OR_NULL,
    "closed_at": TEXT_OR_NULL,
    "is_pull_request": FLAG,
}

_CREATED: Final[Schema] = {
    **FLAG,
    "description": "false when it was there already, so that nothing new was made",
}

OUTPUT_SCHEMAS: Final[Mapping[str, Schema]] = {
    "create_pull_request": record(**_PULL, created=_CREATED, notes=_NOTES),
    "get_pull_request": record(
        tuple(_PARTS), **_PULL, **_PARTS, next_page=_NEXT_PAGE, notes=_NOTES
    ),
    "update_pull_request": record(
        **_PULL, changed=list_of(TEXT), review=or_null(_REVIEW), notes=_NOTES
    ),
    "merge_pull_request": record(
        number=COUNT,
        merged=FLAG,
        already_merged=FLAG,
        commit=TEXT_OR_NULL,
        message=TEXT,
        notes=_NOTES,
    ),
    "create_issue": record(**_ISSUE, created=_CREATED, notes=_NOTES),
    "get_issue": record(
        ("comments", "next_page"),
        **_ISSUE,
        comments=list_of(record(**_COMMENT)),
        next_page=_NEXT_PAGE,
        notes=_NOTES,
    ),
    "add_issue_comment": record(issue_number=COUNT, **_COMMENT, created=_CREATED, notes=_NOTES),
    "list_issues": record(
        issues=list_of(record(**_ISSUE_BRIEF, excerpt=TEXT)),
        page=COUNT,
        next_page=_NEXT_PAGE,
        notes=_NOTES,
    ),
    "get_repository": record(
        full_name=TEXT,
        description=TEXT,
        url=TEXT,
        clone_url=TEXT,
        default_branch=TEXT,
        visibility=TEXT,
        archived=FLAG,
        fork=FLAG,
        language=TEXT_OR_NULL,
        topics=list_of(TEXT),
        license=TEXT_OR_NULL,
        open_issues=COUNT,
        stars=COUNT,
        forks=COUNT,
        may_push=FLAG,
        merge_methods={
            **list_of(one_of("merge", "squash", "rebase")),
            "description": "empty when the token may not know",
        },
        created_at=TEXT,
        pushed_at=TEXT_OR_NULL,
        notes=_NOTES,
    ),
    "search_code": record(
        total_count=COUNT,
        incomplete=FLAG,
        items=list_of(
            record(repository=TEXT, path=TEXT, sha=TEXT, url=TEXT, fragments=list_of(TEXT))
        ),
        page=COUNT,
        next_page=_NEXT_PAGE,
        notes=_NOTES,
    ),
}
"""Output schema by tool name."""
