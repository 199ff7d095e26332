"""The tools, prompts and resources that each server offered when it was last connected.

`explain` and `check` read them, so that they know a server's tools without starting it.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec
from sqlalchemy import delete, insert, select

from remit.model.contents import Item, Kind, kind_of
from remit.model.tools import Hints, Tool, ToolId
from remit.storage.database import Database
from remit.storage.dialects import take_turn
from remit.storage.tables import seen_tools

_ONE_AT_A_TIME: Final = 0x7365656E  # any number that every remit agrees on: "seen"


class _Annotations(msgspec.Struct, rename="camel"):
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None


class _Wire(msgspec.Struct, rename="camel"):
    """The parts of a server's own tool object that a `Tool` shows; every server may err."""

    name: str
    input_schema: msgspec.Raw = msgspec.Raw(b"{}")
    description: msgspec.Raw = msgspec.Raw(b'""')
    annotations: msgspec.Raw = msgspec.Raw(b"{}")


class SeenTools:
    """The catalogue of every tenant as it was last seen."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def replace(
        self, tenant: str, server: str, tools: Sequence[Tool | Item], now: datetime
    ) -> None:
        """Remember *tools* as all that *server* offers, whatever kind they are of."""
        rows = {
            tool.id.name: {
                "tenant": tenant,
                "server": server,
                "name": tool.id.name,
                "wire": tool.wire.decode(errors="replace"),
                "last_seen": now,
            }
            for tool in tools
        }
        async with self._database.writing() as connection:
            # several gateways see the same server come up at once
            await connection.run_sync(take_turn, _ONE_AT_A_TIME)
            await connection.execute(
                delete(seen_tools).where(
                    seen_tools.c.tenant == tenant, seen_tools.c.server == server
                )
            )
            if rows:
                await connection.execute(insert(seen_tools), list(rows.values()))

    async def all_tools(self, tenant: str) -> Sequence[Tool]:
        """Return everything last seen, by server and name; a prompt or a resource as a tool."""
        query = select(seen_tools).where(seen_tools.c.tenant == tenant)
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).all()
        return sorted((_tool(row.server, row.name, row.wire) for row in rows), key=lambda t: t.id)


def _tool(server: str, stored_name: str, text: str) -> Tool:
    wire = text.encode()
    if kind_of(stored_name) is not Kind.TOOL:
        return Tool(id=ToolId(server, stored_name), wire=wire)
    try:
        parts = msgspec.json.decode(wire, type=_Wire)
    except msgspec.MsgspecError:
        parts = _Wire(name=stored_name)
    return Tool(
        id=ToolId(server, parts.name),
        wire=wire,
        input_schema=bytes(parts.input_schema),
        description=_text(parts.description),
        hints=_hints(parts.annotations),
    )


def _text(raw: msgspec.Raw) -> str:
    try:
        return msgspec.json.decode(raw, type=str)
    except msgspec.MsgspecError:
        return ""


def _hints(raw: msgspec.Raw) -> Hints:
    try:
        claims = msgspec.json.decode(raw, type=_Annotations)
    except msgspec.MsgspecError:
        return Hints()
    return Hints(
        read_only=claims.read_only_hint,
        destructive=claims.destructive_hint,
        idempotent=claims.idempotent_hint,
        open_world=claims.open_world_hint,
    )
