"""The caller itself: who it is, and what it may use."""

from datetime import datetime

import msgspec

from remit.client.operations import Operation, Page, at


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """Who a credential stands for.

    Attributes:
        subject: As `key:ci`.
        act_for: Ids of agents that it may act for.
        admin: Whether it administers its tenant.
        auditor: Whether it reads what administrators of its tenant read, and changes nothing.
        expires: When the credential ends, or None.
    """

    subject: str
    tenant: str
    roles: tuple[str, ...]
    user_roles: tuple[str, ...]
    agent_type: str | None
    groups: tuple[str, ...]
    service: bool
    act_for: tuple[str, ...]
    admin: bool
    auditor: bool
    expires: datetime | None


class VisibleTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that somebody sees.

    Attributes:
        name: What it is called by on the endpoint that was asked about.
        tokens: About what it costs a model to be told of it.
    """

    server: str
    tool: str
    name: str
    tokens: int


class ToolPage(Page[VisibleTool], frozen=True, kw_only=True):
    """Part of the tools that somebody sees.

    Attributes:
        note: Why the list is short or empty; empty when it is neither.
    """

    note: str


def get() -> Operation[Principal]:
    """Who am I?"""
    return Operation(id="me.get", method="GET", path=at("me"), answer=Principal, is_of_tenant=False)


def tools(
    *, server: str | None = None, limit: int | None = None, cursor: str | None = None
) -> Operation[ToolPage]:
    """Which tools do I see, on the endpoint of all servers or of one?"""
    return Operation(
        id="me.tools",
        method="GET",
        path=at("me", "tools"),
        answer=ToolPage,
        query={"server": server, "limit": limit, "cursor": cursor},
        is_of_tenant=False,
    )
