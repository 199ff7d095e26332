"""What lint finds, and the words that several rules of it share."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from remit.model.contents import Kind, kind_of
from remit.model.declaration import Declaration
from remit.model.tools import ToolId

Offered = Mapping[str, frozenset[str]]
"""Server to the tools it offers, under the names the declaration uses for them (R30)."""

_NAMES_SHOWN = 20


class Severity(StrEnum):
    """How bad it is: `check` fails on an error alone."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing wrong or suspicious in a declaration.

    Attributes:
        code: Stable kebab-case name, from the table of this module.
        message: One line, lower case.
        path: Where, as a path into the declaration such as `roles.designer.allow[0]`.
        remedy: What to do about it, one line.
        server: Whose offer shows it, where one does.
        tool: The name that is granted in vain, where one is.
    """

    code: str
    severity: Severity = Severity.WARNING
    message: str
    path: str
    remedy: str
    server: str = field(default="", compare=False)
    tool: str = field(default="", compare=False)


def tools_known(
    server: str | None, declaration: Declaration, offered: Offered
) -> list[ToolId] | None:
    """List what a pattern over *server* (None: over any) can meet; None when not all is known."""
    enabled = (name for name, config in declaration.servers.items() if config.enabled)
    servers = list(enabled) if server is None else [server]
    if any(name not in offered for name in servers):
        return None
    return [ToolId(name, tool) for name in servers for tool in offered[name]]


def may_be_unlisted(kind: Kind, offered: Iterable[str]) -> bool:
    """Whether what is not among *offered* may exist all the same.

    Resources need not be listed. Of prompts nothing is known where only tools are: a server that
    was not asked for more, since only what its package publishes is known of it.
    """
    if kind is Kind.PROMPT:
        return all(kind_of(name) is Kind.TOOL for name in offered)
    return kind is Kind.RESOURCE


def listed(names: list[str]) -> str:
    """Return the first of *names* in one line, with how many more there are."""
    shown = ", ".join(names[:_NAMES_SHOWN])
    more = len(names) - _NAMES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Name the nearest of *known*, by letter case first, before what to do *otherwise*."""
    ordered = sorted(known)
    same = [known_name for known_name in ordered if known_name.casefold() == name.casefold()]
    nearest = same or difflib.get_close_matches(name, ordered)
    return f"did you mean {nearest[0]!r}? otherwise {otherwise}" if nearest else otherwise
