"""The page "Queries": what is approved, made, run, suggested and decided on (S2.29-S2.40, R13)."""

import re
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.console.office import DATASOURCE, Office
from tests.console.visits import Visit

from remit.client import datasources, keys, queries
from remit.client.queries import Draft, Query
from remit.doors.console.rendering import as_visible
from remit.doors.console.suggestions import TITLES, lines_between
from remit.model.data import CHANGEABLE, EngineKind
from remit.model.principals import DEFAULT_TENANT
from remit.testing.shops import make_shop

HERE = (DEFAULT_TENANT, DATASOURCE)
MARKUP = "<b onclick=alert(1)>&lt;bold&gt;</b>"


def fresh(what: str = "query") -> str:
    return f"{what} {uuid4().hex[:8]}"


def entered(**more: str) -> dict[str, str]:
    """Return what a form of a query with one parameter sends."""
    return {
        "name": fresh(),
        "description": "Where they live.",
        "sql": "SELECT name FROM customers WHERE city = {{city}}",
        "p0_name": "city",
        "p0_type": "string",
        "p0_required": "on",
        "p0_example": "Bern",
        "step": "save",
        **more,
    }


@pytest.fixture
def reviewer(office: Office) -> Visit:
    return office.visit("reviewer")


@pytest.fixture
def at(reviewer: Visit) -> str:
    """Where pages of the one datasource are."""
    found = re.search(r'href="/console(/queries/[^/"]+)/new"', reviewer.page("/queries"))
    assert found is not None
    return found[1]


def made(office: Office, **more: Any) -> Query:
    city = {"name": "city", "type": "string", "example": "Bern"}
    draft: Mapping[str, Any] = {
        "name": fresh(),
        "description": "Where they live.",
        "sql": "SELECT name FROM customers WHERE city = {{city}}",
        "parameters": [city],
        **more,
    }
    return office.client().ask(queries.create(*HERE, Draft(**draft)))


def suggested(office: Office, name: str, by: str = "user", **more: Any) -> str:
    """Suggest a query by the tool; return its id."""
    arguments: dict[str, Any] = {
        "name": name,
        "description": "All of them.",
        "sql": "SELECT name FROM customers",
        "parameters": [],
        **more,
    }
    result = office.client(by).call_tool("suggest_approved_query", arguments, server="data")
    assert result.structured is not None, result.text
    return result.structured["suggestion_id"]


def etag_in(page: str) -> str:
    found = re.search(r'name="etag" value="([^"]*)"', page)
    assert found is not None
    return unescape(found[1])


def alert_in(page: str) -> str:
    found = re.search(r'role="alert">(.*?)</div>', page, re.DOTALL)
    assert found is not None, page
    return unescape(found[1])


def test_a_query_is_tried_out_made_run_changed_and_deleted(
    office: Office, reviewer: Visit, at: str
) -> None:
    fields = entered()
    names = reviewer.post(f"{at}/new", {**fields, "step": "names"}).text
    assert 'name="p0_name" value="city"' in names
    tried = reviewer.post(f"{at}/new", {**fields, "step": "try"})
    assert "The dry run works." in tried.text
    assert fields["name"] not in reviewer.page("/queries")

    query = reviewer.do(f"{at}/new", fields)
    own = query.url.path.removeprefix("/console")
    ran = reviewer.post(f"{own}/run", {"v_city": "Bern"})
    assert re.search(r"\d+ rows? in", ran.text)
    edited = reviewer.do(
        f"{own}/edit", {**fields, "description": "By city.", "etag": etag_in(reviewer.page(own))}
    )
    assert "By city." in edited.text
    assert "can not be run any more" in reviewer.do(f"{own}/enabled", {"enabled": "no"}).text
    assert not office.client().ask(queries.get(*HERE, own.rsplit("/", 1)[1])).is_enabled

    gone = reviewer.do(f"{own}/delete", {"etag": etag_in(reviewer.page(own))})
    assert "The query is deleted." in gone.text
    assert fields["name"] not in gone.text


def test_a_form_that_is_refused_keeps_what_was_entered(reviewer: Visit, at: str) -> None:
    fields = entered(sql="DROP TABLE customers", description="Typed with care.")

    refused = reviewer.post(f"{at}/new", fields)

    assert refused.status_code >= 400
    assert alert_in(refused.text)
    assert "Typed with care." in refused.text
    assert "DROP TABLE customers" in refused.text


def test_a_change_of_what_somebody_else_has_changed_is_refused(
    office: Office, reviewer: Visit, at: str
) -> None:
    query = made(office)
    own = f"{at}/{query.id}"
    seen = etag_in(reviewer.page(f"{own}/edit"))
    office.client().ask(queries.change(*HERE, query.id, {"description": "Mine."}, if_match="*"))

    late = reviewer.post(f"{own}/edit", {**entered(description="Too late."), "etag": seen})

    assert late.status_code == 412
    assert "Somebody changed it" in late.text
    assert "Too late." in late.text
    assert office.client().ask(queries.get(*HERE, query.id)).description == "Mine."


@pytest.mark.parametrize("value", ["many", "9" * 400, "[" * 5000, "1e999"])
def test_a_value_that_does_not_fit_is_told_and_kept(
    office: Office, reviewer: Visit, at: str, value: str
) -> None:
    number = {"name": "least", "type": "integer", "example": 1}
    query = made(office, sql="SELECT name FROM customers WHERE id > {{least}}", parameters=[number])

    refused = reviewer.post(f"{at}/{query.id}/run", {"v_least": value})

    assert refused.status_code == 422
    assert "least" in alert_in(refused.text)
    assert f'value="{value}"' in refused.text


def test_what_a_query_gave_is_shown_as_the_api_gives_it(
    office: Office, reviewer: Visit, tmp_path: Path
) -> None:
    """Of an engine that has truths and lists: as JSON, and a text as it is."""
    name, place = f"s{uuid4().hex[:8]}", make_shop(EngineKind.DUCKDB, tmp_path)
    administrator = office.client()
    source = administrator.ask(
        datasources.add(DEFAULT_TENANT, name, engine="duckdb", url=place, settings={})
    )
    sql = "SELECT TRUE AS paid, ['a', NULL] AS tags, 'it''s' AS word, NULL AS nothing"
    draft = Draft(name=fresh(), description="Values.", sql=sql, parameters=[])
    query = administrator.ask(queries.create(DEFAULT_TENANT, name, draft))

    ran = reviewer.post(f"/queries/{source.id}/{query.id}/run").text
    administrator.ask(datasources.remove(DEFAULT_TENANT, name, if_match="*"))

    row = re.search(r"<tr>(<td>.*?)</tr>", ran.partition("What it gave")[2])
    assert row is not None
    assert re.findall(r"<td>(.*?)</td>", unescape(row[1])) == [
        "true", '["a", null]', "it's", "null"
    ]  # fmt: skip


def test_a_reviewer_rejects_with_a_reason_and_puts_it_back(
    office: Office, reviewer: Visit, at: str
) -> None:
    name = fresh("suggestion")
    own = f"{at}/{suggested(office, name)}/review"
    assert name in reviewer.page("/queries", tab="pending")

    bare = reviewer.post(f"{own}/reject", {"why": ""})
    assert bare.status_code == 422
    assert alert_in(bare.text)
    reviewer.do(f"{own}/reject", {"why": "There is one like it."})
    rejected = reviewer.page("/queries", tab="rejected")
    assert name in rejected
    assert "There is one like it." in rejected
    reviewer.do(f"{own}/pending")

    assert name in reviewer.page("/queries", tab="pending")
    assert "is rejected" in reviewer.do(f"{own}/reject", {"why": "Twice."}).text


def test_nobody_is_offered_to_decide_on_a_suggestion_of_their_own(
    office: Office, reviewer: Visit, at: str
) -> None:
    own = f"{at}/{suggested(office, fresh(), by='reviewer')}/review"

    page = reviewer.page(own)
    refused = reviewer.post(f"{own}/approve")

    assert "somebody else has to decide" in page
    assert "Approve" not in page
    assert refused.status_code == 403
    assert alert_in(refused.text)
    assert (
        "is rejected" in office.visit("administrator").do(f"{own}/reject", {"why": "A test."}).text
    )


def test_a_business_user_and_an_auditor_read_and_have_no_button(office: Office, at: str) -> None:
    query = made(office)
    pending = f"{at}/{suggested(office, fresh())}/review"

    for who in ("user", "auditor"):
        visit = office.visit(who)
        for page in ("/queries", f"{at}/{query.id}", pending):
            assert f"{at.removeprefix('/queries')}" in visit.page(page)
            assert not re.search(r'<form(?![^>]*/(theme|sign-out|tenant)")', visit.page(page)), page
        assert visit.post(f"{at}/{query.id}/run", {"v_city": "Bern"}).status_code == 403
        assert visit.post(f"{pending}/approve").status_code == 403
        assert visit.get(f"{at}/new").status_code == 403
    office.visit("reviewer").do(f"{pending}/reject", {"why": "A test."})


def test_what_others_wrote_is_text(office: Office, reviewer: Visit, at: str) -> None:
    query = made(
        office,
        name=f"{MARKUP} {uuid4().hex[:6]}",
        description=MARKUP,
        sql=f"SELECT '{MARKUP}' AS odd",
        parameters=[],
        tags=[MARKUP],
    )
    own = f"{at}/{query.id}"

    for page in (
        reviewer.page("/queries"),
        reviewer.page(own),
        reviewer.page(f"{own}/edit"),
        reviewer.post(f"{own}/run").text,
    ):
        assert "<b onclick" not in page
        assert MARKUP in unescape(page)
    office.client().ask(queries.remove(*HERE, query.id, if_match="*"))


def test_what_turns_a_text_around_is_seen_and_does_nothing(
    office: Office, reviewer: Visit, at: str
) -> None:
    turning = "\u202e\u2066\u2028x"
    name, said = fresh(), f"{fresh('why')} {turning}"
    parameter = {"name": "city", "type": "string", "description": said, "example": turning}
    pending = suggested(
        office,
        name,
        description=said,
        context=said,
        sql="SELECT name FROM customers WHERE city = {{city}}",
        parameters=[parameter],
        constraints=said,
        tags=[said],
    )
    listed = reviewer.page("/queries", tab="pending")
    review = reviewer.page(f"{at}/{pending}/review")
    approved = reviewer.do(f"{at}/{pending}/review/approve").text
    ran = reviewer.post(f"{at}/{pending}/run", {"v_city": turning}).text
    edited = reviewer.page(f"{at}/{pending}/edit")

    for page in (listed, review, approved, reviewer.page("/queries")):
        assert as_visible(said) in unescape(page)
        assert not set(turning[:-1]) & set(unescape(page))
    # a form sends what it was given
    assert f'value="{turning}"' in ran
    assert f'value="{said}"' in edited
    office.client().ask(queries.remove(*HERE, pending, if_match="*"))


def test_a_statement_that_reviewers_would_see_as_another_is_refused(
    reviewer: Visit, at: str
) -> None:
    sql = "SELECT name FROM customers /*\u202e \u2066WHERE city = 'Bern'\u2069 \u2066 one town */"

    refused = reviewer.post(f"{at}/new", entered(sql=sql))

    assert "U+202E" in alert_in(refused.text)
    assert sql in unescape(refused.text)


def test_a_member_is_not_told_where_a_datasource_is(office: Office) -> None:
    for who in ("user", "reviewer"):
        (seen,) = office.client(who).ask(datasources.list_all(DEFAULT_TENANT))
        assert (seen.name, seen.location, seen.sensitive) == (DATASOURCE, "", ())
    (known,) = office.client("auditor").ask(datasources.list_all(DEFAULT_TENANT))
    assert known.location


def test_a_datasource_that_is_not_there_is_told(reviewer: Visit) -> None:
    assert reviewer.get("/queries", datasource="nowhere").status_code == 404
    assert "nowhere" in reviewer.get("/queries", datasource="nowhere").text


def test_lines_of_a_change_are_told_apart() -> None:
    lines = lines_between("SELECT a\nFROM t", "SELECT b\nFROM t")

    assert [(line.kind, line.text) for line in lines] == [
        ("removed", "SELECT a"),
        ("added", "SELECT b"),
        ("", "FROM t"),
    ]
    assert len(lines_between("SELECT a --\u2028\x0b\x85\r\nFROM t", "SELECT a")) == 3


def test_a_change_is_reviewed_beside_what_it_changes(
    office: Office, reviewer: Visit, at: str
) -> None:
    query = made(office)
    arguments = {
        "query_id": query.id,
        "sql": "SELECT name, email FROM customers WHERE city = {{city}}",
        "context": "They are written to.",
    }
    result = office.client("user").call_tool("suggest_query_update", arguments, server="data")
    assert result.structured is not None, result.text
    own = f"{at}/{result.structured['suggestion_id']}/review"

    page = reviewer.page(own)
    assert 'class="diff-removed"' in page
    assert 'class="diff-added"' in page
    assert "They are written to." in page
    approved = reviewer.do(f"{own}/approve")

    assert "is approved" in approved.text
    assert "email" in office.client().ask(queries.get(*HERE, query.id)).sql


def changing(office: Office, query: Query, **fields: Any) -> str:
    """Suggest a change of a query by the tool; return the id of the suggestion."""
    arguments = {"query_id": query.id, "context": "It is time.", **fields}
    result = office.client("user").call_tool("suggest_query_update", arguments, server="data")
    assert result.structured is not None, result.text
    return result.structured["suggestion_id"]


def card(page: str, title: str) -> str:
    """Return what a card of a page says, without its markup."""
    found = re.search(rf"<h2>{title}</h2>(.*?)</section>", page, re.DOTALL)
    return "" if found is None else unescape(re.sub(r"<[^>]+>", " ", found[1]))


def test_a_change_of_what_was_changed_since_is_shown_and_tried_as_it_would_be(
    office: Office, reviewer: Visit, at: str
) -> None:
    query = made(office)
    suggestion = changing(office, query, description="In which town they live.")
    sql = "SELECT id FROM customers WHERE city = {{town}}"
    town = {"name": "town", "type": "string", "example": "Bern"}
    change = {"sql": sql, "parameters": [town]}
    office.client().ask(queries.change(*HERE, query.id, change, if_match="*"))

    own = f"{at}/{suggestion}/review"
    page = reviewer.page(own)
    tried = reviewer.post(f"{own}/try").text

    assert "outdated: the query was changed since" in page
    changes = card(page, "What changes").split()
    assert changes.count("removed") == changes.count("added") == 1
    assert "town they live" in card(page, "What changes")
    assert "SELECT" not in card(page, "What changes")
    assert sql in card(page, "The query as it would be")
    assert "town" in card(page, "The query as it would be")
    assert "Columns: <code>id</code>." in tried
    reviewer.do(f"{own}/approve", {"etag": etag_in(page)})
    merged = office.client().ask(queries.get(*HERE, query.id))
    assert (merged.sql, merged.description) == (sql, "In which town they live.")


def test_of_each_field_that_changes_it_is_shown_what_it_was(
    office: Office, reviewer: Visit, at: str
) -> None:
    query = made(office)
    parameter = {"name": "city", "type": "string", "example": "Basel", "required": False}
    suggestion = changing(
        office, query, parameters=[{**parameter, "default": "Chur"}], tags=["towns"]
    )

    shown = card(reviewer.page(f"{at}/{suggestion}/review"), "What changes")

    assert re.search(r"removed\s+city: string, needed, example Bern\s", shown)
    assert re.search(r"added\s+city: string, not needed, default Chur, example Basel\s", shown)
    assert re.search(r"added\s+towns\s", shown)


def test_a_change_is_not_approved_into_a_query_that_its_reviewer_has_not_seen(
    office: Office, reviewer: Visit, at: str
) -> None:
    query = made(office)
    suggestion = changing(office, query, description="In which town they live.")
    own = f"{at}/{suggestion}/review"
    seen = etag_in(reviewer.page(own))
    tags = {"tags": ["changed"]}
    office.client().ask(queries.change(*HERE, query.id, tags, if_match="*"))

    refused = reviewer.post(f"{own}/approve", {"etag": seen})

    assert refused.status_code == 412
    assert "Where they live." in office.client().ask(queries.get(*HERE, query.id)).description
    assert "is approved" in reviewer.do(f"{own}/approve", {"etag": etag_in(refused.text)}).text


def test_a_suggestion_whose_query_is_deleted_is_shown(
    office: Office, reviewer: Visit, at: str
) -> None:
    query = made(office)
    suggestion = changing(office, query, description="In which town they live.")
    office.client().ask(queries.remove(*HERE, query.id, if_match="*"))
    listed = reviewer.page("/queries", tab="rejected")
    assert f"{suggestion}/review" in listed

    for who in ("reviewer", "user", "auditor"):
        page = office.visit(who).page(f"{at}/{suggestion}/review")
        assert "a change of a query that is deleted" in page
        assert "In which town they live." in page
        assert "original deleted" in page
        assert "Put it back among those to review" not in page


def test_all_that_a_change_may_change_has_a_title_on_its_page() -> None:
    assert set(TITLES) == set(CHANGEABLE)


def test_a_service_key_limited_to_queries_is_not_let_in(office: Office) -> None:
    key = office.client().ask(keys.create(fresh("k").replace(" ", "-"), service=True))
    assert key.key
    assert office.visit("service").get("/queries").status_code == 403
