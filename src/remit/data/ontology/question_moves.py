"""Listing questions, and moving them on (S2.42)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from remit.data.desk import Desk
from remit.data.ontology.knowledge import Knowledge, absent
from remit.data.ontology.questions import MOVES, Question
from remit.data.ontology.writing import Stated, look, stated
from remit.data.settling import settled
from remit.errors import DataFailure
from remit.model.data import DataCode
from remit.model.ontology import ItemKind, QuestionCategory, QuestionStatus

OPEN = (QuestionStatus.PENDING, QuestionStatus.SKIPPED, QuestionStatus.ESCALATED)
"""Questions that wait for something, in the order in which they are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which questions are wanted.

    Attributes:
        status: None for every one that is open.
        entity: Name or alias of the entity whose table they are about.
    """

    status: QuestionStatus | None = None
    category: QuestionCategory | None = None
    entity: str | None = None
    priority: int | None = None
    limit: int = 20
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPage:
    """Some of the questions that are wanted: pending ones first, then by priority and age.

    Attributes:
        total: How many are wanted.
        counts: How many there are of each status, of all.
    """

    questions: Sequence[Question]
    total: int
    counts: Mapping[QuestionStatus, int]


async def list_questions(desk: Desk, datasource: str | None, asked: Asked) -> QuestionPage:
    """Return questions about a datasource.

    Raises:
        DataFailure: `entity_not_found`.
    """
    known = await look(desk, await desk.datasource(datasource))
    table = None
    if asked.entity is not None:
        entity = known.entity(asked.entity)
        table = f"{entity.schema}.{entity.table}"
    statuses = OPEN if asked.status is None else (asked.status,)
    every = known.questions.values()
    wanted = [
        each
        for each in every
        if each.status in statuses
        and asked.category in (None, each.category)
        and asked.priority in (None, each.priority)
        and (table is None or table in each.tables)
    ]
    # they come by age, which sorting keeps
    wanted.sort(key=lambda each: (statuses.index(each.status), each.priority, not each.is_required))
    counted = Counter(each.status for each in every)
    return QuestionPage(
        questions=wanted[asked.offset : asked.offset + asked.limit],
        total=len(wanted),
        counts={status: counted[status] for status in QuestionStatus if counted[status]},
    )


async def dismiss_question(
    desk: Desk, datasource: str | None, question_id: str, reason: str
) -> Stated[Question]:
    """Say that a question is not worth an answer.

    Raises:
        DataFailure: `question_not_found` or `invalid_state`.
    """
    return await _move(desk, datasource, question_id, QuestionStatus.DISMISSED, reason)


async def escalate_question(
    desk: Desk, datasource: str | None, question_id: str, reason: str
) -> Stated[Question]:
    """Say that a question needs a human.

    Raises:
        DataFailure: `question_not_found` or `invalid_state`.
    """
    return await _move(desk, datasource, question_id, QuestionStatus.ESCALATED, reason)


async def skip_question(
    desk: Desk, datasource: str | None, question_id: str, reason: str
) -> Stated[Question]:
    """Leave a question for later.

    Raises:
        DataFailure: `question_not_found` or `invalid_state`.
    """
    return await _move(desk, datasource, question_id, QuestionStatus.SKIPPED, reason)


async def resolve_question(
    desk: Desk, datasource: str | None, question_id: str, answer: str = ""
) -> Stated[Question]:
    """Say that a question is answered.

    Raises:
        DataFailure: `question_not_found` or `invalid_state`.
    """
    return await _move(desk, datasource, question_id, QuestionStatus.ANSWERED, answer)


async def _move(
    desk: Desk, datasource: str | None, question_id: str, to: QuestionStatus, words: str
) -> Stated[Question]:
    """Move a question on. Whoever asked or moved it before, anybody may: no word of it is lost."""
    where = await desk.datasource(datasource)

    async def attempt() -> Stated[Question]:
        known = await look(desk, where)
        question = _found(known, question_id)
        _require_move(question, to)
        moved = replace(question, status=to, status_reason=words)
        if to is QuestionStatus.ANSWERED:
            moved = replace(question, status=to, status_reason="", answer=words)
        before = known.items[ItemKind.QUESTION, question_id]
        item = stated(desk, where, ItemKind.QUESTION, moved, before=before)
        await desk.stores.ontology.write(items=[item])
        return Stated(value=moved, provenance=item.provenance)

    return await settled(attempt)


def _found(known: Knowledge, question_id: str) -> Question:
    found = known.questions.get(question_id)
    if found is None:
        remedy = "list_ontology_questions names them with their ids"
        absent(DataCode.QUESTION_NOT_FOUND, "question", question_id, (), remedy=remedy)
    return found


def _require_move(question: Question, to: QuestionStatus) -> None:
    if to not in MOVES[question.status]:
        lawful = [status for status in QuestionStatus if status in MOVES[question.status]]
        ways = " or ".join(
            status.value for status in lawful if status is not QuestionStatus.DELETED
        )
        raise DataFailure(
            DataCode.INVALID_STATE,
            f"the question is {question.status} and cannot become {to};"
            + (f" it can become {ways}" if ways else " that is its end"),
            details={"status": question.status.value},
        )
