"""Who may call what, and why."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

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


class Allowance(msgspec.Struct, frozen=True, kw_only=True):
    """A limit: at most so many calls in any span of so many seconds.

    Attributes:
        rule: Its path into the declaration.
        used: How many calls of the caller count against it now, or None where that is not known.
    """

    rule: str
    calls: int
    seconds: int
    used: int | None


class ArgumentsCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What the gateway's check of a call's arguments says of some.

    Attributes:
        checked: Whether by the tool's schema; else only that they are one JSON object.
        problem: What such a call would be refused with, or None.
    """

    checked: bool
    valid: bool
    problem: str | None


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Yes or no, and what every layer says.

    Attributes:
        layer: The one that decided.
        tool: The tool that was meant, as `server/tool`; None when the name means none.
        available: Whether its server is known to offer it.
        limits: What an allowed call counts against.
        arguments: None when none were sent, or the tool is not on offer now.
    """

    allowed: bool
    layer: str
    rule: str
    reason: str
    revision: int
    tool: str | None
    available: bool
    limits: tuple[Allowance, ...]
    layers: tuple[LayerVerdict, ...]
    arguments: ArgumentsCheck | None


class WhoCan(msgspec.Struct, frozen=True, kw_only=True):
    """Everybody who can call a tool, by name.

    Attributes:
        users: Those that a grant opens it to; see `hats`.
        service_keys: Those of `keys` that are service keys.
        hats: Pairs that can together and not alone.
        available: Whether its server is known to offer the tool.
    """

    roles: tuple[str, ...]
    keys: tuple[str, ...]
    users: tuple[str, ...]
    agents: tuple[str, ...]
    user_roles: tuple[str, ...]
    agent_types: tuple[str, ...]
    service_keys: tuple[str, ...]
    hats: tuple[str, ...]
    available: bool


class MatrixCaller(msgspec.Struct, frozen=True, kw_only=True):
    """Whose row of the matrix it is.

    Attributes:
        subject: SUBJECT spelling, such as `role:guest`.
    """

    subject: str
    name: str


class MatrixTool(msgspec.Struct, frozen=True, kw_only=True):
    """What a column of the matrix is about.

    Attributes:
        tool: As `server/tool`.
        name: Its published name on the endpoint of all servers.
        available: Whether its server is known to offer it.
    """

    tool: str
    server: str
    name: str
    available: bool


class MatrixDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What one or many cells say.

    Attributes:
        layer: The one that decided.
        rule: A path into the declaration, or empty.
    """

    allowed: bool
    layer: str
    rule: str
    reason: str


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """Who can call what: a part of all callers of a kind by all tools.

    Attributes:
        decisions: Those that cells have, each once.
        cells: A row a caller: for each tool, which of `decisions` it is, from 0 on.
        callers_total: How many callers fit what was asked for.
        tools_total: How many tools.
    """

    callers: tuple[MatrixCaller, ...]
    tools: tuple[MatrixTool, ...]
    decisions: tuple[MatrixDecision, ...]
    cells: tuple[tuple[int, ...], ...]
    callers_total: int
    tools_total: int
    revision: int

    def at(self, row: int, column: int) -> MatrixDecision:
        """Return what is decided on one caller and one tool, by their places."""
        return self.decisions[self.cells[row][column]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which callers and tools a matrix is of; what is None may be anything.

    Attributes:
        server: A server's whole name.
        tool: What `server/tool` contains, in any case.
        caller: What the caller's name contains, in any case.
        decision: `allow` or `deny`: callers and tools without such a cell are left out.
    """

    server: str | None = None
    tool: str | None = None
    caller: str | None = None
    decision: str | None = None


ANY = Wanted()
"""Every caller of the kind, and every tool."""


def explain(
    subject: str, tool: str, *, arguments: Mapping[str, Any] | str | None = None
) -> Operation[Explanation]:
    """May *subject* (as `role:guest`) call *tool* (as `git/git_log`), and by which rule?

    Args:
        subject: SUBJECT spelling.
        tool: Any spelling of a tool's name.
        arguments: Those of a call, as values or as the text of a JSON object of at most 4096
            characters; whether they fit.

    Raises:
        TypeError: They are no JSON.
    """
    text = arguments if arguments is None or isinstance(arguments, str) else json.dumps(arguments)
    return Operation(
        id="explain",
        method="GET",
        path=at("explain"),
        answer=Explanation,
        query={"as": subject, "tool": tool, "arguments": text},
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


def matrix(
    wanted: Wanted = ANY,
    *,
    kind: str = "role",
    callers_limit: int | None = None,
    callers_offset: int | None = None,
    tools_limit: int | None = None,
    tools_offset: int | None = None,
) -> Operation[Matrix]:
    """Which callers of a kind may call which tools, and by which rules?

    Args:
        wanted: Which of them.
        kind: `role`, `key`, `agent`, `user_role` or `agent_type`.
        callers_limit: Rows, at most 100; 50 if None.
        callers_offset: How many are left out before them.
        tools_limit: Columns, likewise.
        tools_offset: How many are left out before them.
    """
    return Operation(
        id="authority.matrix",
        method="GET",
        path=at("matrix"),
        answer=Matrix,
        query={
            **asdict(wanted),
            "kind": kind,
            "callers_limit": callers_limit,
            "callers_offset": callers_offset,
            "tools_limit": tools_limit,
            "tools_offset": tools_offset,
        },
    )


def export(wanted: Wanted = ANY, *, kind: str = "role") -> Operation[str]:
    """The whole matrix as CSV, a line a cell; `stream` reads it however long it is."""
    return Operation(
        id="authority.export",
        method="GET",
        path=at("matrix", "export"),
        answer=str,
        query={**asdict(wanted), "kind": kind},
    )
