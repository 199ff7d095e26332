"""What columns mean (S2.41)."""

from collections.abc import Mapping
from dataclasses import dataclass

from remit.data.ontology.bodies import body_of, read_body
from remit.data.ontology.names import column_key
from remit.model.ontology import ColumnRole, Item


@dataclass(frozen=True, slots=True, kw_only=True)
class EnumValue:
    """One of the few values that a column holds.

    Attributes:
        label: What it stands for; empty where nobody has said.
    """

    value: str
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMeaning:
    """What is known of a column beside what the database says.

    Attributes:
        entity: Key of the entity that its values name; empty for none.
        role: None where nobody has said.
    """

    schema: str
    table: str
    column: str
    description: str = ""
    entity: str = ""
    role: ColumnRole | None = None
    enum_values: tuple[EnumValue, ...] = ()

    @property
    def key(self) -> str:
        """Under which it is stored."""
        return column_key(self.schema, self.table, self.column)

    @classmethod
    def from_item(cls, item: Item) -> "ColumnMeaning":
        """Read a stored one."""
        return read_body(item, cls)

    def to_body(self) -> Mapping[str, object]:
        """Return it as it is stored."""
        return body_of(self)
