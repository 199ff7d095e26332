"""Operations of `/api/projects`, whose answers are in an envelope; tenants are in the path."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from remit.client.address import quoted
from remit.client.operations import Operation

T = TypeVar("T")

_PROJECTS: Final = "/api/projects"


def at(tenant: str, *parts: str) -> str:
    """Return a path of a project, which is a tenant, by UUID or name."""
    return "/".join((_PROJECTS, *(quoted(part) for part in (tenant, *parts))))


def reading(name: str, path: str, answer: type[T], **asked: Any) -> Operation[T]:
    """Return what reads something."""
    return Operation(
        id=name,
        method="GET",
        path=path,
        answer=answer,
        query=asked,
        is_of_tenant=False,
        is_wrapped=True,
    )


def sending(
    name: str, path: str, answer: type[T], body: Mapping[str, Any], *, method: str = "POST"
) -> Operation[T]:
    """Return what sends a body, and no reason for the record."""
    return Operation(
        id=name,
        method=method,
        path=path,
        answer=answer,
        body=body,
        is_of_tenant=False,
        is_wrapped=True,
    )


def changing(
    name: str,
    method: str,
    path: str,
    answer: type[T],
    *,
    body: Mapping[str, Any] | None = None,
    if_match: str = "",
    reason: str = "",
) -> Operation[T]:
    """Return what changes something, with a reason for the record."""
    return Operation(
        id=name,
        method=method,
        path=path,
        answer=answer,
        query={"reason": reason or None},
        body=body,
        if_match=if_match,
        is_of_tenant=False,
        is_wrapped=True,
    )
