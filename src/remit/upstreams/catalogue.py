"""What all connected servers offer at one moment: immutable, swapped whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from remit.model.contents import Contents, Item
from remit.model.tools import Tool, ToolId


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """What the servers that are up offer; what they are called says `calls/directory.py`.

    Attributes:
        version: Grows by one with every change; 0 is the empty one before any server is up.
        tools: In the order of the declaration, then of the server's own list.
        by_server: Only the servers that are up.
        contents: What they offer beside tools; only of those that offer any.
        items: Every single thing in them.
        offered: Everything of each server that is up, tools first.
    """

    version: int = 0
    tools: Mapping[ToolId, Tool] = field(default_factory=dict[ToolId, Tool])
    by_server: Mapping[str, tuple[ToolId, ...]] = field(
        default_factory=dict[str, tuple[ToolId, ...]]
    )
    contents: Mapping[str, Contents] = field(default_factory=dict[str, Contents])
    items: Mapping[ToolId, Item] = field(default_factory=dict[ToolId, Item])
    offered: Mapping[str, tuple[ToolId, ...]] = field(default_factory=dict[str, tuple[ToolId, ...]])

    @classmethod
    def build(
        cls,
        version: int,
        offers: Mapping[str, Sequence[Tool]],
        contents: Mapping[str, Contents] | None = None,
    ) -> Self:
        """Return the catalogue of *offers* and *contents*, which are by server."""
        contents = contents or {}
        tools = {tool.id: tool for offered in offers.values() for tool in offered}
        by_server = {
            server: tuple(tool.id for tool in offered) for server, offered in offers.items()
        }
        beside = {server: tuple(item.id for item in one.items) for server, one in contents.items()}
        return cls(
            version=version,
            tools=tools,
            by_server=by_server,
            contents=contents,
            items={item.id: item for one in contents.values() for item in one.items},
            offered={server: (*ids, *beside.get(server, ())) for server, ids in by_server.items()},
        )
