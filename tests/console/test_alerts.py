"""The page "Alerts": what somebody should look at, and when that is (S2.48)."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from anyio.from_thread import start_blocking_portal
from tests.console.office import DATASOURCE, Office
from tests.console.present import INJECTION, until
from tests.console.visits import Visit

from remit.client import Client, alerts, audit, keys, queries
from remit.client.queries import Draft
from remit.data.alerts.rules import stands_for
from remit.data.alerts.telling import OPENED, told_of
from remit.doors.console.alert_form import RULES
from remit.errors import ProblemDetails
from remit.model.alerts import Alert, AlertType, Places, Severity
from remit.model.principals import DEFAULT_TENANT
from remit.storage.alerts import Alerts
from remit.storage.database import default_url, open_database
from remit.storage.notices import Notices

AT = "/alerts"
RULES_AT = f"{AT}/rules"
HERE = (DEFAULT_TENANT, DATASOURCE)
HOSTILE = "user:<b>eve</b>"


@pytest.fixture
def somebody(office: Office) -> str:
    """Give a caller about whom an alert is open, of a type that nothing else raises here."""
    return alert_about(office, f"user:{uuid4().hex}")


def alert_about(office: Office, user: str) -> str:
    with start_blocking_portal() as portal:
        portal.call(_raise, office, user)
    return user


async def _raise(office: Office, user: str) -> None:
    now, id_ = datetime.now(UTC), f"alert-{uuid4().hex}"
    alert = Alert(
        id=id_,
        tenant=DEFAULT_TENANT,
        type=AlertType.AFTER_HOURS_ACCESS,
        user=user,
        about=f"call-{id_}",
        severity=Severity.INFO,
        title="a call was made outside of 06:00-22:00 UTC",
        details={"hours": "06:00-22:00 UTC"},
        opened=now,
    )
    async with open_database(default_url(office.folder / ".remit")) as database:
        await Alerts(database, Notices(database)).open_alerts(
            [(alert, told_of(alert, OPENED, f"event-{id_}", now))],
            settled=Places(statements=0, calls=0),
            stands_for=stands_for,
        )


@pytest.fixture
def visit(office: Office) -> Visit:
    return office.visit("administrator")


def alert_of(office: Office, user: str) -> alerts.Alert:
    [found] = office.client().ask(alerts.list_newest(DEFAULT_TENANT, user=user)).data.items
    return found


def listed(page: str) -> list[str]:
    """Return the callers of the alerts that a page lists."""
    return [unescape(user) for user in re.findall(r'class="caller"><a [^>]*>([^<]*)<', page)]


def test_alerts_are_found_by_what_they_are(visit: Visit, somebody: str) -> None:
    assert "key:reports" in listed(visit.page(AT))
    assert listed(visit.page(AT, type="sql_injection_detected")) == ["key:reports"]
    assert listed(visit.page(AT, severity="critical", user="key:reports")) == ["key:reports"]
    assert listed(visit.page(AT, user=somebody)) == [somebody]
    assert somebody in listed(visit.page(AT, type="after_hours_access", severity="info"))
    assert listed(visit.page(AT, user=somebody, status="dismissed")) == []
    assert listed(visit.page(AT, user="user:nobody")) == []
    assert "No alert is like that" in visit.page(AT, user="user:nobody")


def test_what_a_caller_is_called_is_text(office: Office, visit: Visit) -> None:
    alert_about(office, HOSTILE)

    page = visit.page(AT, user=HOSTILE)

    assert listed(page) == [HOSTILE]
    assert "<b>eve" not in page


def _calls_linked(page: str) -> dict[str, Any]:
    """Return the filter of the record to which the first alert of a page leads."""
    links = [unescape(link) for link in re.findall(r'href="/console/audit\?([^"]*)"', page)]
    asked: dict[str, Any] = {name: values[0] for name, values in parse_qs(links[0]).items()}
    return asked | {name: datetime.fromisoformat(asked[name]) for name in ("since", "until")}


def test_an_alert_leads_to_the_calls_that_raised_it(office: Office) -> None:
    page = office.visit("administrator").page(AT, type="sql_injection_detected")

    found = office.client().ask(audit.search(audit.Filter(**_calls_linked(page)))).items

    assert {(row.principal, row.tool) for row in found} == {
        ("key:reports", "execute_approved_query")
    }
    assert any("OR 1=1" in row.arguments for row in found)


def test_an_alert_of_what_came_by_the_api_leads_to_its_record(office: Office) -> None:
    administrator, name = office.client(), f"by-api-{uuid4().hex[:8]}"
    city = {"name": "city", "type": "string", "example": "Bern"}
    sql = "SELECT name FROM customers WHERE city = {{city}}"
    draft = Draft(name=name, description="By city.", sql=sql, parameters=[city])
    query = administrator.ask(queries.create(*HERE, draft)).id
    key = administrator.ask(keys.create(name, user_role="data")).key
    with Client(office.base, key=key) as caller, pytest.raises(ProblemDetails):
        caller.ask(queries.execute(*HERE, query, {"city": INJECTION}))
    opened = alerts.list_newest(DEFAULT_TENANT, user=f"key:{name}", type_="sql_injection_detected")
    until(lambda: bool(administrator.ask(opened).data.items), office)

    page = office.visit("administrator").page(AT, user=f"key:{name}")

    (row,) = administrator.ask(audit.search(audit.Filter(**_calls_linked(page)))).items
    assert (row.principal, row.tool) == (f"key:{name}", "queries.execute")
    administrator.ask(queries.remove(*HERE, query, if_match="*"))
    for each in administrator.ask(
        alerts.list_newest(DEFAULT_TENANT, user=f"key:{name}")
    ).data.items:
        administrator.ask(alerts.dismiss(DEFAULT_TENANT, each.id))


def test_an_alert_is_closed_with_a_note_and_the_filter_stays(
    office: Office, visit: Visit, somebody: str
) -> None:
    one = alert_of(office, somebody)

    after = visit.do(f"{AT}/{one.id}/resolve", note="she had the night shift", user=somebody)

    closed = alert_of(office, somebody)
    assert (closed.status, closed.note) == ("resolved", "she had the night shift")
    assert "It is resolved" in after.text
    assert parse_qs(urlsplit(str(after.url)).query) == {"user": [somebody]}
    assert listed(after.text) == []
    page = visit.page(AT, user=somebody, status="resolved")
    assert "she had the night shift" in page
    assert "<details" not in page


def test_an_alert_that_is_closed_already_keeps_what_was_typed(
    office: Office, visit: Visit, somebody: str
) -> None:
    one = alert_of(office, somebody)
    visit.do(f"{AT}/{one.id}/dismiss", note="a test")

    again = visit.post(f"{AT}/{one.id}/resolve", note="mine", user=somebody)

    assert again.status_code == 409
    assert 'role="alert"' in again.text
    assert alert_of(office, somebody).note == "a test"


@pytest.mark.parametrize("how", ["dismiss", "resolve", "resolve-all"])
def test_a_note_is_as_long_as_over_the_api(
    office: Office, visit: Visit, somebody: str, how: str
) -> None:
    """Of a reason the record takes less, and has so much of it."""
    one, note = alert_of(office, somebody), "long " * 398 + "enough"

    if how == "resolve-all":
        visit.do(f"{AT}/{how}", of="after_hours_access", note=note)
    else:
        visit.do(f"{AT}/{one.id}/{how}", note=note)

    assert alert_of(office, somebody).note == note
    wanted = audit.Filter(server="/admin", tool=f"alerts.{how.replace('-', '_')}")
    (row,) = office.client().ask(audit.search(wanted, limit=1)).items
    assert note[:499] in row.arguments


def test_a_note_that_is_too_long_is_kept_in_its_place(
    office: Office, visit: Visit, somebody: str
) -> None:
    one, note = alert_of(office, somebody), "x" * 2001

    refused = visit.post(f"{AT}/{one.id}/dismiss", note=note)

    assert refused.status_code == 422
    assert f'value="{note}"' in refused.text
    assert '<details class="closing" open>' in refused.text
    assert alert_of(office, somebody).status == "open"


def test_all_of_a_type_are_resolved_and_no_others(
    office: Office, visit: Visit, somebody: str
) -> None:
    after = visit.do(f"{AT}/resolve-all", of="after_hours_access", note="known")

    assert "resolved." in after.text
    assert "key:reports" in listed(after.text)
    assert somebody not in listed(after.text)
    assert alert_of(office, somebody).note == "known"


@pytest.mark.parametrize("type_", ["", "nonsense"])
def test_a_type_that_there_is_not_resolves_none(visit: Visit, type_: str) -> None:
    refused = visit.post(f"{AT}/resolve-all", of=type_, note="kept")

    assert refused.status_code == 422
    assert 'value="kept"' in refused.text
    assert "key:reports" in listed(refused.text)


def form_of(office: Office) -> dict[str, str]:
    """Return the fields of the form as it is loaded."""
    read = office.client().ask_tagged(alerts.config(DEFAULT_TENANT))
    rules, fields = read.value.data, {"etag": read.etag, "reason": ""}
    for type_, rule in rules.items():
        texts = {f"{type_}.{key}": str(value) for key, value in rule.items()}
        enabled = texts.pop(f"{type_}.enabled")
        fields |= texts | ({f"{type_}.enabled": "on"} if enabled == "True" else {})
    return fields


@pytest.fixture
def rules(office: Office) -> Iterator[alerts.Rules]:
    """The rules in force; they are again what they were afterwards."""
    before = office.client().ask(alerts.config(DEFAULT_TENANT)).data
    yield before
    office.client().ask(alerts.configure(DEFAULT_TENANT, before))


def in_force(office: Office) -> Mapping[str, Mapping[str, Any]]:
    return office.client().ask(alerts.config(DEFAULT_TENANT)).data


def test_the_form_has_every_threshold_of_every_type(visit: Visit, rules: alerts.Rules) -> None:
    page = visit.page(RULES_AT)
    names = set(re.findall(r'name="([\w]+\.[\w]+)"', page))

    assert names == {f"{type_}.{key}" for type_, rule in rules.items() for key in rule}
    assert set(RULES) == set(AlertType)
    assert 'name="large_data_export.rows" type="number" value="500"' in page


def test_a_form_that_is_saved_as_it_was_loaded_changes_no_threshold(
    office: Office, visit: Visit, rules: alerts.Rules
) -> None:
    visit.do(RULES_AT, form_of(office))

    assert in_force(office) == rules


def test_thresholds_are_changed_as_a_revision_with_its_reason(
    office: Office, visit: Visit, rules: alerts.Rules
) -> None:
    changed = form_of(office) | {
        "unusual_query_volume.multiplier": "2.5",
        "after_hours_access.enabled": "on",
        "after_hours_access.until": "18:30",
        "reason": "fewer nights",
    }
    del changed["repeated_errors.enabled"]

    after = visit.do(RULES_AT, changed)

    now = in_force(office)
    assert now["unusual_query_volume"]["multiplier"] == 2.5
    assert (now["after_hours_access"]["enabled"], now["after_hours_access"]["until"]) == (
        True,
        "18:30",
    )
    assert now["repeated_errors"]["enabled"] is False
    assert now["large_data_export"] == rules["large_data_export"]
    assert "in force" in after.text
    [newest, *_] = office.client().ask(audit.search(audit.Filter(tool="alerts.configure"))).items
    assert "fewer nights" in json.dumps(newest.arguments)


@pytest.mark.parametrize("entered", ["many", "-1", "1001", ""])
def test_a_threshold_that_does_not_do_is_refused_and_stays_in_the_form(
    office: Office, visit: Visit, rules: alerts.Rules, entered: str
) -> None:
    fields = form_of(office) | {"large_data_export.rows": entered, "reason": "kept"}

    refused = visit.post(RULES_AT, fields)

    assert refused.status_code == 422
    assert "large_data_export" in unescape(refused.text).partition('role="alert"')[2][:600]
    assert f'name="large_data_export.rows" type="number" value="{entered}"' in refused.text
    assert 'value="kept"' in refused.text
    assert in_force(office) == rules


@pytest.mark.parametrize(
    ("field", "entered", "said"),
    [
        ("unusual_query_volume.multiplier", "1e999", "multiplier' must be a number"),
        ("unusual_query_volume.multiplier", "nan", "multiplier' must be a number"),
        ("after_hours_access.from", "6", "from' must be a time of day such as '06:00'"),
    ],
)
def test_what_is_no_such_threshold_is_told_in_plain_words(
    office: Office, visit: Visit, field: str, entered: str, said: str
) -> None:
    refused = visit.post(RULES_AT, form_of(office) | {field: entered})

    assert refused.status_code == 422
    assert said in unescape(refused.text).partition('role="alert"')[2][:600]


def test_rules_that_somebody_else_changed_meanwhile_are_not_written_over(
    office: Office, visit: Visit, rules: alerts.Rules
) -> None:
    fields = form_of(office) | {"repeated_errors.errors": "9"}
    other = {**rules, "repeated_errors": {**rules["repeated_errors"], "errors": 7}}
    office.client().ask(alerts.configure(DEFAULT_TENANT, other))

    refused = visit.post(RULES_AT, fields)

    assert refused.status_code == 412
    assert "Somebody changed it since this page was loaded" in refused.text
    assert 'name="repeated_errors.errors" type="number" value="9"' in refused.text
    assert in_force(office)["repeated_errors"]["errors"] == 7


def test_an_auditor_reads_alerts_and_rules_and_is_shown_no_form(
    office: Office,
) -> None:
    visit = office.visit("auditor")

    shown, ruled = visit.page(AT), visit.page(RULES_AT)

    for page in (shown, ruled):
        assert 'method="post"' not in page.partition("<main")[2]
    assert "key:reports" in listed(shown)
    assert "rows in one answer: 500" in ruled
    assert visit.post(RULES_AT, form_of(office)).status_code == 403
