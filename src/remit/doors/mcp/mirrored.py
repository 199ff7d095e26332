"""Arguments that a client mirrors in `Mcp-Param-*` headers must agree with them (2026-07-28)."""

from collections.abc import Mapping
from typing import Any, Final, cast

from remit.calls.directory import CatalogueSource, Directory
from remit.calls.listing import Listing
from remit.doors.asgi import Exchange
from remit.doors.mcp.caller import Caller
from remit.doors.mcp.envelope import Fault, Message, decoded
from remit.model.param_headers import find_disagreement
from remit.model.principals import Principal
from remit.model.protocol import HEADER_MISMATCH, X_MCP_HEADER_KEY
from remit.model.tools import Tool, ToolId
from remit.upstreams.catalogue import Catalogue

MOST_VIEWS: Final = 512
"""Callers' views remembered; beyond it the memory starts anew."""

_TELLTALE: Final = f'"{X_MCP_HEADER_KEY}"'.encode()

Schemas = Mapping[ToolId, object]


class MirroredArguments:
    """Checks the headers against the schemas of the tools that the caller may see.

    Only of those, so that an answer tells nothing of a tool that is hidden (R14).
    """

    def __init__(self, listing: Listing, directory: Directory, catalogues: CatalogueSource) -> None:
        self._listing = listing
        self._directory = directory
        self._catalogues = catalogues
        self._looked_at: Catalogue | None = None
        self._is_any = False
        self._views: dict[tuple[Principal, str | None], tuple[tuple[Tool, ...], Schemas]] = {}

    def fault(self, message: Message, caller: Caller, exchange: Exchange) -> Fault | None:
        """Return what is wrong with the headers of a `tools/call`, or None."""
        catalogue = self._catalogues.catalogue
        if catalogue is not self._looked_at:
            self._looked_at = catalogue
            self._is_any = any(_TELLTALE in t.input_schema for t in catalogue.tools.values())
        if not self._is_any:  # few tools ask for such headers
            return None
        annotated = self._annotated(caller.principal, caller.scope)
        name = decoded(message.param("name"))
        arguments = decoded(message.param("arguments") or b"{}")
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return None
        meant = self._directory.names.find(name, caller.scope)
        tool = next((tool for tool in meant if tool in annotated), None)
        if tool is None:
            return None
        headers = {
            key.decode("latin-1"): value.decode("latin-1")
            for key, value in exchange.headers.items()
        }
        how = find_disagreement(annotated[tool], cast("dict[str, Any]", arguments), headers)
        return None if how is None else Fault(code=HEADER_MISMATCH, message=how)

    def _annotated(self, principal: Principal, scope: str | None) -> Schemas:
        view = self._listing.visible(principal, scope)
        known = self._views.get((principal, scope))
        if known is None or known[0] is not view:
            if len(self._views) >= MOST_VIEWS:
                self._views.clear()
            schemas = {
                tool.id: decoded(tool.input_schema)
                for tool in view
                if _TELLTALE in tool.input_schema
            }
            known = self._views[(principal, scope)] = (view, schemas)
        return known[1]
