"""What the rows of a table are, in the words of those who use them (S2.41)."""

from collections.abc import Mapping
from dataclasses import dataclass

from remit.data.ontology.bodies import body_of, read_body
from remit.data.ontology.names import folded
from remit.model.ontology import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyColumn:
    """A column that says which one of an entity is meant.

    Attributes:
        synonyms: What else people call it.
    """

    name: str
    synonyms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """An entity, such as `Customer`.

    Attributes:
        name: As it is shown; its key disregards letter case (`names.py`).
        domain: What part of the business it belongs to, such as `sales`.
        schema: Of its primary table; empty where it has none.
        table: Its primary table, as the database spells it; empty where it has none.
        column: The column of that table that tells one from another; empty where none does.
        is_deleted: Whether it was taken away; it keeps its key, and is back once it is written.
    """

    name: str
    description: str = ""
    domain: str = ""
    schema: str = ""
    table: str = ""
    column: str = ""
    aliases: tuple[str, ...] = ()
    key_columns: tuple[KeyColumn, ...] = ()
    is_deleted: bool = False
    deletion_reason: str = ""

    @property
    def key(self) -> str:
        """Under which it is stored."""
        return folded(self.name)

    @classmethod
    def from_item(cls, item: Item) -> "Entity":
        """Read a stored one."""
        return read_body(item, cls)

    def to_body(self) -> Mapping[str, object]:
        """Return it as it is stored."""
        return body_of(self)
