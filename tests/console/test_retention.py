"""How long the record is kept, on a tab of the page "Audit"."""

from collections.abc import Iterator
from html import unescape

import pytest
from tests.console.declaring import changing, number
from tests.console.office import Office
from tests.console.visits import Visit

from remit.client import data_audit, revisions
from remit.model.principals import DEFAULT_TENANT

AT = "/audit/retention"


@pytest.fixture
def visit(office: Office) -> Iterator[Visit]:
    """An administrator; what it declares is taken back."""
    yield office.visit("administrator")
    office.client().ask(data_audit.retain(DEFAULT_TENANT, days=None, rows=None))


def kept(office: Office) -> tuple[int | None, int | None]:
    found = office.client().ask(data_audit.retention(DEFAULT_TENANT))
    return found.days, found.rows


def etag(office: Office) -> str:
    return office.client().ask_tagged(data_audit.retention(DEFAULT_TENANT)).etag


def test_it_is_declared_as_a_revision_with_its_reason(office: Office, visit: Visit) -> None:
    fields = {"days": "4000", "rows": "", "etag": etag(office), "reason": "as the law has it"}

    after = visit.do(AT, fields).text

    assert kept(office) == (4000, None)
    assert 'name="days" type="number" value="4000"' in after
    assert "as a new revision" in after
    newest = office.client().ask(revisions.get(number(office)))
    assert (newest.author, newest.reason) == ("key:admin", "as the law has it")


@pytest.mark.parametrize(
    ("days", "told"), [("many", "whole number"), ("0", "days"), ("-1", "days"), ("9" * 20, "days")]
)
def test_what_is_no_bound_is_refused_and_stays_in_the_form(
    office: Office, visit: Visit, days: str, told: str
) -> None:
    refused = visit.post(AT, {"days": days, "rows": "7000000", "reason": "kept"})

    assert refused.status_code == 422
    assert told in refused.text.partition('role="alert"')[2][:400]
    assert f'name="days" type="number" value="{days}"' in refused.text
    assert 'value="kept"' in refused.text
    assert kept(office) == (None, None)


def test_what_somebody_else_declared_meanwhile_is_not_written_over(
    office: Office, visit: Visit
) -> None:
    fields = {"days": "5000", "rows": "", "etag": etag(office)}
    office.client().ask(data_audit.retain(DEFAULT_TENANT, days=6000, rows=None))

    refused = visit.post(AT, fields)

    assert refused.status_code == 412
    assert "Somebody changed it since this page was loaded" in refused.text
    assert etag(office) in unescape(refused.text)
    assert kept(office) == (6000, None)


def test_an_auditor_reads_it_and_is_shown_no_form(office: Office) -> None:
    visit = office.visit("auditor")

    page = visit.page(AT)

    assert "no bound" in page
    assert changing(page) == []
    assert visit.post(AT, {"days": "1"}).status_code == 403
