"""What kind of values a column's declared type stands for, in each engine's words."""

import re
from enum import StrEnum
from typing import Final

from remit.model.data import EngineKind


class Family(StrEnum):
    """What can be asked of a column's values.

    NUMBER, TEXT and TIME have an order that means something; TEXT has lengths, too. BINARY is
    counted and never shown. OTHER is everything else, such as documents, lists, UUIDs and enums.
    """

    NUMBER = "number"
    TEXT = "text"
    TIME = "time"
    BOOLEAN = "boolean"
    BINARY = "binary"
    OTHER = "other"


ORDERED: Final = frozenset({Family.NUMBER, Family.TEXT, Family.TIME})
"""Families whose least and greatest value say something."""

_NUMBERS: Final = frozenset(
    {"smallint", "integer", "bigint", "int", "int1", "int2", "int4", "int8", "tinyint", "hugeint"}
    | {"utinyint", "usmallint", "uinteger", "ubigint", "uhugeint", "bignum"}
    | {"smallserial", "serial", "bigserial"}
    | {"numeric", "decimal", "real", "double", "float", "float4", "float8"}
)
_TEXTS: Final = frozenset({"text", "character", "varchar", "char", "bpchar", "citext", "string"})
_BINARIES: Final = frozenset({"bytea", "blob", "binary", "varbinary"})
_TIMES: Final = frozenset(
    {"date", "time", "timestamp", "timestamptz", "timetz", "datetime"}
    | {f"timestamp_{unit}" for unit in ("s", "ms", "us", "ns")}
)
_BOOLEANS: Final = frozenset({"boolean", "bool", "logical"})
_WORD: Final = re.compile(r"[a-z_][a-z_0-9]*")


def family_of(engine: EngineKind, declared: str) -> Family:
    """Return the family of a declared type, in whatever case and with whatever length."""
    lowered = declared.strip().lower()
    if lowered.endswith("]"):
        return Family.OTHER
    word = _WORD.match(lowered)
    first = word.group() if word else ""
    for family, names in (
        (Family.NUMBER, _NUMBERS),
        (Family.TEXT, _TEXTS),
        (Family.BINARY, _BINARIES),
        (Family.TIME, _TIMES),
        (Family.BOOLEAN, _BOOLEANS),
    ):
        if first in names:
            return family
    return _by_affinity(lowered) if engine is EngineKind.SQLITE else Family.OTHER


def _by_affinity(declared: str) -> Family:
    """Return what SQLite makes of a type that is no usual one (its rules of affinity)."""
    if "int" in declared:
        return Family.NUMBER
    if any(part in declared for part in ("char", "clob", "text")):
        return Family.TEXT
    if "blob" in declared:
        return Family.BINARY
    if any(part in declared for part in ("real", "floa", "doub")):
        return Family.NUMBER
    return Family.OTHER
