"""Questions about the data, and what becomes of them (S2.42)."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.data.ontology.conftest import NOW, Office

from remit.data.ontology.questions import MOVES, Question, content_hash
from remit.model.ontology import (
    Item,
    ItemKind,
    Provenance,
    QuestionCategory,
    QuestionStatus,
    Source,
)

CUSTOMERS = ("public.customers",)
TOOL_OF = {
    QuestionStatus.ANSWERED: ("resolve_ontology_question", "resolution_notes"),
    QuestionStatus.DISMISSED: ("dismiss_ontology_question", "reason"),
    QuestionStatus.ESCALATED: ("escalate_ontology_question", "reason"),
    QuestionStatus.SKIPPED: ("skip_ontology_question", "reason"),
}


async def ask(office: Office, *questions: Question) -> None:
    """Keep questions, the first one the oldest."""
    items = [
        Item(
            tenant="default",
            datasource="d1",
            kind=ItemKind.QUESTION,
            key=question.id,
            body=question.to_body(),
            provenance=Provenance(
                created_source=Source.MANUAL,
                created_by="user:boss",
                created=NOW + timedelta(seconds=age),
                edited_source=Source.MANUAL,
                edited_by="user:boss",
                edited=NOW,
            ),
        )
        for age, question in enumerate(questions)
    ]
    await office.ontology.write(items=items)


def a_question(question_id: str, **fields: object) -> Question:
    question = Question(
        id=question_id,
        text=f"What is {question_id}?",
        category=QuestionCategory.TERMINOLOGY,
        tables=CUSTOMERS,
        content_hash=content_hash(question_id, QuestionCategory.TERMINOLOGY, CUSTOMERS, ()),
    )
    return replace(question, **fields)


async def test_open_questions_come_pending_first_and_then_by_priority_and_age(shop: Office) -> None:
    await ask(
        shop,
        a_question("skipped", status=QuestionStatus.SKIPPED, priority=1),
        a_question("low", priority=5),
        a_question("second"),
        a_question("third"),
        a_question("required", is_required=True),
        a_question("high", priority=1),
        a_question("done", status=QuestionStatus.ANSWERED),
        a_question("escalated", status=QuestionStatus.ESCALATED, priority=1),
    )
    ann = shop.hand()

    page = await ann.calls("list_ontology_questions")
    shown = [each["question_id"] for each in page["questions"]]
    assert shown == ["high", "required", "second", "third", "low", "skipped", "escalated"]
    assert (page["total"], page["has_more"]) == (7, False)
    assert page["counts"] == {"pending": 5, "skipped": 1, "escalated": 1, "answered": 1}

    part = await ann.calls("list_ontology_questions", limit=2, offset=4)
    assert [each["question_id"] for each in part["questions"]] == ["low", "skipped"]
    assert (part["total"], part["has_more"]) == (7, True)


async def test_questions_are_chosen_by_status_category_entity_and_priority(shop: Office) -> None:
    await ask(
        shop,
        a_question("done", status=QuestionStatus.ANSWERED),
        a_question("time", category=QuestionCategory.TEMPORAL, priority=2),
        a_question("orders", tables=("public.orders",)),
        a_question("both", tables=("public.orders", *CUSTOMERS)),
        a_question("salaries", tables=("public.salaries",)),
    )
    ann = shop.hand()
    await ann.calls("update_entity", name="Order", table="orders")

    for arguments, expected in (
        ({"status": "answered"}, ["done"]),
        ({"category": "temporal"}, ["time"]),
        ({"priority": 2}, ["time"]),
        ({"entity": "order"}, ["orders", "both"]),
        ({"entity": "order", "priority": 1}, []),
    ):
        page = await ann.calls("list_ontology_questions", **arguments)
        assert [each["question_id"] for each in page["questions"]] == expected
    assert (await ann.fails("list_ontology_questions", entity="x")).code == "entity_not_found"
    failed = await ann.fails("skip_ontology_question", question_id="salaries", reason="x")
    assert failed.code == "question_not_found"  # it is about a table that may not be used


@pytest.mark.parametrize("stands", QuestionStatus)
@pytest.mark.parametrize("goes", TOOL_OF)
async def test_a_question_moves_as_its_states_allow(
    shop: Office, stands: QuestionStatus, goes: QuestionStatus
) -> None:
    await ask(shop, a_question("q", status=stands, status_reason="before", answer="none"))
    tool, field = TOOL_OF[goes]
    call = {"question_id": "q", field: "because"}
    ann = shop.hand()

    if goes not in MOVES[stands]:
        assert (await ann.fails(tool, **call)).code == "invalid_state"
        (item,) = await shop.ontology.items("default", "d1")
        assert Question.from_item(item).status_reason == "before"
        return
    moved = await ann.calls(tool, **call)
    answered = goes is QuestionStatus.ANSWERED
    assert moved["status"] == goes
    assert moved["answer"] == ("because" if answered else "none")
    assert moved["status_reason"] == ("" if answered else "because")
    assert moved["provenance"]["created_by"] == "user:boss"
    assert moved["provenance"]["edited_by"] == "user:ann"


async def test_an_end_is_an_end_and_a_question_needs_no_notes_to_be_resolved(shop: Office) -> None:
    await ask(shop, a_question("q"))
    ann = shop.hand()
    await ann.calls("resolve_ontology_question", question_id="q")

    failed = await ann.fails("dismiss_ontology_question", question_id="q", reason="x")

    assert str(failed) == "the question is answered and cannot become dismissed; that is its end"
    absent = await ann.fails("resolve_ontology_question", question_id="none")
    assert absent.code == "question_not_found"
