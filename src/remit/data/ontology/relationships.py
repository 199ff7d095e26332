"""How entities belong together (S2.41)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from remit.data.ontology.bodies import body_of, read_body
from remit.data.ontology.names import relationship_key
from remit.model.ontology import Cardinality, Item


class Detection(StrEnum):
    """How a relationship was found."""

    FOREIGN_KEY = "foreign_key"
    DATA_SCAN = "data_scan"
    STATED = "stated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """Two columns whose values are the same, each of a table as the database spells it."""

    from_schema: str
    from_table: str
    from_column: str
    to_schema: str
    to_table: str
    to_column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Relationship:
    """A relationship between two entities; there is one for each pair and direction.

    Attributes:
        from_entity: The entity's key.
        to_entity: The entity's key.
        label: How one stands to the other, such as `places`.
        joins: Several where one table points to another twice, such as for billing and shipping.
        confidence: 0 to 1; 1 for what the database enforces or somebody stated.
    """

    from_entity: str
    to_entity: str
    description: str = ""
    label: str = ""
    cardinality: Cardinality = Cardinality.UNKNOWN
    joins: tuple[Join, ...] = ()
    detection: Detection = Detection.STATED
    confidence: float = 1.0

    @property
    def key(self) -> str:
        """Under which it is stored."""
        return relationship_key(self.from_entity, self.to_entity)

    @classmethod
    def from_item(cls, item: Item) -> "Relationship":
        """Read a stored one."""
        return read_body(item, cls)

    def to_body(self) -> Mapping[str, object]:
        """Return it as it is stored."""
        return body_of(self)
