"""PostgreSQL's values as text, which is what most of them are in an answer (`values.py`).

The driver's own loaders make Python's dates of PostgreSQL's, which fails for `infinity` and for
years before Christ, and lose digits of numbers that `values.py` keeps.
"""

from collections.abc import Callable, Sequence
from typing import Final

from psycopg import AsyncConnection, postgres
from psycopg.abc import Buffer
from psycopg.adapt import Loader, Transformer
from psycopg.pq import Format

from remit.data.engines.values import MOST_CELL, MOST_OCTETS, from_json, shortened

_TEXTS: Final = """
date time timetz interval uuid inet cidr macaddr numeric money int4range int8range numrange
daterange tsrange tstzrange int4multirange int8multirange nummultirange datemultirange
tsmultirange tstzmultirange record
"""

_SHORT: Final = """
bool int2 int4 int8 oid float4 float8 date time timetz timestamp timestamptz interval uuid name
inet cidr macaddr
"""

TEXTS: Final = frozenset(postgres.types[name].oid for name in ("text", "varchar", "bpchar"))

SHORT: Final = frozenset(_SHORT.split())
"""Types whose values are never long."""


class AsText(Loader):
    """Takes a value as PostgreSQL writes it."""

    def load(self, data: Buffer) -> object:
        """Return the text."""
        return bytes(data).decode()


class AsTimestamp(Loader):
    """Takes a point in time as RFC 3339 has it; `infinity` stays."""

    def load(self, data: Buffer) -> object:
        """Return the text."""
        text = bytes(data).decode().replace(" ", "T", 1)
        return text.replace("+00", "+00:00")  # sessions are in UTC, and ` BC` may follow


class AsOctets(Loader):
    """Takes bytes in hexadecimal digits, cut."""

    def load(self, data: Buffer) -> object:
        """Return the text."""
        text = bytes(data).decode()
        most = 2 + 2 * MOST_OCTETS
        if len(text) <= most:
            return text
        return f"{text[:most]}… (cut)"


class AsJson(Loader):
    """Takes JSON, its numbers as they are, or as text with every digit; what was cut is text."""

    def load(self, data: Buffer) -> object:
        """Return the value."""
        return from_json(bytes(data).decode())


def take_as_text(connection: AsyncConnection[tuple[object, ...]]) -> None:
    """Have a connection load values as `values.py` says."""
    adapters = connection.adapters
    for name in _TEXTS.split():
        adapters.register_loader(name, AsText)
    for name in ("timestamp", "timestamptz"):
        adapters.register_loader(name, AsTimestamp)
    for name in ("json", "jsonb"):
        adapters.register_loader(name, AsJson)
    adapters.register_loader("bytea", AsOctets)


def type_name(oid: int, connection: AsyncConnection[tuple[object, ...]]) -> str:
    """Return the name of a type, such as `text[]`; empty for one of the database's own."""
    types = connection.adapters.types
    found = types.get(oid) or postgres.types.get(oid)
    if found is None:
        return ""
    name = found.regtype or found.name
    return f"{name}[]" if found.array_oid == oid and found.oid != oid else name


def row_loader(
    oids: Sequence[int], connection: AsyncConnection[tuple[object, ...]], most: int = MOST_CELL
) -> Callable[[Sequence[object]], Sequence[object]]:
    """Return what makes values of the rows that came, those of long types as text.

    What is longer than *most* characters was cut by the database, one character behind that.
    """
    transformer = Transformer(connection)
    loaders = [
        None if is_short(oid) else transformer.get_loader(oid, Format.TEXT).load for oid in oids
    ]

    def load(row: Sequence[object]) -> Sequence[object]:
        return [
            value if loader is None or not isinstance(value, str) else _loaded(value, loader, most)
            for value, loader in zip(row, loaders, strict=True)
        ]

    return load


def _loaded(text: str, load: Callable[[Buffer], object], most: int) -> object:
    if len(text) > most:
        return shortened(text, most)  # it can be read as nothing else
    return load(text.encode())


def is_short(oid: int) -> bool:
    """Say whether no value of a type can be long."""
    found = postgres.types.get(oid)
    return found is not None and found.oid == oid and found.name in SHORT
