"""Questions about the data that nobody has answered yet, and answering them (S2.42)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from remit.client import questions
from remit.client.operations import Page as Listed
from remit.client.questions import Question
from remit.doors.console.data_sources import Chosen
from remit.doors.console.forms import status_of
from remit.doors.console.ontology_tabs import (
    AT,
    AT_ONCE,
    QUESTIONS,
    go_to_tab,
    one_by,
    tab_page,
)
from remit.doors.console.page import DECIDERS, REVIEWERS, Action
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails
from remit.model.ontology import QuestionCategory, QuestionStatus

MOVES: Final = {
    "skip": (questions.skip, "is put off"),
    "escalate": (questions.escalate, "is handed on"),
    "dismiss": (questions.dismiss, "is dropped"),
}
"""What can become of a question beside an answer: how, and how that is told."""

OPEN_MOVES: Final[Mapping[str, tuple[str, ...]]] = {
    "pending": ("skip", "escalate", "dismiss"),
    "skipped": ("escalate", "dismiss"),
    "escalated": ("dismiss",),
}
"""Status to the moves that are open from there; an answer is where there is any."""

TONES: Final[Mapping[str, str]] = {"pending": "warn", "escalated": "bad", "answered": "good"}

CATEGORIES: Final = tuple((each.value, each.value.replace("_", " ")) for each in QuestionCategory)
STATUSES: Final = tuple(each.value for each in QuestionStatus)
PRIORITIES: Final = (("1", "1, high"), "2", "3", "4", "5")
_MOST_DIGITS: Final = 9  # of a priority


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """What was entered into the forms of a question, and why the API refused it."""

    notes: str = ""
    why: str = ""
    problem: ProblemDetails | None = None


async def show_list(visitor: Visitor, chosen: Chosen) -> Response:
    """Show the questions about a datasource that fit the filters, most urgent first."""
    status = visitor.asked("status") or "pending"
    category, priority = visitor.asked("category"), visitor.asked("priority")
    is_number = priority.isdecimal() and len(priority) <= _MOST_DIGITS
    listed: Listed[Question] = Listed(items=())
    if chosen.one is not None:
        asked = questions.list_all(
            visitor.tenant,
            chosen.one.name,
            status=status,
            category=category or None,
            priority=int(priority) if is_number else None,
            limit=AT_ONCE,
            cursor=visitor.asked("cursor") or None,
        )
        listed = await visitor.ask(asked)
    return tab_page(
        visitor,
        "ontology_questions.html",
        chosen=chosen,
        tab=QUESTIONS,
        listed=listed,
        wanted=status,
        statuses=STATUSES,
        category=category,
        categories=(("", "any"), *CATEGORIES),
        priority=priority,
        priorities=(("", "any"), *PRIORITIES),
        tones=TONES,
    )


async def show(visitor: Visitor) -> Response:
    """Show one question with everything that is known of it."""
    return await _page(visitor, Entered())


async def resolve(visitor: Visitor) -> Response:
    """Answer a question."""
    _, source = await one_by(visitor)
    notes = visitor.sent("notes")
    question = visitor.path["question"]
    try:
        await visitor.ask(questions.resolve(visitor.tenant, source.name, question, notes or None))
    except ProblemDetails as problem:
        return await _page(visitor, Entered(notes=notes, problem=problem))
    return go_to_tab(visitor, source, QUESTIONS, "The question is answered.")


async def set_aside(visitor: Visitor) -> Response:
    """Put a question off, hand it on or drop it, with a reason."""
    _, source = await one_by(visitor)
    why, wanted = visitor.sent("why"), visitor.sent("move")
    if wanted not in MOVES:
        refused = ProblemDetails(
            "choose whether to skip, escalate or dismiss the question", status=400, code=""
        )
        return await _page(visitor, Entered(why=why, problem=refused))
    move, told = MOVES[wanted]
    try:
        await visitor.ask(move(visitor.tenant, source.name, visitor.path["question"], why))
    except ProblemDetails as problem:
        return await _page(visitor, Entered(why=why, problem=problem))
    return go_to_tab(visitor, source, QUESTIONS, f"The question {told}.")


async def _page(visitor: Visitor, entered: Entered) -> Response:
    _, source = await one_by(visitor)
    question = await visitor.ask(
        questions.get(visitor.tenant, source.name, visitor.path["question"])
    )
    return visitor.render(
        "ontology_question.html",
        status=status_of(entered.problem),
        source=source,
        question=question,
        entered=entered,
        moves=OPEN_MOVES.get(question.status, ()),
        tones=TONES,
        may_change=visitor.is_one_of(DECIDERS),
    )


def _move_of(visitor: Visitor) -> str:
    """Return what the API calls the move that is asked for."""
    move, _ = MOVES.get(visitor.sent("move"), MOVES["skip"])
    return move("-", "-", "-", "").id


ONE: Final = f"{AT}/questions/{{question}}"

ACTIONS: Final = (
    Action(path=ONE, run=show, who=REVIEWERS, method="GET"),
    Action(path=f"{ONE}/resolve", run=resolve, who=DECIDERS, makes="questions.resolve"),
    Action(path=f"{ONE}/aside", run=set_aside, who=DECIDERS, makes=_move_of),
)
