"""The `alerts` section: what may be written, and what stands where nothing is (S2.48)."""

from datetime import time
from pathlib import Path

import pytest

from remit.admin.alert_rules import alerts_document
from remit.admin.declaration import load_declaration, parse_document
from remit.admin.edits import set_alerts
from remit.errors import DeclarationError
from remit.model.alert_rules import AlertRule, AlertRules, HoursRule, VolumeRule
from remit.model.alerts import AlertType, Severity


def rules(section: dict[str, object]) -> AlertRules:
    return parse_document({"alerts": section}).declaration.alerts


def problems(section: object) -> list[str]:
    with pytest.raises(DeclarationError) as error:
        parse_document({"alerts": section})
    return [f"{one.message}; {one.remedy}" for one in error.value.problems]


def test_without_the_section_the_defaults_hold() -> None:
    assert parse_document({}).declaration.alerts == AlertRules()


def test_what_is_not_written_is_as_it_is_by_default() -> None:
    found = rules(
        {
            "sql_injection_detected": {"severity": "Warning"},
            "unusual_query_volume": {"usualPerHour": 100},
            "after_hours_access": {"enabled": "on", "from": "22:00", "until": "06:00"},
        }
    )

    assert found == AlertRules(
        sql_injection_detected=AlertRule(severity=Severity.WARNING),
        unusual_query_volume=VolumeRule(usual_per_hour=100),
        after_hours_access=HoursRule(enabled=True, begins=time(22), ends=time(6)),
    )


def test_the_rules_in_force_can_be_written_as_they_are_shown() -> None:
    shown = alerts_document(AlertRules())

    assert list(shown) == [type_.value for type_ in AlertType]
    assert shown["after_hours_access"] == {
        "enabled": False,
        "severity": "info",
        "from": "06:00",
        "until": "22:00",
    }
    assert rules({**shown}) == AlertRules()


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ([{"on": "denied"}], "'alerts' must be a mapping"),
        ({"repeated_error": {}}, "did you mean 'repeated_errors'?"),
        ({"repeated_errors": {"error": 3}}, "did you mean 'errors'?"),
        ({"repeated_errors": {"errors": 1}}, "greater than or equal to 2"),
        ({"repeated_errors": {"severity": "fatal"}}, "must be 'info', 'warning' or 'critical'"),
        ({"large_data_export": {"rows": 1001}}, "less than or equal to 1000"),
        (
            {"after_hours_access": {"from": "6"}},
            "'alerts.after_hours_access.from' must be a time of day such as '06:00'",
        ),
        ({"after_hours_access": {"from": "24:00"}}, "'alerts.after_hours_access.from'"),
        ({"after_hours_access": {"from": "22:00"}}, "no hour is a usual one"),
        ({"unusual_query_volume": {"multiplier": 5000}}, "more than 10000 statements"),
        ({"unusual_query_volume": {"multiplier": "x"}}, "must be a number, not a text"),
    ],
)
def test_what_does_not_fit_is_said_with_its_place_and_what_to_do(
    section: object, said: str
) -> None:
    [problem] = problems(section)

    assert said in problem
    assert not problem.endswith("; ")


def test_a_problem_names_the_line_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "remit.yaml"
    file.write_text("version: '1.0'\nalerts:\n  repeated_errors:\n    errors: many\n")

    with pytest.raises(DeclarationError) as error:
        load_declaration(file)

    assert [one.line for one in error.value.problems] == [4]


def test_an_edit_makes_the_section_what_it_is_given_and_leaves_the_rest() -> None:
    document = {"version": "1.0", "alerts": {"repeated_errors": {"errors": 9}}}

    edited = set_alerts({"largeDataExport": {"rows": 10}})(document)

    assert edited == {"version": "1.0", "alerts": {"large_data_export": {"rows": 10}}}
    assert document["alerts"] == {"repeated_errors": {"errors": 9}}
