"""A server behind us, as the declaration states it (S4.6, R19)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

DEFAULT_TIMEOUT = 30.0
"""Seconds a call may take unless server or tool says otherwise (R24)."""

LONGEST_TIMEOUT = 600.0
"""Seconds no setting can exceed (R24)."""

DEFAULT_START_TIMEOUT = 10.0
"""Seconds a server has to start, shake hands and list its tools."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
_RESERVED = frozenset({"execute"})


def name_problem(name: str) -> str | None:
    """Say what is wrong with a server's name, or return None."""
    if not _NAME.fullmatch(name):
        return (
            "is no server name: up to 64 letters, digits, `_`, `.` and `-`, a letter or digit first"
        )
    if "__" in name:
        return "is no server name: `__` separates server and tool in published names"
    if name in _RESERVED or _UUID.fullmatch(name):
        return "is no server name: `execute` and UUIDs have another meaning in `/mcp/…`"
    return None


class Transport(StrEnum):
    """How a server is reached."""

    STDIO = "stdio"
    HTTP = "http"
    SSE = "sse"
    BUILTIN = "builtin"


class Session(StrEnum):
    """Who shares one upstream connection (R27)."""

    SHARED = "shared"
    PRINCIPAL = "principal"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSettings:
    """What the declaration says about one tool of a server; None where it says nothing."""

    retry: Literal["never", "safe"] | None = None
    timeout: float | None = None
    critical: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BorrowedNames:
    """A shipped map of names that an entry chose; what it gives is in `tool_names` and `tool_args`.

    Attributes:
        choice: The word that chose it.
        left_out: Names that the map's program cannot serve, each with the reason (R30).
    """

    choice: str
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """One entry of `mcp_servers`.

    Values of `command`, `args`, `env`, `cwd`, `url` and `headers` hold `${NAME}` references as
    written; they are resolved at the last moment (`upstreams/environment.py`), so this value is
    safe to store and to show. Times in seconds, sizes in bytes.

    Attributes:
        default_access: `allow` opens the server within the caller's ceiling; `deny` needs an
            explicit grant (R11).
        session: Who shares a connection; None means the transport's default (R27): shared for
            `builtin` and `http`, one per principal otherwise.
        names: The shipped map that gave some of the next two; None where none was chosen.
        tool_names: Our name to the server's own name (R30).
        tool_args: Our tool name to (our argument name to the server's) (R30).
        max_message: Largest message accepted from the server.
        max_children: Most child processes at once for this server.
    """

    name: str
    transport: Transport = Transport.STDIO
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    env_passthrough: tuple[str, ...] = ()
    env_inherit: Literal["minimal", "all"] = "minimal"
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    headers_from_env: Mapping[str, str] = field(default_factory=dict[str, str])
    bearer_token_env_var: str = ""
    builtin: str = ""
    description: str = ""
    enabled: bool = True
    default_access: Literal["allow", "deny"] = "allow"
    session: Session | None = None
    timeout: float = DEFAULT_TIMEOUT
    start_timeout: float = DEFAULT_START_TIMEOUT
    max_concurrency: int = 64
    max_message: int = 64 * 1024 * 1024
    max_children: int = 32
    names: BorrowedNames | None = None
    tool_names: Mapping[str, str] = field(default_factory=dict[str, str])
    tool_args: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    tools: Mapping[str, ToolSettings] = field(default_factory=dict[str, ToolSettings])
    allow_unclaimed: bool = False

    @property
    def is_shared(self) -> bool:
        """Whether all callers use one connection to this server (R27)."""
        if self.session is not None:
            return self.session is Session.SHARED
        return self.transport in (Transport.BUILTIN, Transport.HTTP)

    def names_of(self, theirs: str) -> tuple[str, ...]:
        """Return what we call a tool of the server: nothing when its name is taken for another."""
        named = tuple(ours for ours, their in self.tool_names.items() if their == theirs)
        return named or (() if theirs in self.tool_names else (theirs,))

    def timeout_of(self, tool: str) -> float:
        """Return the seconds one call of *tool* may take (R24)."""
        settings = self.tools.get(tool)
        own = settings.timeout if settings is not None else None
        return min(own if own is not None else self.timeout, LONGEST_TIMEOUT)

    def retry_of(self, tool: str) -> Literal["never", "safe"] | None:
        """Return what the entry says of repeating a call of *tool* that failed (R23)."""
        settings = self.tools.get(tool)
        return settings.retry if settings is not None else None


class ServerState(StrEnum):
    """Where a server stands; `upstreams/upstream.py` draws how one leads to another.

    Attributes:
        STARTING: The first attempt to connect is being made.
        READY: Connected, and its tools are known.
        DEGRADED: Its tools are on offer, but something is amiss: the connection was lost and is
            being opened anew, or its list could not be read again.
        BACKING_OFF: It cannot be reached, and is tried again after a pause that grows.
        QUARANTINED: It failed so often that it is only probed now and then.
        STOPPED: It is not meant to run, or must not, or cannot as it is declared.
    """

    STARTING = "starting"
    READY = "ready"
    DEGRADED = "degraded"
    BACKING_OFF = "backing_off"
    QUARANTINED = "quarantined"
    STOPPED = "stopped"

    @property
    def is_up(self) -> bool:
        """Whether its tools are on offer."""
        return self in (ServerState.READY, ServerState.DEGRADED)

    @property
    def may_come(self) -> bool:
        """Whether a server that is not up is still being tried."""
        return self in (ServerState.STARTING, ServerState.BACKING_OFF, ServerState.QUARANTINED)

    @property
    def in_words(self) -> str:
        """For a sentence: `server 'git' is backing off`."""
        return self.value.replace("_", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTrial:
    """What came of one attempt at a server; for people, never a secret's value.

    Attributes:
        reason: Why it could not be used, one line; empty when it could.
        protocol: The MCP revision that it speaks, or empty.
        tools: Its own names of what it offers.
        notes: What would be left out of its list, or looks odd about it.
        ms: Milliseconds that it took.
        tokens: What the list of all its tools costs a model, about.
        memory: Bytes of its process and what that started; None where it has none here.
        skew: Seconds by which its clock is ahead of ours; None where it tells no time.
    """

    reason: str = ""
    protocol: str = ""
    tools: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    ms: float = 0.0
    tokens: int = 0
    memory: int | None = None
    skew: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """A server's state for people: never a secret's value.

    Attributes:
        reason: Why it is not ready, one line; empty when it is.
        tools: How many tools it offers.
        protocol: The MCP revision spoken with it, or empty.
        stderr_tail: The last output of a child process, at most some KiB.
        notes: What was left out or looked odd, one line each.
        failures: Attempts that failed and are not forgotten yet; 0 for one that is steady.
        retry_in: Seconds until the next attempt; None when none is waited for.
        connections: How many are open or being opened; of a stdio server each is a child process.
        processes: The ids of its child processes; each leads a group of its own.
        in_flight: Calls under way, those that wait for their turn included.
    """

    name: str
    transport: Transport
    state: ServerState
    reason: str = ""
    tools: int = 0
    protocol: str = ""
    stderr_tail: str = ""
    notes: tuple[str, ...] = ()
    failures: int = 0
    retry_in: float | None = None
    connections: int = 0
    processes: tuple[int, ...] = ()
    in_flight: int = 0

    @property
    def children(self) -> int:
        """How many child processes run for it."""
        return self.connections if self.transport is Transport.STDIO else 0
