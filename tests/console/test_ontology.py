"""The page "Ontology": questions, changes that wait, and the schema (S2.42-S2.44)."""

import re
from collections.abc import Generator
from html import unescape
from pathlib import Path
from uuid import uuid4

import pytest
from tests.console.filling import fields_of
from tests.console.meaning import HOSTILE, MARKUP, NAME, Meaning, open_meaning
from tests.console.office import Office
from tests.console.reading import Reading
from tests.console.visits import CONSOLE, Visit

from remit.client import data_changes, datasources, ontology, questions
from remit.data.ontology.comparison import Action
from remit.data.ontology.questions import MOVES
from remit.doors.console.ontology_changes import EFFECTS
from remit.doors.console.ontology_questions import OPEN_MOVES
from remit.doors.console.rendering import as_visible
from remit.model.data import EngineKind
from remit.model.ontology import QuestionStatus
from remit.model.principals import DEFAULT_TENANT
from remit.testing.shops import make_shop

MANY = "SELECT NULL, products.id FROM products, orders, customers"
MANY_GIFTS = f"INSERT INTO gifts {MANY}"
MANY_PARCELS = f"INSERT INTO parcels {MANY}"


@pytest.fixture(scope="module")
def meaning(office: Office) -> Generator[Meaning]:
    with open_meaning(office) as meaning:
        before = office.visit("administrator").page("/ontology", datasource=NAME, tab="schema")
        assert "Nobody has looked at this database yet" in before
        assert "Ask a reviewer" in office.visit("auditor").page(
            "/ontology", datasource=NAME, tab="schema"
        )
        meaning.refresh()
        yield meaning


@pytest.fixture
def reviewer(office: Office) -> Visit:
    return office.visit("reviewer")


def text_of(page: str) -> str:
    """Return a page on one line, its references resolved."""
    return unescape(" ".join(page.split()))


def tab(visit: Visit, name: str, **asked: str) -> str:
    return text_of(visit.page("/ontology", datasource=NAME, tab=name, **asked))


# Questions (S2.42)


def test_questions_are_listed_most_urgent_first_and_filtered(
    meaning: Meaning, reviewer: Visit
) -> None:
    made = meaning.ask()
    assert [each.priority for each in made] == [2, 3, 4]
    every = meaning.questions()
    page = reviewer.page("/ontology", datasource=NAME)

    links = [link for link in Reading(page).links if f"{meaning.at}/questions/" in link]
    assert links == [f"{CONSOLE}{meaning.at}/questions/{each.id}" for each in every]
    assert [each.priority for each in every] == sorted(each.priority for each in every)
    by_category = tab(reviewer, "questions", category="enumeration", priority="3")
    assert made[1].text in by_category
    assert made[0].text not in by_category
    none = tab(reviewer, "questions", category="temporal", priority="1")
    assert "No question fits the filter" in none
    assert made[0].text in tab(reviewer, "questions", priority="9" * 5000)


def test_a_question_is_shown_with_what_it_is_about_and_answered(
    meaning: Meaning, reviewer: Visit
) -> None:
    asked = meaning.ask()[0]
    at = f"{meaning.at}/questions/{asked.id}"
    page = text_of(reviewer.page(at))
    assert "The table has no primary key." in page
    assert f"<code>{asked.tables[0]}</code>" in page

    done = reviewer.do(f"{at}/resolve", {"notes": HOSTILE})

    assert "The question is answered." in done.text
    found = meaning.client.ask(questions.get(*meaning.here, asked.id))
    assert (found.status, found.answer, found.edited_source) == ("answered", HOSTILE, "manual")
    after = reviewer.page(at)
    assert MARKUP not in after
    assert as_visible(HOSTILE) in unescape(after)
    assert "/resolve" not in after
    assert asked.text in tab(reviewer, "questions", status="answered")


@pytest.mark.parametrize(
    ("move", "status"),
    [("skip", "skipped"), ("escalate", "escalated"), ("dismiss", "dismissed")],
)
def test_a_question_is_set_aside_with_a_reason(
    meaning: Meaning, reviewer: Visit, move: str, status: str
) -> None:
    asked = meaning.ask()[0]
    path = f"{meaning.at}/questions/{asked.id}"

    reviewer.do(f"{path}/aside", {"move": move, "why": "Nobody is in."})

    found = meaning.client.ask(questions.get(*meaning.here, asked.id))
    assert (found.status, found.status_reason) == (status, "Nobody is in.")
    page = reviewer.page(path)
    offered = [f'value="{other}"' in page for other in ("skip", "escalate", "dismiss")]
    lawful = [QuestionStatus(s) in MOVES[QuestionStatus(status)] for s in
              ("skipped", "escalated", "dismissed")]  # fmt: skip
    assert offered == lawful


@pytest.mark.parametrize(
    ("move", "why"), [("skip", ""), ("burn", "Why not."), ("skip", "x" * 5000)]
)
def test_what_is_refused_keeps_what_was_typed_and_changes_nothing(
    meaning: Meaning, reviewer: Visit, move: str, why: str
) -> None:
    asked = meaning.ask()[0]
    path = f"{meaning.at}/questions/{asked.id}"

    reply = reviewer.post(f"{path}/aside", {"move": move, "why": why})

    assert reply.status_code in {400, 422}
    assert 'role="alert"' in reply.text
    assert fields_of(reply.text, f"{path}/aside")["why"] == [why]
    assert meaning.client.ask(questions.get(*meaning.here, asked.id)).status == "pending"


def test_an_answer_to_what_somebody_else_has_decided_is_kept_on_the_page(
    meaning: Meaning, reviewer: Visit
) -> None:
    asked = meaning.ask()[0]
    meaning.client.ask(questions.dismiss(*meaning.here, asked.id, "It is UTC."))

    reply = reviewer.post(f"{meaning.at}/questions/{asked.id}/resolve", {"notes": "In Zürich."})

    assert reply.status_code == 409
    assert "the question is dismissed and cannot become answered" in text_of(reply.text)
    assert "In Zürich." in reply.text


def test_the_moves_that_are_offered_are_those_that_there_are() -> None:
    told = {"skip": "skipped", "escalate": "escalated", "dismiss": "dismissed"}
    found = {status: {told[move] for move in moves} for status, moves in OPEN_MOVES.items()}

    assert found == {
        status: {each for each in told.values() if each in moves}
        for status, moves in MOVES.items()
        if moves
    }


def test_every_change_says_what_applying_it_does() -> None:
    assert set(EFFECTS) == set(Action)


# Pending changes (S2.44)


def test_a_change_is_shown_with_what_it_does_and_approved(
    meaning: Meaning, reviewer: Visit
) -> None:
    change = meaning.add_table("returned")
    page = tab(reviewer, "changes")
    assert "<code>main.returned</code>" in page
    assert "Tools may use the table" in page
    schema = tab(reviewer, "schema", table="returned")
    assert "tools may not use it" in schema

    done = text_of(reviewer.do(f"{meaning.at}/changes/{change.id}/approve").text)

    assert "The change is approved: new table main.returned." in done
    assert f"{change.id}/approve" not in done
    assert "tools may not use it" not in tab(reviewer, "schema", table="returned")
    assert "<code>main.returned</code>" in tab(reviewer, "changes", status="approved")
    again = reviewer.post(f"{meaning.at}/changes/{change.id}/approve")
    assert again.status_code == 409
    assert 'role="alert"' in again.text
    assert "Changes found in" in again.text


def test_a_change_of_a_hostile_name_is_text_and_rejected(meaning: Meaning, reviewer: Visit) -> None:
    change = meaning.add_table(HOSTILE)
    page = reviewer.page("/ontology", datasource=NAME, tab="changes")
    assert MARKUP not in page
    assert as_visible(HOSTILE) in unescape(page)
    assert "\u202e" not in page
    assert Reading(page).inline == []

    done = reviewer.do(f"{meaning.at}/changes/{change.id}/reject")

    assert "The change is rejected" in done.text
    assert MARKUP not in done.text
    assert change.id in {each.id for each in meaning.changes("rejected")}
    schema = reviewer.page("/ontology", datasource=NAME, tab="schema", table="SCRIPT")
    assert MARKUP not in schema
    assert schema.count("<details") == 1


def test_all_changes_are_approved_but_what_cannot_be(meaning: Meaning, reviewer: Visit) -> None:
    meaning.client.ask(data_changes.approve_all(*meaning.here))
    meaning.run("CREATE TABLE gifts (id INTEGER PRIMARY KEY, product_id INTEGER)", MANY_GIFTS)
    meaning.refresh()
    (likely,) = meaning.client.ask(data_changes.scan(*meaning.here, ["main.gifts"])).items
    meaning.client.ask(ontology.remove_entity(*meaning.here, "Gift", if_match="*"))
    first, second = meaning.add_table("first"), meaning.add_table("second")

    done = text_of(reviewer.do(f"{meaning.at}/approve-all").text)

    assert "2 changes were applied. 1 change could not be: approve one alone to read why." in done
    assert {each.id for each in meaning.changes("approved")} >= {first.id, second.id}
    assert [each.id for each in meaning.changes()] == [likely.id]
    alone = reviewer.post(f"{meaning.at}/changes/{likely.id}/approve")
    assert alone.status_code == 404
    assert "no entity stands for main.gifts" in text_of(alone.text)
    meaning.client.ask(data_changes.reject(*meaning.here, likely.id))


def test_a_scan_tells_what_it_found_and_a_refresh_what_it_saw(
    office: Office, reviewer: Visit
) -> None:
    with open_meaning(office, "scanned") as meaning:
        meaning.refresh()
        meaning.run(
            "CREATE TABLE parcels (id INTEGER PRIMARY KEY, product_id INTEGER)", MANY_PARCELS
        )
        seen = reviewer.do(f"{meaning.at}/refresh", {"select": "on"})
        assert "tables seen; nothing waits for a decision." in seen.text

        found = text_of(reviewer.do(f"{meaning.at}/scan").text)
        again = text_of(reviewer.do(f"{meaning.at}/scan").text)

    assert "not known before" in found
    assert "<code>main.parcels.product_id</code>" in found
    assert "The relationship is stated" in found
    assert "The scan found nothing new." in again


def test_a_datasource_that_is_away_is_told_on_the_page(meaning: Meaning, reviewer: Visit) -> None:
    away = meaning.file.with_suffix(".away")
    meaning.file.rename(away)
    try:
        refresh = reviewer.post(f"{meaning.at}/refresh")
    finally:
        away.rename(meaning.file)

    assert refresh.status_code >= 400
    assert 'role="alert"' in refresh.text
    assert "Tables of meaning" in refresh.text


# Schema


def test_a_first_look_from_either_tab_lets_tools_use_what_there_is(
    office: Office, reviewer: Visit, tmp_path: Path
) -> None:
    for tab_of in ("changes", "schema"):
        name = f"first-{tab_of}"
        (tmp_path / tab_of).mkdir()
        file = make_shop(EngineKind.SQLITE, tmp_path / tab_of)
        adding = datasources.add(DEFAULT_TENANT, name, engine="sqlite", url=str(file), settings={})
        source = office.client().ask(adding)
        own = f"/ontology/{source.id}/refresh"
        try:
            page = reviewer.page("/ontology", datasource=name, tab=tab_of)
            seen = reviewer.do(own, fields_of(page, f"{CONSOLE}{own}"))
            schema = office.client().ask(data_changes.schema(DEFAULT_TENANT, name))
        finally:
            office.client().ask(datasources.remove(DEFAULT_TENANT, name, if_match="*"))

        assert schema.tables
        assert all(table.is_selected for table in schema.tables)
        assert "tables seen; nothing waits for a decision." in seen.text


def test_a_look_that_lets_tools_use_nothing_says_so(meaning: Meaning, reviewer: Visit) -> None:
    change = f"t{uuid4().hex[:8]}"
    meaning.run(f"CREATE TABLE {change} (id INTEGER PRIMARY KEY)")

    seen = reviewer.do(f"{meaning.at}/refresh")

    assert re.search(r"\d+ tables seen, of which tools may use \d+; ", seen.text)
    meaning.client.ask(data_changes.approve_all(*meaning.here))


def test_the_schema_shows_tables_columns_and_keys(meaning: Meaning, reviewer: Visit) -> None:
    page = tab(reviewer, "schema", table="orders")

    assert "to <code>main.customers.id</code>" in page
    assert "primary key" in page
    assert "<code>main.products</code></summary>" not in page
    assert "No table fits the filter" in tab(reviewer, "schema", table="nothing like it")
    del meaning


# Who may what


@pytest.mark.parametrize("name", ["questions", "changes", "schema"])
def test_an_auditor_reads_every_tab_without_a_form_that_changes(
    office: Office, meaning: Meaning, name: str
) -> None:
    auditor = office.visit("auditor")
    own = f"{CONSOLE}{meaning.at}"
    asked = meaning.ask()[0]

    page = Reading(auditor.page("/ontology", datasource=NAME, tab=name))

    assert [form.action for form in page.forms if form.action.startswith(own)] == []
    one = Reading(auditor.page(f"{meaning.at}/questions/{asked.id}"))
    assert [form.action for form in one.forms if form.action.startswith(own)] == []


def test_a_datasource_or_question_that_is_not_there_is_told(
    meaning: Meaning, reviewer: Visit
) -> None:
    assert reviewer.get("/ontology", datasource=HOSTILE).status_code == 404
    assert reviewer.get(f"{meaning.at}/questions/none").status_code == 404
    assert reviewer.post(f"{meaning.at}/changes/none/approve").status_code == 404
