"""The `data` server, for callers that the gateway has let in: 49 tools over real databases.

Which of them a caller has, policy decides (`policy/toolsets.py`); what each may do, its desk.
"""

import json
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Final
from weakref import WeakValueDictionary

from remit.calls.ids import new_id
from remit.data.core import CORE_TOOLS
from remit.data.desk import Desk, Sources, Stores
from remit.data.engines.places import Places
from remit.data.ontology.change_tools import CHANGE_TOOLS
from remit.data.ontology.deletion_tools import DELETION_TOOLS
from remit.data.ontology.question_tools import QUESTION_TOOLS
from remit.data.ontology.statement_tools import STATEMENT_TOOLS
from remit.data.probes.tools import PROBE_TOOLS
from remit.data.queries.tools import QUERY_TOOLS
from remit.data.reading.tools import READING_TOOLS
from remit.errors import (
    BadCall,
    Conflict,
    DataFailure,
    NotFound,
    Refused,
    RemitError,
    StorageUnavailable,
    UpstreamUnavailable,
)
from remit.identity.clock import utc_now
from remit.model.data import MOST_SECONDS, DataCode, Screening
from remit.model.principals import Principal
from remit.policy.toolsets import PLACES
from remit.servers.arguments import Arguments
from remit.servers.errors import ToolError
from remit.servers.toolbox import Tool, ToolServer, admit_nobody, failed

_TIME_LIMIT: Final = MOST_SECONDS + 5.0

_CODES: Final[Mapping[type[RemitError], DataCode]] = {
    BadCall: DataCode.INVALID_PARAMETERS,
    Conflict: DataCode.RESOURCE_CONFLICT,
    NotFound: DataCode.NOT_FOUND,
    Refused: DataCode.QUERY_NOT_AUTHORIZED,
}
"""What errors of the rest of remit are called here, most specific first (S2.45)."""


def in_order(*groups: Iterable[Tool[Desk]]) -> tuple[Tool[Desk], ...]:
    """Return the tools of all groups in the one canonical order (S2.9)."""
    return tuple(sorted((tool for group in groups for tool in group), key=_place))


def _place(tool: Tool[Desk]) -> int:
    return PLACES[tool.name]


MOST_OF_ONE: Final = 15
"""Calls of one caller that are worked on at once: a quarter of a datasource's usual places."""

TOOLS: Final = in_order(
    CORE_TOOLS,
    QUERY_TOOLS,
    READING_TOOLS,
    PROBE_TOOLS,
    QUESTION_TOOLS,
    STATEMENT_TOOLS,
    DELETION_TOOLS,
    CHANGE_TOOLS,
)
"""All of them, in the order in which they are listed."""


class DataServer(ToolServer[Desk]):
    """The server.

    Args:
        stores: Where everything is kept.
        sources: Opens datasources.
        screening: Says of a tenant what becomes of values that look like injections (R35).
    """

    def __init__(
        self,
        stores: Stores,
        sources: Sources,
        screening: Callable[[str], Screening],
    ) -> None:
        super().__init__("data", TOOLS, admit_nobody, time_limit=_TIME_LIMIT)
        self._stores = stores
        self._sources = sources
        self._screening = screening
        self._shares = WeakValueDictionary[tuple[str, str], Places]()

    async def call_for(
        self,
        principal: Principal,
        name: str,
        arguments: Mapping[str, object],
        meta: Mapping[str, object],
    ) -> Mapping[str, object]:
        """Call a tool as *principal* and return its result in wire format.

        Raises:
            KeyError: There is no such tool.
            UpstreamUnavailable: The database of the gateway cannot be used now.
        """
        del meta
        try:
            enter = partial(_at, self.desk(principal, name), self._share_of(principal))
            return await self.call_at(enter, name, arguments)
        except StorageUnavailable as error:
            # whether its last transaction took effect is not known
            raise UpstreamUnavailable(f"cannot: {error}", sent=True, transient=True) from error

    def _share_of(self, principal: Principal) -> Places:
        """Return the places of one caller, which are gone once nobody holds or awaits one."""
        who = (principal.tenant, principal.subject)
        return self._shares.setdefault(who, Places(MOST_OF_ONE, where="for one caller"))

    def desk(self, principal: Principal, tool: str) -> Desk:
        """Return where a call of *tool* by *principal* is worked on."""
        return Desk(
            principal=principal,
            tenant=principal.tenant,
            tool=tool,
            stores=self._stores,
            sources=self._sources,
            screening=self._screening(principal.tenant),
            clock=utc_now,
            new_id=new_id,
        )

    def told_of(self, error: ToolError) -> Mapping[str, object]:
        """Return a failure as S2.45 has it: JSON for the model, and its code for other doors."""
        code = error.code or DataCode.QUERY_ERROR
        if code == BadCall.code:  # what the check of the arguments says
            code = DataCode.INVALID_PARAMETERS
        told: dict[str, object] = {"error": True, "code": code, "message": str(error)}
        if error.details:
            told["details"] = dict(error.details)
        return failed(json.dumps(told, ensure_ascii=False, default=str), code)


def list_only() -> ToolServer[Desk]:
    """Return a server that shows its tools to somebody who has no gateway to call them in."""
    return ToolServer("data", TOOLS, admit_nobody)


@asynccontextmanager
async def _at(
    desk: Desk, share: Places, _tool: Tool[Desk], _arguments: Arguments
) -> AsyncGenerator[Desk]:
    """Open the desk, and say in words what cannot be done at it."""
    try:
        async with share.one():
            yield desk
    except DataFailure as failure:
        raise ToolError(str(failure), code=failure.code, details=failure.details) from failure
    except tuple(_CODES) as error:
        code = next(code for kind, code in _CODES.items() if isinstance(error, kind))
        raise ToolError(str(error), code=code) from error
