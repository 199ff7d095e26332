"""Who may call what, and why."""

import msgspec

from remit.client.me import ToolPage
from remit.client.operations import Operation, at


class LayerVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What one layer of the policy says.

    Attributes:
        verdict: `allow`, `deny` or `silent`.
    """

    layer: str
    verdict: str
    rule: str
    reason: str


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Yes or no, and what every layer says.

    Attributes:
        layer: The one that decided.
        tool: The tool that was meant, as `server/tool`; None when the name means none.
        available: Whether its server is known to offer it.
    """

    allowed: bool
    layer: str
    rule: str
    reason: str
    revision: int
    tool: str | None
    available: bool
    layers: tuple[LayerVerdict, ...]


class WhoCan(msgspec.Struct, frozen=True, kw_only=True):
    """Everybody who can call a tool, by name.

    Attributes:
        users: Those that a grant opens it to; see `hats`.
        service_keys: Those of `keys` that are service keys.
        hats: Pairs that can together and not alone.
    """

    roles: tuple[str, ...]
    keys: tuple[str, ...]
    users: tuple[str, ...]
    agents: tuple[str, ...]
    user_roles: tuple[str, ...]
    agent_types: tuple[str, ...]
    service_keys: tuple[str, ...]
    hats: tuple[str, ...]


def explain(subject: str, tool: str) -> Operation[Explanation]:
    """May *subject* (as `role:guest`) call *tool* (as `git/git_log`), and by which rule?"""
    return Operation(
        id="explain",
        method="GET",
        path=at("explain"),
        answer=Explanation,
        query={"as": subject, "tool": tool},
    )


def who_can(tool: str) -> Operation[WhoCan]:
    """Who can call *tool*?"""
    return Operation(
        id="who_can", method="GET", path=at("who-can"), answer=WhoCan, query={"tool": tool}
    )


def tools(
    subject: str,
    *,
    server: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Operation[ToolPage]:
    """Which tools does *subject* see?"""
    return Operation(
        id="tools.list",
        method="GET",
        path=at("tools"),
        answer=ToolPage,
        query={"as": subject, "server": server, "limit": limit, "cursor": cursor},
    )
