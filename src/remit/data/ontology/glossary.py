"""The words of a business, and the SQL that they stand for (S2.41)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from remit.data.ontology.bodies import body_of, read_body
from remit.data.ontology.names import folded
from remit.model.data import Column
from remit.model.ontology import Item


class Enrichment(StrEnum):
    """Whether the SQL of a term is known to work."""

    PENDING = "pending"
    SUCCESS = "success"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A term, such as `Net revenue`.

    Attributes:
        term: As it is shown; its key disregards letter case (`names.py`).
        sql: What it stands for, as a statement that reads; empty where it stands for none.
        base_table: The first table of that, as `schema.table`; empty where there is none.
        output_columns: What the SQL gives, as the database said when it was written.
        enrichment: PENDING as long as there is no SQL, FAILED where it no longer fits the schema.
    """

    term: str
    definition: str = ""
    sql: str = ""
    base_table: str = ""
    output_columns: tuple[Column, ...] = ()
    aliases: tuple[str, ...] = ()
    enrichment: Enrichment = Enrichment.PENDING

    @property
    def key(self) -> str:
        """Under which it is stored."""
        return folded(self.term)

    @classmethod
    def from_item(cls, item: Item) -> "Term":
        """Read a stored one."""
        return read_body(item, cls)

    def to_body(self) -> Mapping[str, object]:
        """Return it as it is stored."""
        return body_of(self)
