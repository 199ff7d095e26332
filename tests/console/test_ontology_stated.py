"""The page "Ontology": what is stated about data, by whom, and stating it by hand (S2.41-S2.43)."""

from collections.abc import Generator
from html import unescape

import pytest
from tests.console.filling import fields_of
from tests.console.meaning import HOSTILE, MARKUP, NAME, Meaning, open_meaning
from tests.console.office import Office
from tests.console.reading import Reading
from tests.console.visits import CONSOLE, Visit

from remit.client import ontology
from remit.doors.console.ontology_kind import Kind
from remit.doors.console.ontology_kinds import KINDS
from remit.doors.console.rendering import as_visible


@pytest.fixture(scope="module")
def meaning(office: Office) -> Generator[Meaning]:
    with open_meaning(office) as meaning:
        meaning.refresh()
        yield meaning


@pytest.fixture
def reviewer(office: Office) -> Visit:
    return office.visit("reviewer")


def tab(visit: Visit, name: str, **asked: str) -> str:
    """Return a tab on one line, its references resolved."""
    return unescape(" ".join(visit.page("/ontology", datasource=NAME, tab=name, **asked).split()))


def form_of(visit: Visit, meaning: Meaning, kind: str, *names: str) -> dict[str, list[str]]:
    """Return what the form of a thing, or of a new one, sends untouched."""
    asked = {f"n{place}": name for place, name in enumerate(names)}
    at = f"{meaning.at}/stated/{kind}"
    return fields_of(visit.page(at, **asked), at)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("entities", (">Customer</a>", "<code>main.customers.id</code>", "inferred")),
        ("columns", (">main.orders.placed</a>", "dimension", "inferred")),
        ("relationships", (">order → customer</a>", "N:1", "% sure", "main.orders.customer_id =")),
        ("glossary", ("There is none yet", "State the words of your business")),
    ],
)
def test_what_is_inferred_is_listed_with_where_it_comes_from(
    meaning: Meaning, reviewer: Visit, name: str, parts: tuple[str, ...]
) -> None:
    del meaning
    page = tab(reviewer, name)

    assert [part for part in parts if part not in page] == []


@pytest.mark.parametrize(
    ("kind", "names", "fields"),
    [
        ("entity", ("Supplier",), {"description": HOSTILE, "aliases": "Vendor\r\nSeller"}),
        ("column", ("main.customers", "city"), {"description": HOSTILE, "role": "dimension"}),
        ("relationship", ("Product", "Customer"), {"label": HOSTILE, "cardinality": "N:M"}),
        ("term", ("margin",), {"definition": HOSTILE, "sql": "SELECT price FROM products"}),
    ],
)
def test_a_thing_is_stated_by_hand_and_taken_away(
    meaning: Meaning, reviewer: Visit, kind: str, names: tuple[str, ...], fields: dict[str, str]
) -> None:
    at = f"{meaning.at}/stated/{kind}"
    (of_kind,) = (each for each in KINDS if each.key == kind)
    named = {f"n{place}": name for place, name in enumerate(names)}

    done = reviewer.do(at, form_of(reviewer, meaning, kind, *names) | named | fields)

    assert MARKUP not in done.text
    assert as_visible(HOSTILE) in unescape(done.text)
    assert Reading(done.text).inline == []
    found = meaning.client.ask(of_kind.get(*meaning.here, *names))
    assert found.edited_source == "manual"
    again = form_of(reviewer, meaning, kind, *names)
    assert again["etag"] == [f'"v{found.version}"']
    kept = {name: [value.replace("\r\n", "\n")] for name, value in fields.items()}
    assert {name: again[name] for name in fields} == kept
    gone = reviewer.do(f"{at}/delete", {**named, "etag": again["etag"]})
    assert "is taken away." in gone.text
    assert form_of(reviewer, meaning, kind, *names)["etag"] == [""]


def test_a_fact_is_stated_changed_and_taken_away(meaning: Meaning, reviewer: Visit) -> None:
    at = f"{meaning.at}/stated/fact"
    new = form_of(reviewer, meaning, "fact")
    reviewer.do(at, new | {"fact": ["Orders of 2025 are gone."], "category": ["business_rule"]})
    (fact,) = meaning.client.ask(ontology.list_facts(*meaning.here)).items
    assert (fact.fact, fact.category) == ("Orders of 2025 are gone.", "business_rule")

    form = form_of(reviewer, meaning, "fact", fact.id)
    reviewer.do(at, form | {"context": ["When years are compared."]})

    assert "When years are compared." in tab(reviewer, "facts")
    form = form_of(reviewer, meaning, "fact", fact.id)
    reviewer.do(f"{at}/delete", {"n0": fact.id, "etag": form["etag"]})
    assert meaning.client.ask(ontology.list_facts(*meaning.here)).items == ()


def test_who_saw_an_older_state_sees_the_present_one_beside_what_was_entered(
    meaning: Meaning, reviewer: Visit
) -> None:
    form = form_of(reviewer, meaning, "entity", "Product")
    theirs = {"description": "What is sold."}
    meaning.client.ask(ontology.put_entity(*meaning.here, "Product", theirs, if_match="*"))

    refused = reviewer.post(
        f"{meaning.at}/stated/entity", form | {"description": ["What is bought."]}
    )

    assert refused.status_code == 412
    assert "As it is now: What is sold." in refused.text
    again = fields_of(refused.text, f"{meaning.at}/stated/entity")
    assert again["description"] == ["What is bought."]
    reviewer.do(f"{meaning.at}/stated/entity", again)
    found = meaning.client.ask(ontology.get_entity(*meaning.here, "Product"))
    assert found.description == "What is bought."


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("term", {"n0": "gain", "definition": "What is left.", "sql": "DROP TABLE orders"}),
        ("column", {"n0": "main.nowhere", "n1": "x", "description": "Lost."}),
        ("entity", {"n0": "", "description": "Nameless."}),
        ("fact", {"n0": "", "fact": "", "context": "Empty."}),
    ],
)
def test_what_is_refused_keeps_what_was_typed(
    meaning: Meaning, reviewer: Visit, kind: str, fields: dict[str, str]
) -> None:
    at = f"{meaning.at}/stated/{kind}"

    reply = reviewer.post(at, form_of(reviewer, meaning, kind) | fields)

    assert 400 <= reply.status_code < 500
    assert 'role="alert"' in reply.text
    again = fields_of(reply.text, at)
    assert {name: again[name] for name in fields} == {n: [value] for n, value in fields.items()}


def test_a_long_list_goes_on_with_the_next_page(meaning: Meaning, reviewer: Visit) -> None:
    columns = ", ".join(f"c{number:02} INTEGER" for number in range(60))
    meaning.run(f"CREATE TABLE wide ({columns})")
    meaning.refresh()
    for name, every in (
        ("questions", len(meaning.questions())),
        (
            "columns",
            len(meaning.client.ask(ontology.list_columns(*meaning.here, limit=1000)).items),
        ),
    ):
        found, page = 0, reviewer.page("/ontology", datasource=NAME, tab=name)
        while True:
            found += page.count("<tr>") - 1
            links = [link for link in Reading(page).links if "cursor=" in link]
            if not links:
                break
            page = reviewer.page(links[0].removeprefix(CONSOLE))
        assert found == every > 50


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.key)
def test_an_auditor_reads_what_is_stated_and_is_shown_no_form(
    office: Office, meaning: Meaning, kind: Kind
) -> None:
    auditor = office.visit("auditor")

    page = Reading(auditor.page("/ontology", datasource=NAME, tab=kind.tab))

    assert [link for link in page.links if "/stated/" in link] == []
    assert auditor.get(f"{meaning.at}/stated/{kind.key}").status_code == 403


def test_a_kind_that_there_is_not_is_told(meaning: Meaning, reviewer: Visit) -> None:
    assert reviewer.get(f"{meaning.at}/stated/nothing").status_code == 404
