"""The fields of the form of a server (S4.29): which member each is, and with which transport."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

STDIO: Final = "stdio"
HTTP: Final = "http"
SSE: Final = "sse"
BUILTIN: Final = "builtin"
TRANSPORTS: Final = (
    (STDIO, "STDIO: a program on this machine"),
    (HTTP, "Streamable HTTP"),
    (SSE, "HTTP with SSE, of older servers"),
    (BUILTIN, "Built-in: comes with remit"),
)
WAYS: Final = {STDIO: "command", HTTP: "url", SSE: "url", BUILTIN: "builtin"}
"""Transport to the member that says where the server is."""

_LOCAL: Final = frozenset({STDIO, BUILTIN})
_REMOTE: Final = frozenset({HTTP, SSE})
_ALL: Final = frozenset(WAYS)


class Kind(StrEnum):
    """How a field is filled in."""

    TEXT = "text"
    CHOICE = "choice"
    LINES = "lines"
    PAIRS = "pairs"
    NUMBER = "number"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A member of an entry that the form shows.

    Attributes:
        transports: With which it counts.
        options: Of a choice: value and text; the first is what counts when nothing is declared.
        placeholder: What it could be, or the default.
        is_rare: Whether it stands under "More".
    """

    key: str
    label: str
    kind: Kind = Kind.TEXT
    transports: frozenset[str] = _ALL
    hint: str = ""
    options: Sequence[tuple[str, str]] = ()
    placeholder: str = ""
    is_rare: bool = False


_REFERENCE: Final = "A secret is better written as ${NAME}, and set in the gateway's environment."

FIELDS: Final = (
    Field(
        key="default_access",
        label="Default access",
        kind=Kind.CHOICE,
        options=(("allow", "Allow"), ("deny", "Deny")),
        hint="For those who are no administrators. Allow: whoever has a role that reaches the"
        " server may call it. Deny: only whom a role, grant or toolset gives it by name.",
    ),
    Field(
        key="command",
        label="Command",
        transports=frozenset({STDIO}),
        placeholder="npx",
        hint="A program that the gateway finds, or its whole path.",
    ),
    Field(
        key="builtin",
        label="Built-in server",
        transports=frozenset({BUILTIN}),
    ),
    Field(
        key="args",
        label="Arguments",
        kind=Kind.LINES,
        transports=_LOCAL,
        hint="One on each line.",
    ),
    Field(key="env", label="Environment", kind=Kind.PAIRS, transports=_LOCAL, hint=_REFERENCE),
    Field(
        key="env_passthrough",
        label="Passed on from the gateway's environment",
        kind=Kind.LINES,
        transports=_LOCAL,
        hint="Names of variables, one on each line.",
    ),
    Field(
        key="cwd",
        label="Working directory",
        transports=frozenset({STDIO}),
        hint="Relative to the declaration's folder; empty for that folder.",
    ),
    Field(
        key="url",
        label="URL",
        transports=_REMOTE,
        placeholder="https://host.example/mcp",
    ),
    Field(
        key="bearer_token_env_var",
        label="Variable that holds the bearer token",
        transports=_REMOTE,
        placeholder="EXAMPLE_TOKEN",
        hint="Its name; the token itself stays in the gateway's environment.",
    ),
    Field(key="headers", label="Headers", kind=Kind.PAIRS, transports=_REMOTE, hint=_REFERENCE),
    Field(
        key="headers_from_env",
        label="Headers from the environment",
        kind=Kind.PAIRS,
        transports=_REMOTE,
        hint="Name of a header, and of the variable that holds its value.",
    ),
    Field(key="description", label="Description", is_rare=True),
    Field(
        key="timeout",
        label="Seconds that a call may take",
        kind=Kind.NUMBER,
        placeholder="30",
        is_rare=True,
    ),
    Field(
        key="start_timeout",
        label="Seconds to start in",
        kind=Kind.NUMBER,
        placeholder="10",
        is_rare=True,
    ),
    Field(
        key="max_concurrency",
        label="Calls at once",
        kind=Kind.NUMBER,
        placeholder="64",
        is_rare=True,
    ),
    Field(
        key="session",
        label="Connections",
        kind=Kind.CHOICE,
        options=(
            ("", "as usual for its transport"),
            ("shared", "shared: all callers use one"),
            ("principal", "principal: one for each caller"),
        ),
        is_rare=True,
    ),
    Field(
        key="tool_names",
        label="Names of tools",
        kind=Kind.PAIRS,
        hint="Our name, and the server's own name for the same tool.",
        is_rare=True,
    ),
)
