"""The configuration API of a project: options of its toolsets, and its service key (S2.13-S2.26).

A project is a tenant, by UUID or name.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

import msgspec

from remit.client.address import quoted
from remit.client.operations import Operation

T_co = TypeVar("T_co", covariant=True)

_PROJECTS: Final = "/api/projects"


class Answer(msgspec.Struct, Generic[T_co], frozen=True, kw_only=True):
    """An answer of this API, which has what was asked for in `data`."""

    data: T_co
    success: bool = True


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """A tool in words."""

    name: str
    description: str


class Config(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The options, and what they open to whom.

    Attributes:
        tool_groups: Group to its options.
        user_tools: For the user role `user`.
        developer_tools: For the user roles `admin`, `data` and `developer`.
        agent_tools: For service keys.
        enabled_tools: Whatever is in one of the three lists.
    """

    server_url: str
    tool_groups: dict[str, dict[str, bool]]
    user_tools: tuple[Described, ...]
    developer_tools: tuple[Described, ...]
    agent_tools: tuple[Described, ...]
    enabled_tools: tuple[Described, ...]


class AgentKey(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The service key of a project.

    Attributes:
        key: Its secret in the one answer that makes it, else masked, or None without a key.
        masked: Whether it is.
    """

    key: str | None
    masked: bool
    name: str
    server_url: str
    created: datetime | None = None
    expires: datetime | None = None
    last_used: datetime | None = None

    def __repr__(self) -> str:
        """Name the key without its secret."""
        return f"AgentKey(name={self.name!r}, masked={self.masked!r})"


def config(tenant: str) -> Operation[Answer[Config]]:
    """The options of a project."""
    return Operation(
        id="projects.config",
        method="GET",
        path=_at(tenant, "config"),
        answer=Answer[Config],
        is_of_tenant=False,
    )


def configure(
    tenant: str, patch: Mapping[str, Any], *, reason: str = ""
) -> Operation[Answer[Config]]:
    """Change options of a project; *patch* is in the spelling of the API (`addQueryTools`)."""
    return Operation(
        id="projects.configure",
        method="PATCH",
        path=_at(tenant, "config"),
        answer=Answer[Config],
        query={"reason": reason or None},
        body=patch,
        is_of_tenant=False,
    )


def agent_key(tenant: str) -> Operation[Answer[AgentKey]]:
    """The service key of a project, masked."""
    return Operation(
        id="projects.agent_key",
        method="GET",
        path=_at(tenant, "agent-key"),
        answer=Answer[AgentKey],
        is_of_tenant=False,
    )


def regenerate_agent_key(tenant: str, *, reason: str = "") -> Operation[Answer[AgentKey]]:
    """Make the service key of a project, or give it a new secret."""
    return Operation(
        id="projects.regenerate_agent_key",
        method="POST",
        path=f"{_at(tenant, 'agent-key')}/regenerate",
        answer=Answer[AgentKey],
        query={"reason": reason or None},
        is_of_tenant=False,
    )


def revoke_agent_key(tenant: str, *, reason: str = "") -> Operation[Answer[AgentKey]]:
    """End the service key of a project."""
    return Operation(
        id="projects.revoke_agent_key",
        method="DELETE",
        path=_at(tenant, "agent-key"),
        answer=Answer[AgentKey],
        query={"reason": reason or None},
        is_of_tenant=False,
    )


def _at(tenant: str, what: str) -> str:
    return f"{_PROJECTS}/{quoted(tenant)}/mcp/{what}"
