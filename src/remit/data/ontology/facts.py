"""What one has to know of a project, sentence by sentence (S2.41)."""

from collections.abc import Mapping
from dataclasses import dataclass

from remit.data.ontology.bodies import body_of, read_body
from remit.model.ontology import FactCategory, Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact, such as `the fiscal year begins in April`.

    Attributes:
        id: Its key.
        context: Where it is from, or when it holds.
    """

    id: str
    fact: str
    context: str = ""
    category: FactCategory = FactCategory.BUSINESS_RULE

    @property
    def key(self) -> str:
        """Under which it is stored."""
        return self.id

    @classmethod
    def from_item(cls, item: Item) -> "Fact":
        """Read a stored one."""
        return read_body(item, cls)

    def to_body(self) -> Mapping[str, object]:
        """Return it as it is stored."""
        return body_of(self)
