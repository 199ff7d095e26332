"""Tools for what somebody should be asked about the data (S2.10, 29 to 33)."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from remit.data.desk import Desk, Result
from remit.data.ontology.question_moves import (
    Asked,
    dismiss_question,
    escalate_question,
    list_questions,
    resolve_question,
    skip_question,
)
from remit.data.ontology.questions import Question
from remit.data.ontology.shown import QUESTION, QUESTION_MOVED, shown_provenance, shown_question
from remit.data.ontology.takes import DATASOURCE, MOVES, READS
from remit.data.ontology.writing import LONGEST_NAME, LONGEST_TEXT, Stated
from remit.model.ontology import QuestionCategory, QuestionStatus
from remit.servers.arguments import Arguments
from remit.servers.shapes import COUNT, FLAG, Schema, count, given, list_of, one_of, record, text
from remit.servers.toolbox import Tool

_USUAL_LIMIT: Final = 20
_MOST: Final = 100
_MOST_OFFSET: Final = 100_000
_QUESTION_ID: Final = text("As list_ontology_questions names it.", LONGEST_NAME)

Move = Callable[[Desk, str | None, str, str], Awaitable[Stated[Question]]]


async def _list(desk: Desk, arguments: Arguments) -> Result:
    status, category = arguments.find_text("status"), arguments.find_text("category")
    asked = Asked(
        status=QuestionStatus(status) if status else None,
        category=QuestionCategory(category) if category else None,
        entity=arguments.find_text("entity"),
        priority=arguments.number("priority", 0) or None,
        limit=arguments.number("limit", _USUAL_LIMIT),
        offset=arguments.number("offset", 0),
    )
    page = await list_questions(desk, arguments.find_text("datasource"), asked)
    shown = len(page.questions)
    return {
        "questions": [shown_question(each) for each in page.questions],
        "total": page.total,
        "offset": asked.offset,
        "has_more": asked.offset + shown < page.total,
        "counts": {status.value: number for status, number in page.counts.items()},
    }


def _moving(
    name: str,
    title: str,
    description: str,
    *,
    move: Move,
    words: str,
    required: Sequence[str] = ("question_id", "reason"),
) -> Tool[Desk]:
    """Return a tool that moves a question on, with *words* of the caller's as `required` says."""
    field = "resolution_notes" if "reason" not in required else "reason"

    async def run(desk: Desk, arguments: Arguments) -> Result:
        moved = await move(
            desk,
            arguments.find_text("datasource"),
            arguments.text("question_id"),
            arguments.text(field),
        )
        return {**shown_question(moved.value), "provenance": shown_provenance(moved.provenance)}

    properties: dict[str, Schema] = {
        "question_id": _QUESTION_ID,
        field: text(words, LONGEST_TEXT),
        "datasource": DATASOURCE,
    }
    return Tool(
        name=name,
        title=title,
        description=description,
        takes=given(properties, required),
        gives=QUESTION_MOVED,
        hints=MOVES,
        run=run,
    )


QUESTION_TOOLS: Final = (
    Tool(
        name="list_ontology_questions",
        title="List questions about the data",
        description="List what somebody should be asked about the data: what is open, pending"
        " questions first, the most urgent ones on top.",
        takes=given(
            {
                "status": {
                    **one_of(*QuestionStatus),
                    "description": "Only those that stand there; without it, every open one.",
                },
                "category": {**one_of(*QuestionCategory), "description": "Only those."},
                "entity": text("Only those about the table of this entity.", LONGEST_NAME),
                "priority": count("Only those: 1 is the highest, 5 the lowest.", None, 1, 5),
                "limit": count("Most questions of the answer.", _USUAL_LIMIT, 1, _MOST),
                "offset": count("How many to pass over.", 0, 0, _MOST_OFFSET),
                "datasource": DATASOURCE,
            }
        ),
        gives=record(
            questions=list_of(QUESTION),
            total=COUNT,
            offset=COUNT,
            has_more=FLAG,
            counts={"type": "object", "additionalProperties": COUNT},
        ),
        hints=READS,
        run=_list,
    ),
    _moving(
        "dismiss_ontology_question",
        "Dismiss a question",
        "Say that a question about the data is not worth an answer. That is its end.",
        move=dismiss_question,
        words="Why it is not.",
    ),
    _moving(
        "escalate_ontology_question",
        "Escalate a question",
        "Say that a question about the data needs a human.",
        move=escalate_question,
        words="What a human has to find out.",
    ),
    _moving(
        "resolve_ontology_question",
        "Resolve a question",
        "Say that a question about the data is answered. Write the answer into the ontology first,"
        " such as with update_column. That is its end.",
        move=resolve_question,
        words="The answer, and what was done with it.",
        required=("question_id",),
    ),
    _moving(
        "skip_ontology_question",
        "Skip a question",
        "Leave a question about the data for later.",
        move=skip_question,
        words="Why not now.",
    ),
)
