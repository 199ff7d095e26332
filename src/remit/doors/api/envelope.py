"""The shapes of `/api/projects`: `{success, data}`, and what a refusal looks like there (S2.14).

A refusal is the problem document of every other route, which also has the members that clients of
this API read: `{"success": false, "error": "resource_conflict", "message": "..."}`.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, Generic, Literal, TypeVar

from pydantic import BaseModel

from remit.errors import DataFailure, KeyNotRecoverable, RemitError, UnknownToolGroup

PROJECTS: Final = "/api/projects"

T = TypeVar("T")

_WORDS: Final[Mapping[type[RemitError], str]] = {
    UnknownToolGroup: "unknown_tool_group",
    KeyNotRecoverable: "key_not_recoverable",
}
"""Refusals that have a word of their own; the others have that of their status (S2.27, S2.45)."""

_OF_STATUS: Final[Mapping[int, str]] = {
    HTTPStatus.UNAUTHORIZED: "invalid_token",
    HTTPStatus.FORBIDDEN: "insufficient_scope",
    HTTPStatus.NOT_FOUND: "not_found",
    HTTPStatus.CONFLICT: "resource_conflict",
    HTTPStatus.UNPROCESSABLE_ENTITY: "invalid_parameters",
    HTTPStatus.SERVICE_UNAVAILABLE: "service_unavailable",
}


class Envelope(BaseModel, Generic[T]):
    """An answer that is no refusal."""

    success: Literal[True] = True
    data: T


def is_project(path: str) -> bool:
    """Whether a path is one of this API's."""
    return path.startswith(f"{PROJECTS}/")


def refusal_members(path: str, status: int, message: str, error: object = None) -> dict[str, Any]:
    """Return what a problem document has beside its own members; nothing on other paths.

    Args:
        path: Of the request.
        status: Of the answer.
        message: Its `detail`.
        error: What was raised, where it was one of ours.
    """
    if not is_project(path):
        return {}
    server_fault = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    usual = _OF_STATUS.get(status, "server_error" if server_fault else "invalid_request")
    told = {"success": False, "message": message}
    if isinstance(error, DataFailure):
        details = {"details": dict(error.details)} if error.details else {}
        return {**told, "error": error.code, **details}
    word = next((_WORDS[kind] for kind in type(error).__mro__ if kind in _WORDS), usual)
    return {**told, "error": word}
