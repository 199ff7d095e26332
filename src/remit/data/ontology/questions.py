"""What somebody should be asked about the data (S2.42).

PENDING ──┬─ resolve ──▶ ANSWERED   (the end)
   │      ├─ dismiss ──▶ DISMISSED  (the end)
   │      ├─ skip ─────▶ SKIPPED ───┬─ resolve, dismiss, escalate
   │      └─ escalate ─▶ ESCALATED ─┴─ resolve, dismiss
   └── the data is as if it had never been asked ──▶ DELETED
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from remit.data.ontology.bodies import body_of, read_body
from remit.data.ontology.names import folded
from remit.model.ontology import Item, QuestionCategory, QuestionStatus

USUAL_PRIORITY: Final = 3
"""1 is the highest, 5 the lowest."""

MOVES: Final[Mapping[QuestionStatus, frozenset[QuestionStatus]]] = {
    QuestionStatus.PENDING: frozenset(QuestionStatus) - {QuestionStatus.PENDING},
    QuestionStatus.SKIPPED: frozenset(QuestionStatus)
    - {QuestionStatus.PENDING, QuestionStatus.SKIPPED},
    QuestionStatus.ESCALATED: frozenset(
        {QuestionStatus.ANSWERED, QuestionStatus.DISMISSED, QuestionStatus.DELETED}
    ),
    QuestionStatus.ANSWERED: frozenset(),
    QuestionStatus.DISMISSED: frozenset(),
    QuestionStatus.DELETED: frozenset(),
}
"""Where a question may go from where it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question.

    Attributes:
        id: Its key.
        reasoning: Why it is asked.
        priority: 1 (high) to 5 (low).
        is_required: Whether the ontology is not to be relied on before it is answered.
        tables: What it is about, each as `schema.table`.
        columns: What it is about, each as `schema.table.column`.
        status_reason: Why it stands where it stands.
        content_hash: The same for two that ask the same of the same.
    """

    id: str
    text: str
    reasoning: str = ""
    category: QuestionCategory
    priority: int = USUAL_PRIORITY
    is_required: bool = False
    tables: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    status: QuestionStatus = QuestionStatus.PENDING
    status_reason: str = ""
    answer: str = ""
    content_hash: str = ""

    @property
    def key(self) -> str:
        """Under which it is stored."""
        return self.id

    @classmethod
    def from_item(cls, item: Item) -> "Question":
        """Read a stored one."""
        return read_body(item, cls)

    def to_body(self) -> Mapping[str, object]:
        """Return it as it is stored."""
        return body_of(self)


def content_hash(
    text: str, category: QuestionCategory, tables: tuple[str, ...], columns: tuple[str, ...]
) -> str:
    """Return what is the same for two questions that ask the same of the same."""
    asked = json.dumps([folded(text), category.value, sorted(tables), sorted(columns)])
    return sha256(asked.encode()).hexdigest()
