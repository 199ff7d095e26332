"""What several of the tools that change the ontology take."""

from collections.abc import Mapping, Sequence
from typing import Final, cast

from remit.servers.arguments import Arguments
from remit.servers.shapes import Schema, text
from remit.servers.toolbox import Hints

_LONGEST_NAME: Final = 512

DATASOURCE: Final = text("Name or id of a datasource; without it, the default one.", _LONGEST_NAME)
TABLE: Final = text("A table, as `table` or `schema.table`.", _LONGEST_NAME)
COLUMN_NAME: Final = text("A column of that table.", _LONGEST_NAME)

STATES: Final = Hints(idempotent=True)
"""Of a tool that says what something is: a second call with the same changes nothing more."""

FORGETS: Final = Hints(idempotent=True)
"""Of a tool that takes back what was said; no data goes with that (S2.12)."""

MOVES: Final = Hints()
"""Of a tool whose second call is refused, or finds more."""

READS: Final = Hints(read_only=True, idempotent=True)


def words(description: str, longest: int) -> Schema:
    """Return a text to be given that may be empty, which clears what was there."""
    return text(description, longest, minLength=0)


def objects_of(arguments: Arguments, name: str, key: str) -> Sequence[Mapping[str, object]] | None:
    """Return a list of objects, where a text stands for one with that *key* alone.

    None where it was left out.
    """
    if not arguments.has(name):
        return None
    every = arguments.items(name)
    return [
        cast("Mapping[str, object]", each) if isinstance(each, dict) else {key: each}
        for each in every
    ]


def texts_of(arguments: Arguments, name: str) -> tuple[str, ...] | None:
    """Return a list of texts, or None where it was left out."""
    return arguments.texts(name) if arguments.has(name) else None
