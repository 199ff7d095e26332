"""Propose roles from what tools say of themselves: reader, writer, admin.

reader  tools that change nothing (`readOnlyHint`)
writer  these, and tools that write and destroy nothing (`destructiveHint: false`)
admin   everything

What a tool does not say counts against it, as in the protocol: no hint means that it may destroy.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from remit.admin.imports.gather import ImportedServer
from remit.admin.imports.switched_off import is_off
from remit.model.tools import Hints

Offers = Mapping[str, Mapping[str, Hints]]
"""Server to its tools and what they claim; a server that is not in it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The proposed roles, and the grants that keep what was switched off.

    Attributes:
        reader: Server to tools.
        writer: Likewise; holds all of `reader`.
        admin_tools: Server to the only tools that were open there.
        admin_patterns: Patterns for servers of which all is open.
        denied: Tools, as `server/tool`, that are denied to everybody.
        unknown: Servers of which nobody knows here what they offer.
    """

    reader: Mapping[str, tuple[str, ...]]
    writer: Mapping[str, tuple[str, ...]]
    admin_tools: Mapping[str, tuple[str, ...]]
    admin_patterns: tuple[str, ...]
    denied: tuple[tuple[str, str], ...]
    unknown: tuple[str, ...]


def propose(servers: Sequence[ImportedServer], offers: Offers) -> Proposal:
    """Return roles over *servers*, as far as it is known what they offer."""
    return Proposal(
        reader=_tools(servers, offers, _reads),
        writer=_tools(servers, offers, _adds),
        admin_tools={
            server.name: open_tools
            for server in servers
            if server.only is not None
            and (open_tools := tuple(tool for tool in server.only if _is_open(server, tool)))
        },
        admin_patterns=tuple(f"{server.name}/*" for server in servers if server.only is None),
        denied=tuple((server.name, tool) for server in servers for tool in server.hidden),
        unknown=tuple(server.name for server in servers if server.name not in offers),
    )


def _reads(hints: Hints) -> bool:
    return hints.read_only is True


def _adds(hints: Hints) -> bool:
    return _reads(hints) or hints.destructive is False


def _tools(
    servers: Sequence[ImportedServer], offers: Offers, fits: Callable[[Hints], bool]
) -> dict[str, tuple[str, ...]]:
    found = {
        server.name: tuple(
            tool
            for tool, hints in offers.get(server.name, {}).items()
            if fits(hints) and _is_open(server, tool)
        )
        for server in servers
    }
    return {name: tools for name, tools in found.items() if tools}


def _is_open(server: ImportedServer, tool: str) -> bool:
    is_named = server.only is None or tool in server.only
    return is_named and not is_off(server.name, tool, server.hidden)
