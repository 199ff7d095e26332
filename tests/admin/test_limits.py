"""Limits as declared: what is read, and what is no limit (product.md, `limits[]`)."""

import pytest

from remit.admin.declaration import parse_document
from remit.errors import DeclarationError, Problem
from remit.model.limits import Limit


def read(**entry: object) -> Limit:
    (limit,) = parse_document({"limits": [entry]}).declaration.limits
    return limit


def problems(*entries: object) -> list[Problem]:
    with pytest.raises(DeclarationError) as caught:
        parse_document({"limits": list(entries)})
    return list(caught.value.problems)


def test_a_limit_is_read_and_acts() -> None:
    loaded = parse_document(
        {
            "limits": [
                {"role": "clerk", "tool": "git/create_*", "calls": 30, "per": "minute"},
                {"principal": "key:ci", "calls": 1, "per": "day", "perCaller": False},
            ]
        }
    )

    assert loaded.warnings == ()
    assert loaded.declaration.limits == (
        Limit(role="clerk", tool="git/create_*", calls=30, seconds=60),
        Limit(principal="key:ci", calls=1, seconds=86_400, per_caller=False),
    )


@pytest.mark.parametrize(
    ("per", "seconds"),
    [
        *(("second", 1), ("minute", 60), ("hour", 3600), ("day", 86_400)),
        *((" Minute ", 60), (90, 90), ("120", 120), (366 * 86_400, 366 * 86_400)),
    ],
)
def test_a_span_is_a_word_or_seconds(per: object, seconds: int) -> None:
    assert read(calls=1, per=per).seconds == seconds


@pytest.mark.parametrize(
    "per",
    [0, -1, 1.5, True, "", "0s", "fortnight", "²", [], {}, 366 * 86_400 + 1, "9" * 50, 10**400],
)
def test_what_is_no_span_is_refused(per: object) -> None:
    (problem,) = problems({"calls": 1, "per": per})

    assert problem.code == "bad-value"
    assert "must be one of second, minute, hour, day, or whole seconds" in problem.message


def test_the_nearest_span_is_named() -> None:
    (problem,) = problems({"calls": 1, "per": "minutes"})

    assert problem.remedy == "did you mean 'minute'?"


def test_calls_and_span_have_to_be_said() -> None:
    assert [(one.code, one.message) for one in problems({"role": "clerk"})] == [
        ("missing-key", "'limits[0]' needs `calls`"),
        ("missing-key", "'limits[0]' needs `per`"),
    ]


@pytest.mark.parametrize("calls", [0, -1, 1.5, "many", True, None])
def test_a_number_of_calls_is_at_least_one(calls: object) -> None:
    # there is no "0 means unlimited"
    assert problems({"calls": calls, "per": "minute"})


@pytest.mark.parametrize(
    ("principal", "remedy"),
    [
        ("ci", "did you mean 'key:ci'?"),
        ("key:", "write a kind and a name, such as 'user:ann'"),
        ("keys:ci", "did you mean 'key:ci'?"),
        ("role:clerk", "write `role: clerk`"),
        ("group:all", "write a kind and a name, such as 'user:ann'"),
    ],
)
def test_a_limit_is_about_one_caller_in_a_known_spelling(principal: str, remedy: str) -> None:
    (problem,) = problems({"principal": principal, "calls": 1, "per": "minute"})

    assert problem.code == "bad-subject"
    assert problem.message == (
        "'limits[0].principal' is no caller: it must be one of 'key:NAME', 'user:NAME',"
        " 'agent:NAME'"
    )
    assert problem.remedy == remedy


def test_a_tool_that_is_no_pattern_is_refused() -> None:
    # R15
    (problem,) = problems({"tool": "push", "calls": 1, "per": "minute"})

    assert problem.code == "bad-pattern"
    assert "'limits[0].tool' is no pattern: it names no server" in problem.message


def test_every_wrong_limit_is_told_at_once() -> None:
    found = problems({"calls": 0, "per": "minute"}, {"calls": 1, "per": "x"}, ["calls"], "calls")

    assert [one.message.split("'")[1] for one in found] == [
        "limits[0].calls",
        "limits[1].per",
        "limits[2]",
        "limits[3]",
    ]


@pytest.mark.parametrize("calls", [2**31, 2**63, 10**30, "9223372036854775807", "9" * 5000])
def test_more_calls_than_every_store_can_count_are_too_many(calls: object) -> None:
    # a number of more than 18 digits is a text to whoever reads YAML
    (problem,) = problems({"calls": calls, "per": "minute"})

    assert (problem.code, problem.message) == (
        "bad-value",
        "'limits[0].calls' is too large: it must be less than or equal to 2147483647",
    )


def test_as_many_calls_as_every_store_can_count_are_a_limit() -> None:
    assert read(calls=2**31 - 1, per="minute").calls == 2**31 - 1
