"""Questions about the data that nobody has answered yet, and the answers (S2.42)."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Response

from remit.data.ontology.questions import Question
from remit.doors.api.access import ByProjectReviewer, Reason, Reviewer
from remit.doors.api.data_desk import IN_DATASOURCE, DatasourceName, use_tool
from remit.doors.api.envelope import Envelope
from remit.doors.api.known import Kind, known_of
from remit.doors.api.ontology import Named
from remit.doors.api.ontology_shapes import QuestionShape, Resolution, Why
from remit.doors.api.paging import Cursor, Limit, Page
from remit.model.data import DataCode
from remit.model.ontology import ItemKind, QuestionCategory, QuestionStatus

router = APIRouter(prefix=f"{IN_DATASOURCE}/ontology/questions", tags=["ontology"])


def _place(question: Question) -> str:
    """Return what sorts questions by how urgent they are: required ones first of a priority."""
    return f"{question.priority} {not question.is_required:d} {question.category} {question.key}"


QUESTIONS: Final[Kind[Question, QuestionShape]] = Kind(
    kind=ItemKind.QUESTION,
    noun="question",
    missing=DataCode.QUESTION_NOT_FOUND,
    every=lambda known: list(known.questions.values()),
    show=QuestionShape.of,
    place=_place,
)


@router.get("", operation_id="questions.list")
async def list_questions(
    by: ByProjectReviewer,
    datasource: DatasourceName,
    *,
    status: Annotated[QuestionStatus | None, Query(description="Pending ones if none.")] = None,
    category: Annotated[QuestionCategory | None, Query()] = None,
    priority: Annotated[int | None, Query(ge=1, le=5, description="1 (high) to 5.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Envelope[Page[QuestionShape]]:
    """Show questions about the data, most urgent first."""
    known = await known_of(by, datasource)
    found = [
        each
        for each in QUESTIONS.every(known)
        if each.status is (status or QuestionStatus.PENDING)
        and category in (None, each.category)
        and priority in (None, each.priority)
    ]
    return QUESTIONS.page(known, found, cursor=cursor, limit=limit)


@router.get("/{question}", operation_id="questions.get")
async def get_question(
    by: ByProjectReviewer, datasource: DatasourceName, question: Named, response: Response
) -> Envelope[QuestionShape]:
    """Show one question."""
    return QUESTIONS.answered(await known_of(by, datasource), question, response)


@router.post("/{question}/resolve", operation_id="questions.resolve")
async def resolve_question(
    by: ByProjectReviewer,
    datasource: DatasourceName,
    question: Named,
    resolution: Resolution,
    reason: Reason = "",
) -> Envelope[QuestionShape]:
    """Answer a question."""
    async with by.making(reason, datasource=datasource, id=question):
        await _require_one(by, datasource, question)
        await use_tool(
            by,
            "resolve_ontology_question",
            datasource=datasource,
            question_id=question,
            resolution_notes=resolution.notes,
        )
    return await _shown(by, datasource, question)


@router.post("/{question}/skip", operation_id="questions.skip")
async def skip_question(
    by: ByProjectReviewer, datasource: DatasourceName, question: Named, why: Why
) -> Envelope[QuestionShape]:
    """Put a question off."""
    return await _put_aside(by, datasource, question, why, "skip_ontology_question")


@router.post("/{question}/escalate", operation_id="questions.escalate")
async def escalate_question(
    by: ByProjectReviewer, datasource: DatasourceName, question: Named, why: Why
) -> Envelope[QuestionShape]:
    """Hand a question on to somebody who knows."""
    return await _put_aside(by, datasource, question, why, "escalate_ontology_question")


@router.post("/{question}/dismiss", operation_id="questions.dismiss")
async def dismiss_question(
    by: ByProjectReviewer, datasource: DatasourceName, question: Named, why: Why
) -> Envelope[QuestionShape]:
    """Drop a question that is not worth an answer."""
    return await _put_aside(by, datasource, question, why, "dismiss_ontology_question")


async def _put_aside(
    by: Reviewer, datasource: str, question: str, why: Why, tool: str
) -> Envelope[QuestionShape]:
    async with by.making("", datasource=datasource, id=question, because=why.reason):
        await _require_one(by, datasource, question)
        await use_tool(by, tool, datasource=datasource, question_id=question, reason=why.reason)
    return await _shown(by, datasource, question)


async def _require_one(by: Reviewer, datasource: str, question: str) -> None:
    """Let only questions of that datasource pass.

    Raises:
        DataFailure: `question_not_found`.
    """
    QUESTIONS.get(await known_of(by, datasource), question)


async def _shown(by: Reviewer, datasource: str, question: str) -> Envelope[QuestionShape]:
    known = await known_of(by, datasource)
    return Envelope(data=QUESTIONS.shown(known, QUESTIONS.get(known, question)))
