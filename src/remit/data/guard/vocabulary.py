"""The words by which a statement is judged, from data files: functions, words of SQL, nodes."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

import yaml

from remit.data.engines.allowing import OWN_NAMES, OWN_SCHEMAS
from remit.model.data import EngineKind

_SYSTEM: Final[Mapping[EngineKind, tuple[str, ...]]] = {
    **OWN_NAMES,
    # its table-valued functions, too
    EngineKind.SQLITE: (
        *OWN_NAMES[EngineKind.SQLITE],
        "dbstat",
        "fts3tokenize",
        "bytecode",
        "tables_used",
    ),
}
"""How names of tables that are the engine's own begin, where no schema is named."""

_SYSTEM_SCHEMAS: Final = (*OWN_SCHEMAS, "system")


@cache
def allowed_functions(engine: EngineKind) -> frozenset[str]:
    """Return the names, lower case, of the functions that may be called."""
    listed = _listed("functions.yaml")
    return frozenset((listed["every"] + " " + listed[engine.value]).split())


@cache
def words(of: str) -> frozenset[str]:
    """Return what `words.yaml` lists under a heading."""
    return frozenset(_listed("words.yaml")[of].split())


def _listed(file: str) -> Mapping[str, str]:
    text = files("remit.data.guard").joinpath(file).read_text(encoding="utf-8")
    listed: Mapping[str, str] = yaml.safe_load(text)
    return listed


def is_system_table(schema: str, table: str, engine: EngineKind) -> bool:
    """Return whether a table tells of the database itself."""
    schema, table = schema.lower(), table.lower()
    if schema in _SYSTEM_SCHEMAS or schema.startswith("pg_"):
        return True
    if schema and engine is EngineKind.POSTGRESQL:
        return False
    return table.startswith(_SYSTEM[engine])
