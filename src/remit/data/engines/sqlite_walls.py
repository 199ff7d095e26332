"""What a statement on SQLite may do: its own authorizer decides, while it is compiled.

The authorizer is asked for each column that is read, with the view it is read through. The name of
a CTE takes a view's place there, so a view that shows what is not allowed otherwise counts only
where the statement gives that name to nothing else.
"""

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from remit.data.engines.allowing import OWN_NAMES
from remit.data.engines.engine import Allowed
from remit.model.data import EngineKind

_FUNCTIONS: Final = """
abs changes char coalesce concat concat_ws format glob hex if ifnull iif instr last_insert_rowid
length like likelihood likely lower ltrim match max min nullif octet_length printf quote random
replace round rtrim sign soundex sqlite_version substr substring subtype total_changes trim typeof
unhex unicode unistr unlikely upper -> ->>
date time datetime julianday unixepoch strftime timediff current_date current_time current_timestamp
avg count group_concat string_agg sum total median percentile row_number rank dense_rank
percent_rank cume_dist ntile lag lead first_value last_value nth_value
acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod
pi pow power radians sin sinh sqrt tan tanh trunc
json json_array json_array_length json_error_position json_extract json_group_array
json_group_object json_insert json_object json_pretty json_quote json_remove json_replace
json_set json_type json_valid
bm25 highlight snippet
"""

FUNCTIONS: Final = frozenset(_FUNCTIONS.split())
"""Functions that read no file, load nothing, and make nothing large on their own."""

SAFE_MODULES: Final = ("json_each", "json_tree")

SHADOWS: Final = ("_data", "_idx", "_content", "_docsize", "_config", "_segments", "_segdir")
SHADOWS_TOO: Final = ("_stat", "_node", "_parent", "_rowid")
"""How the tables end in which a virtual table keeps what it holds."""

LARGEST: Final = 4 * 1024 * 1024
"""Bytes of a value; what takes the product of two lengths cannot be stopped within."""

MOST_COLUMNS: Final = 2000
"""Columns of a table or a row."""

LIMITS: Final[Mapping[int, int]] = {
    sqlite3.SQLITE_LIMIT_LENGTH: LARGEST,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 1024 * 1024,
    sqlite3.SQLITE_LIMIT_COLUMN: MOST_COLUMNS,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 500,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 200,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 250_000,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 100,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 500,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 50,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
"""What bounds a statement's size and the memory of a single value, in bytes and in pieces."""

CHANGING: Final = frozenset({sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE})

UNCHECKED: Final = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_SAVEPOINT}
)

DEFINING: Final = frozenset(
    {
        sqlite3.SQLITE_CREATE_TABLE,
        sqlite3.SQLITE_CREATE_INDEX,
        sqlite3.SQLITE_CREATE_VIEW,
        sqlite3.SQLITE_CREATE_TRIGGER,
        sqlite3.SQLITE_DROP_TABLE,
        sqlite3.SQLITE_DROP_INDEX,
        sqlite3.SQLITE_DROP_VIEW,
        sqlite3.SQLITE_DROP_TRIGGER,
        sqlite3.SQLITE_ALTER_TABLE,
        sqlite3.SQLITE_REINDEX,
        sqlite3.SQLITE_ANALYZE,
    }
)
"""What a developer's own statement may do beside changing rows; ATTACH and PRAGMA are not in it."""

OF_TABLE: Final = frozenset(
    {
        sqlite3.SQLITE_ALTER_TABLE,
        sqlite3.SQLITE_CREATE_INDEX,
        sqlite3.SQLITE_DROP_INDEX,
        sqlite3.SQLITE_CREATE_TRIGGER,
        sqlite3.SQLITE_DROP_TRIGGER,
    }
)
"""Of these the table is the second thing that is told."""


class Wall:
    """An authorizer for one statement.

    Attributes:
        refused: What was refused first, or empty.
        read: `(table, column)` of everything that was read, lower case.
        changes: Whether the statement is let change something.
    """

    def __init__(
        self,
        sql: str,
        allowed: Allowed,
        *,
        objects: Iterable[str],
        views: Iterable[str],
        triggers: Iterable[str] = (),
        modules: Iterable[str],
        keys: Iterable[tuple[str, str]] = (),
        changing: bool = False,
        defining: bool = False,
    ) -> None:
        self.refused = ""
        self.read: dict[tuple[str, str], None] = {}
        self._sql = sql
        self._allowed = allowed
        self._objects = frozenset(objects)
        self._views = frozenset(views)
        self._triggers = frozenset(triggers)
        self._modules = frozenset(modules).difference(SAFE_MODULES, self._objects)
        self._keys = frozenset(keys)
        self._target = ""
        self._changing = changing or defining
        self._defining = defining
        self.changes = defining
        self._through: set[str] = set()

    def __call__(
        self, action: int, first: str | None, second: str | None, _: str | None, via: str | None
    ) -> int:
        """Answer SQLite; see its documentation of `sqlite3_set_authorizer`."""
        if self._may(action, (first or "").lower(), (second or "").lower(), (via or "").lower()):
            return sqlite3.SQLITE_OK
        self.refused = self.refused or _name_of(action, first, second)
        return sqlite3.SQLITE_DENY

    def _may(self, action: int, first: str, second: str, via: str) -> bool:
        if action in UNCHECKED:
            return True
        if action == sqlite3.SQLITE_READ:
            return self._may_read(first, second, via)
        if action == sqlite3.SQLITE_FUNCTION:
            return second in FUNCTIONS or (self._defining and second.startswith("sqlite_"))
        if action == sqlite3.SQLITE_PRAGMA:
            return first == "data_version"  # full-text search asks it
        if action in CHANGING:
            return self._may_change(first, via)
        if action == sqlite3.SQLITE_TRANSACTION:
            return self._defining
        return self._defining and action in DEFINING and self._may_define(action, first, second)

    def _may_read(self, table: str, column: str, via: str) -> bool:
        self.read[table, column] = None
        if self._defining and table.startswith("sqlite_"):
            return True  # SQLite itself, while it notes what is defined
        if table.startswith(OWN_NAMES[EngineKind.SQLITE]) or table in self._modules:
            return False
        if table not in self._objects or self._is_allowed(table):
            return True  # what is no table is a CTE, or a safe function of the engine
        if via and self._may_read_through(via):
            self._through.add(table)
            return True
        if (table, column) in self._keys and self._changing:
            return True  # SQLite looks whether a foreign key holds
        # of a view's table that no column is wanted of, SQLite does not say the view
        return not column and not via and table in self._through

    def _may_read_through(self, name: str) -> bool:
        if names_itself(self._sql, name):
            return False
        if name in self._views:
            return name in self._through or self._is_allowed(name)
        return self._changing and name in self._triggers

    def _may_change(self, table: str, via: str) -> bool:
        if not self._changing:
            return False
        if table.startswith("sqlite_"):
            return self._defining
        # What is changed after the first is so by triggers and foreign keys, as their owner wants.
        self._target = self._target or table
        return bool(via) or self._target != table or self._may_define_table(table)

    def _may_define(self, action: int, first: str, second: str) -> bool:
        if action in (sqlite3.SQLITE_REINDEX, sqlite3.SQLITE_ANALYZE):
            return True
        return self._may_define_table(second if action in OF_TABLE else first)

    def _may_define_table(self, table: str) -> bool:
        return self._is_allowed(table) or (self._defining and table not in self._objects)

    def _is_allowed(self, table: str) -> bool:
        if self._allowed("", table):
            return True
        base, _, _ = table.rpartition("_")
        is_shadow = table.endswith(SHADOWS + SHADOWS_TOO) and base in self._objects
        return is_shadow and self._allowed("", base)


_WORD = re.compile(
    r"--[^\n]*|/\*.*?(?:\*/|\Z)|\s+"
    r"|'(?:[^']|'')*'|\"(?P<double>(?:[^\"]|\"\")*)\"|`(?P<back>(?:[^`]|``)*)`|\[(?P<square>[^\]]*)\]"
    r"|(?P<word>[\w$]+)|(?P<other>.)",
    re.DOTALL,
)

_UNDOUBLED = re.compile(r"([\"`])\1")


def names_itself(sql: str, view: str) -> bool:
    """Say whether a statement may give a view's name to something of its own, as a CTE does.

    That is where the name is followed by a parenthesis, or by AS and a parenthesis.
    """
    words: list[str] = []
    for found in _WORD.finditer(sql):
        kind = found.lastgroup
        if kind is not None:
            words.append(_UNDOUBLED.sub(r"\1", found.group(kind)).lower())
        elif found.group().startswith("'"):
            words.append(found.group()[1:-1].lower())  # SQLite takes some texts for names
    return any(
        word == view and _begins_something(words[place + 1 : place + 3])
        for place, word in enumerate(words)
    )


def _begins_something(words: Sequence[str]) -> bool:
    match words:
        case ["(", *_] | ["as", "(" | "not" | "materialized"]:
            return True
        case _:
            return False


def _name_of(action: int, first: str | None, second: str | None) -> str:
    if action == sqlite3.SQLITE_READ:
        return f"table {first}"
    if action == sqlite3.SQLITE_FUNCTION:
        return f"the function {second}"
    names = {
        sqlite3.SQLITE_PRAGMA: "PRAGMA",
        sqlite3.SQLITE_ATTACH: "ATTACH",
        sqlite3.SQLITE_DETACH: "DETACH",
        sqlite3.SQLITE_TRANSACTION: "a statement of transactions",
    }
    if action in CHANGING and not str(first).startswith("sqlite_"):
        return f"changing {first}"
    return names.get(action, "defining tables and the like")
