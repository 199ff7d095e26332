"""The shapes of the tools' structured results."""

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

_CHANGE = record(("old_path",), path=TEXT, state=TEXT, old_path=TEXT)

OUTPUT_SCHEMAS: Final[Mapping[str, Schema]] = {
    "git_status": record(
        branch=TEXT_OR_NULL,
        detached=FLAG,
        commit=TEXT_OR_NULL,
        upstream=TEXT_OR_NULL,
        ahead=COUNT_OR_NULL,
        behind=COUNT_OR_NULL,
        under_way=TEXT_OR_NULL,
        clean=FLAG,
        staged=list_of(_CHANGE),
        unstaged=list_of(_CHANGE),
        untracked=list_of(TEXT),
        conflicts=list_of(TEXT),
        counts=record(staged=COUNT, unstaged=COUNT, untracked=COUNT, conflicts=COUNT),
        truncated=FLAG,
    ),
    "git_diff": record(
        files=list_of(
            record(
                ("old_path",),
                path=TEXT,
                state=TEXT,
                additions=COUNT_OR_NULL,
                deletions=COUNT_OR_NULL,
                old_path=TEXT,
            )
        ),
        patch=TEXT,
        page=COUNT,
        next_page=COUNT_OR_NULL,
        summary=record(files=COUNT, additions=COUNT, deletions=COUNT),
        truncated=FLAG,
    ),
    "git_log": record(
        commits=list_of(
            record(
                commit=TEXT,
                parents=list_of(TEXT),
                author=record(name=TEXT, email=TEXT),
                authored=TEXT,
                committed=TEXT,
                refs=list_of(TEXT),
                subject=TEXT,
                body=TEXT,
            )
        ),
        has_more=FLAG,
        next_page=COUNT_OR_NULL,
        truncated=FLAG,
    ),
    "git_branch": record(
        current=TEXT_OR_NULL,
        branches=list_of(
            record(
                name=TEXT,
                commit=TEXT,
                remote=FLAG,
                current=FLAG,
                upstream=TEXT_OR_NULL,
                subject=TEXT,
            )
        ),
        created=or_null(record(name=TEXT, commit=TEXT)),
        total=COUNT,
        next_page=COUNT_OR_NULL,
        truncated=FLAG,
    ),
    "git_checkout": record(branch=TEXT, previous=TEXT_OR_NULL, commit=TEXT_OR_NULL, created=FLAG),
    "git_commit": record(
        commit=TEXT, branch=TEXT_OR_NULL, subject=TEXT, files=list_of(TEXT), file_count=COUNT
    ),
    "git_push": record(
        remote=TEXT,
        branch=TEXT,
        commit=TEXT,
        result=one_of("updated", "created", "up-to-date"),
        set_upstream=FLAG,
    ),
    "git_pull": record(
        remote=TEXT,
        branch=TEXT,
        into=TEXT_OR_NULL,
        strategy=one_of("ff-only", "merge", "rebase"),
        result=one_of("up-to-date", "fast-forward", "merged", "rebased"),
        before=TEXT_OR_NULL,
        commit=TEXT,
    ),
    "git_merge": record(
        branch=TEXT,
        into=TEXT_OR_NULL,
        strategy=one_of("merge", "ff-only", "squash"),
        result=one_of("up-to-date", "fast-forward", "merged", "squashed"),
        before=TEXT_OR_NULL,
        commit=TEXT,
    ),
}
"""Output schema by tool name."""
