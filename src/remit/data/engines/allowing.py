"""Which tables a datasource's declaration lets be used: schemas, and patterns of names (R8)."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from remit.data.engines.engine import Allowed
from remit.model.data import Datasource, EngineKind

USUAL_SCHEMA: Final[Mapping[EngineKind, str]] = {
    EngineKind.SQLITE: "main",
    EngineKind.POSTGRESQL: "public",
    EngineKind.DUCKDB: "main",
}

OWN_NAMES: Final[Mapping[EngineKind, tuple[str, ...]]] = {
    EngineKind.SQLITE: ("sqlite_", "pragma_"),
    EngineKind.POSTGRESQL: ("pg_",),
    EngineKind.DUCKDB: ("duckdb_", "pragma_", "sqlite_", "pg_"),
}
"""How the names begin that an engine has for itself and that need no schema before them."""

OWN_SCHEMAS: Final = ("information_schema", "pg_catalog", "pg_toast", "sqlite_temp", "temp")
"""Schemas in which an engine keeps what it knows of others."""


def schemas_of(datasource: Datasource) -> tuple[str, ...]:
    """Return the schemas that may be used; the first is where names without one are looked for."""
    return datasource.schemas or (USUAL_SCHEMA[datasource.engine],)


def declared(datasource: Datasource) -> Allowed:
    """Return what says of a schema and a table whether the declaration lets it be used.

    A name without a schema, in a pattern as in a statement, is one of the first schema. Upper and
    lower case count on PostgreSQL alone. What an engine knows of itself (`sqlite_schema`,
    `pg_class`, `information_schema`) is never allowed, whatever a pattern says.
    """
    kind = datasource.engine
    exact = kind is EngineKind.POSTGRESQL
    schemas = tuple(each if exact else each.lower() for each in schemas_of(datasource))
    usual = schemas[0]
    patterns = _patterns(datasource.tables, usual, exact=exact)
    own_names = OWN_NAMES[kind]

    def is_allowed(schema: str, table: str) -> bool:
        if not exact:
            schema, table = schema.lower(), table.lower()
        if table.startswith(own_names) or schema in OWN_SCHEMAS:
            return False
        schema = schema or usual
        if schema not in schemas:
            return False
        return any(pattern.fullmatch(f"{schema}.{table}") for pattern in patterns)

    return is_allowed


def matches(patterns: Sequence[str], datasource: Datasource, schema: str, table: str) -> bool:
    """Say whether one of *patterns*, spelled as `Datasource.tables`, means a table."""
    exact = datasource.engine is EngineKind.POSTGRESQL
    usual = schemas_of(datasource)[0]
    full = f"{schema or usual}.{table}"
    return any(
        each.fullmatch(full if exact else full.lower())
        for each in _patterns(patterns, usual if exact else usual.lower(), exact=exact)
    )


def _patterns(
    patterns: Sequence[str] | None, usual: str, *, exact: bool
) -> tuple[re.Pattern[str], ...]:
    if patterns is None:
        return (re.compile(".*", flags=re.DOTALL),)
    full = (each if "." in each else f"{usual}.{each}" for each in patterns)
    return tuple(_pattern(each if exact else each.lower()) for each in full)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in text.split("*")), flags=re.DOTALL)
