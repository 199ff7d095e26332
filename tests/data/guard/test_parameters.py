"""Parameters become values of their types, in the order of S2.32, and are never said again."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pytest

from remit.data.guard.parameters import bind_values, require_matching
from remit.errors import DataFailure
from remit.model.data import Bound, DataCode, Parameter, ParameterType

SECRET = "hunter2"


def parameter(
    kind: str, *, name: str = "x", required: bool = True, default: object = None
) -> Parameter:
    return Parameter(name=name, type=ParameterType(kind), required=required, default=default)


def bind(kind: str, value: object) -> Bound:
    return bind_values([parameter(kind)], {"x": value})["x"]


def refused(parameters: Sequence[Parameter], given: Mapping[str, object]) -> DataFailure:
    with pytest.raises(DataFailure) as failure:
        bind_values(parameters, given)
    return failure.value


FIT: list[tuple[str, object, Bound]] = [
    ("string", "O'Brien {{x}} $1", "O'Brien {{x}} $1"),
    ("string", "  ", "  "),
    ("integer", 5, 5),
    ("integer", "-5", -5),
    ("integer", 5.0, 5),
    ("integer", 2**63 - 1, 2**63 - 1),
    ("integer", str(-(2**63)), -(2**63)),
    ("decimal", "0.1", Decimal("0.1")),
    ("decimal", 0.1, Decimal("0.1")),
    ("decimal", 3, Decimal(3)),
    ("decimal", "12345678901234567890.123456789", Decimal("12345678901234567890.123456789")),
    ("decimal", "-1e-7", Decimal("-1e-7")),
    ("boolean", True, True),
    ("boolean", "FALSE", False),
    ("date", "2024-02-29", date(2024, 2, 29)),
    ("timestamp", "2026-01-31T12:00:00Z", datetime(2026, 1, 31, 12, tzinfo=UTC)),
    ("timestamp", "2026-01-31t14:00:00.5+02:00", datetime(2026, 1, 31, 12, 0, 0, 500000, UTC)),
    (
        "uuid",
        "6F9619FF-8B86-D011-B42D-00C04FC964FF",
        UUID(int=0x6F9619FF8B86D011B42D00C04FC964FF),
    ),
    ("string[]", ["a", "b"], ["a", "b"]),
    ("string[]", '["a", "b"]', ["a", "b"]),
    ("string[]", [""], [""]),
    ("integer[]", [1, "2"], [1, 2]),
    ("integer[]", " [1, 2]", [1, 2]),
]


@pytest.mark.parametrize(("kind", "given", "bound"), FIT, ids=range(len(FIT)))
def test_a_value_becomes_one_of_its_type(kind: str, given: object, bound: Bound) -> None:
    value = bind(kind, given)

    assert value == bound
    assert type(value) is type(bound)


UNFIT: list[tuple[str, object]] = [
    ("string", 5),
    ("string", ["a"]),
    ("string", "lone \ud800"),
    ("integer", 2**63),
    ("integer", True),
    ("integer", 2.5),
    ("integer", "1.5"),
    ("integer", "0x10"),
    ("integer", "\u0665"),
    ("integer", "9" * 1000),
    ("integer", " 5"),
    ("integer", float("inf")),
    ("decimal", "NaN"),
    ("decimal", float("nan")),
    ("decimal", "1e999"),
    ("decimal", "9" * 1000),
    ("decimal", 10**1000),
    ("decimal", "1,5"),
    ("decimal", True),
    ("boolean", 1),
    ("boolean", "yes"),
    ("date", "2023-02-29"),
    ("date", "2026-1-1"),
    ("date", "20260101"),
    ("date", "2026-01-01T00:00:00Z"),
    ("timestamp", "2026-01-31T12:00:00"),
    ("timestamp", "2026-01-31"),
    ("timestamp", "2026-01-31T25:00:00Z"),
    ("uuid", "6f9619ff8b86d011b42d00c04fc964ff"),
    ("uuid", "{6f9619ff-8b86-d011-b42d-00c04fc964ff}"),
    ("string[]", "a, b"),
    ("string[]", ["a", None]),
    ("string[]", ["a", 5]),
    ("string[]", {"a": "b"}),
    ("integer[]", "[1, 2"),
    ("integer[]", "[[1]]"),
    ("integer[]", "[" * 9_000),
    ("integer[]", list(range(10_001))),
]


@pytest.mark.parametrize(("kind", "given"), UNFIT, ids=range(len(UNFIT)))
def test_what_is_none_of_the_type_is_refused(kind: str, given: object) -> None:
    failure = refused([parameter(kind)], {"x": given})

    assert failure.code == DataCode.TYPE_VALIDATION
    assert failure.details["parameter"] == "x"


@pytest.mark.parametrize("kind", [each.value for each in ParameterType if each.value != "string"])
def test_no_refusal_says_the_value(kind: str) -> None:
    failure = refused([parameter(kind)], {"x": SECRET})

    assert SECRET not in str(failure)
    assert SECRET not in str(failure.details)
    assert failure.__cause__ is None


@pytest.mark.parametrize("kind", [each.value for each in ParameterType])
@pytest.mark.parametrize("given", [{}, {"x": None}, {"x": ""}, {"x": []}], ids=range(4))
def test_nothing_and_what_is_empty_is_missing(kind: str, given: Mapping[str, object]) -> None:
    assert refused([parameter(kind)], given).code == DataCode.PARAMETER_VALIDATION
    assert bind_values([parameter(kind, required=False)], given) == {"x": None}


def test_an_empty_list_as_text_is_missing() -> None:
    assert refused([parameter("integer[]")], {"x": "[]"}).code == DataCode.PARAMETER_VALIDATION


def test_a_default_takes_the_place_of_what_is_missing() -> None:
    for required in (True, False):
        fallback = parameter("integer", required=required, default="7")
        for given in ({}, {"x": None}, {"x": ""}):
            assert bind_values([fallback], given) == {"x": 7}
        assert bind_values([fallback], {"x": 0}) == {"x": 0}
    assert bind_values([parameter("string", default="")], {}) == {"x": ""}
    assert bind_values([parameter("boolean", default=False)], {}) == {"x": False}


def test_the_order_is_required_then_types_then_unknown_ones() -> None:
    parameters = [parameter("integer", name="n"), parameter("string", name="who")]

    first = refused(parameters, {"n": "many", "odd": 1})
    second = refused(parameters, {"n": "many", "who": "ann", "odd": 1})
    third = refused(parameters, {"n": 1, "who": "ann", "odd": SECRET})

    assert (first.code, first.details["parameter"]) == (DataCode.PARAMETER_VALIDATION, "who")
    assert (second.code, second.details["parameter"]) == (DataCode.TYPE_VALIDATION, "n")
    assert (third.code, third.details["parameter"]) == (DataCode.PARAMETER_VALIDATION, "odd")
    assert SECRET not in str(third)


def test_names_are_told_apart_by_case() -> None:
    parameters = [parameter("integer", name="a"), parameter("integer", name="A")]

    assert bind_values(parameters, {"A": 1, "a": 2}) == {"a": 2, "A": 1}


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ([parameter("string")], ()),
        ([], ("x",)),
        ([parameter("string"), parameter("string")], ("x",)),
        ([parameter("string", name="1x")], ("1x",)),
        ([parameter("string", name="x y")], ("x y",)),
        ([parameter("string", name="X")], ("x",)),
    ],
    ids=range(6),
)
def test_definitions_are_the_placeholders(
    parameters: Sequence[Parameter], names: Sequence[str]
) -> None:
    with pytest.raises(DataFailure) as failure:
        require_matching(parameters, names)

    assert failure.value.code == DataCode.PARAMETER_VALIDATION


def test_defaults_and_examples_are_of_the_type() -> None:
    require_matching([parameter("date", default="2026-01-01")], ("x",))
    for wrong in (
        parameter("date", default=SECRET),
        Parameter(name="x", type=ParameterType.INTEGER, example=SECRET),
    ):
        with pytest.raises(DataFailure) as failure:
            require_matching([wrong], ("x",))
        assert failure.value.code == DataCode.TYPE_VALIDATION
        assert SECRET not in str(failure.value)
