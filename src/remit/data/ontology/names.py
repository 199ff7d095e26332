"""How names of the ontology are compared, and spelled as keys.

Words that people made (entities, terms, aliases) are one and the same whatever their letter case,
the width of the spaces in them and how their accents are put together: their key is NFC, case
folded, with single spaces. What was written first or last is kept as it was, for show.

Names of tables and columns are the database's own, and kept letter by letter. Who names one finds
it by its exact name, or else by the only one that differs in letter case alone.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

ARROW: Final = "->"
"""Between the two entities of a relationship's key; no entity's name has it."""

_MOST_NEAREST: Final = 3
_LONGEST_COMPARED: Final = 200


def folded(name: str) -> str:
    """Return the key of a word that people made."""
    lower = unicodedata.normalize("NFC", name).casefold()
    return " ".join(unicodedata.normalize("NFC", lower).split())


def relationship_key(from_entity: str, to_entity: str) -> str:
    """Return the key of the relationship between two entities."""
    return f"{folded(from_entity)}{ARROW}{folded(to_entity)}"


def column_key(schema: str, table: str, column: str) -> str:
    """Return the key of what a column means: `schema.table.column`.

    A part with a dot or a quote in it is quoted as SQL does, so that no two columns share a key.
    """
    return ".".join(_quoted(part) for part in (schema, table, column))


def _quoted(part: str) -> str:
    if "." not in part and '"' not in part:
        return part
    doubled = part.replace('"', '""')
    return f'"{doubled}"'


def nearest(name: str, names: Iterable[str]) -> Sequence[str]:
    """Return up to three of *names* that look like *name*, the nearest first."""
    by_key = {folded(each): each for each in names}
    found = get_close_matches(folded(name[:_LONGEST_COMPARED]), by_key, n=_MOST_NEAREST, cutoff=0.5)
    return [by_key[each] for each in found]
