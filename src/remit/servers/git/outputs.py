"""The shapes of the tools' structured results."""

from collections.abc import Mapping
from typing import Final

Schema = dict[str, object]

_TEXT: Schema = {"type": "string"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_COUNT_OR_NULL: Schema = {"type": ["integer", "null"]}
_FLAG: Schema = {"type": "boolean"}


def _object(optional: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _one_of(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


_CHANGE = _object(("old_path",), path=_TEXT, state=_TEXT, old_path=_TEXT)

OUTPUT_SCHEMAS: Final[Mapping[str, Schema]] = {
    "git_status": _object(
        branch=_TEXT_OR_NULL,
        detached=_FLAG,
        commit=_TEXT_OR_NULL,
        upstream=_TEXT_OR_NULL,
        ahead=_COUNT_OR_NULL,
        behind=_COUNT_OR_NULL,
        under_way=_TEXT_OR_NULL,
        clean=_FLAG,
        staged=_list(_CHANGE),
        unstaged=_list(_CHANGE),
        untracked=_list(_TEXT),
        conflicts=_list(_TEXT),
        truncated=_FLAG,
    ),
    "git_diff": _object(
        files=_list(
            _object(
                ("old_path",),
                path=_TEXT,
                state=_TEXT,
                additions=_COUNT_OR_NULL,
                deletions=_COUNT_OR_NULL,
                old_path=_TEXT,
            )
        ),
        patch=_TEXT,
        truncated=_FLAG,
    ),
    "git_log": _object(
        commits=_list(
            _object(
                commit=_TEXT,
                parents=_list(_TEXT),
                author=_object(name=_TEXT, email=_TEXT),
                authored=_TEXT,
                committed=_TEXT,
                refs=_list(_TEXT),
                subject=_TEXT,
                body=_TEXT,
            )
        ),
        has_more=_FLAG,
        truncated=_FLAG,
    ),
    "git_branch": _object(
        current=_TEXT_OR_NULL,
        branches=_list(
            _object(
                name=_TEXT,
                commit=_TEXT,
                remote=_FLAG,
                current=_FLAG,
                upstream=_TEXT_OR_NULL,
                subject=_TEXT,
            )
        ),
        created={"anyOf": [_object(name=_TEXT, commit=_TEXT), {"type": "null"}]},
        truncated=_FLAG,
    ),
    "git_checkout": _object(
        branch=_TEXT, previous=_TEXT_OR_NULL, commit=_TEXT_OR_NULL, created=_FLAG
    ),
    "git_commit": _object(commit=_TEXT, branch=_TEXT_OR_NULL, subject=_TEXT, files=_list(_TEXT)),
    "git_push": _object(
        remote=_TEXT,
        branch=_TEXT,
        commit=_TEXT,
        result=_one_of("updated", "created", "up-to-date"),
        set_upstream=_FLAG,
    ),
    "git_pull": _object(
        remote=_TEXT,
        branch=_TEXT,
        into=_TEXT_OR_NULL,
        strategy=_one_of("ff-only", "merge", "rebase"),
        result=_one_of("up-to-date", "fast-forward", "merged", "rebased"),
        before=_TEXT_OR_NULL,
        commit=_TEXT,
    ),
    "git_merge": _object(
        branch=_TEXT,
        into=_TEXT_OR_NULL,
        strategy=_one_of("merge", "ff-only", "squash"),
        result=_one_of("up-to-date", "fast-forward", "merged", "squashed"),
        before=_TEXT_OR_NULL,
        commit=_TEXT,
    ),
}
"""Output schema by tool name."""
