"""What somebody would have a query be: a new one as a `Draft`, a change of one as an `Edit`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from remit.errors import DataFailure
from remit.model.data import DataCode, Parameter, ParameterType

MOST_PARAMETERS: Final = 100
MOST_TAGS: Final = 50

LONGEST_NAME: Final = 200
LONGEST_TAG: Final = LONGEST_NAME
"""Characters of a name, and of a tag."""

_FIELDS: Final = frozenset({"name", "type", "description", "required", "default", "example"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A query that is to be.

    Attributes:
        datasource: Name or id; None for the one that is meant.
        output_columns: Descriptions of columns that the caller gives, by column.
        context: Why it is suggested.
    """

    name: str
    description: str
    sql: str
    datasource: str | None = None
    parameters: tuple[Parameter, ...] = ()
    output_columns: Mapping[str, str] = field(default_factory=dict[str, str])
    constraints: str = ""
    tags: tuple[str, ...] = ()
    context: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What is to be another in a query; None leaves a field as it is."""

    name: str | None = None
    description: str | None = None
    sql: str | None = None
    parameters: tuple[Parameter, ...] | None = None
    output_columns: Mapping[str, str] | None = None
    constraints: str | None = None
    tags: tuple[str, ...] | None = None
    is_enabled: bool | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it changes nothing at all."""
        return self == Edit()


def parameters_of(given: Sequence[object]) -> tuple[Parameter, ...]:
    """Return parameters as callers describe them: objects with the fields of `Parameter` (S2.32).

    Raises:
        DataFailure: `parameter_validation`, where one is none, or a name comes twice.
    """
    if len(given) > MOST_PARAMETERS:
        raise _wrong(f"a query has at most {MOST_PARAMETERS} parameters")
    parameters = tuple(_parameter_of(each) for each in given)
    names = [each.name for each in parameters]
    for name in names:
        if names.count(name) > 1:
            raise _wrong(f"parameter {name!r} is described twice", name)
    return parameters


def _parameter_of(given: object) -> Parameter:
    if not isinstance(given, dict):
        raise _wrong("each parameter is an object with at least a name and a type")
    members = cast("dict[str, object]", given)
    name = members.get("name")
    if not isinstance(name, str) or not _is_name(name):
        raise _wrong("a parameter's name is a letter or `_`, then letters, digits and `_`")
    unknown = sorted(members.keys() - _FIELDS)
    if unknown:
        raise _wrong(f"parameter {name!r} has no field {unknown[0][:40]!r}", name)
    types = ", ".join(ParameterType)
    try:
        type_ = ParameterType(str(members.get("type", "string")))
    except ValueError:
        raise _wrong(f"parameter {name!r} has a type that is none of {types}", name) from None
    required = members.get("required", True)
    description = members.get("description") or ""
    if not isinstance(required, bool) or not isinstance(description, str):
        raise _wrong(f"parameter {name!r}: `required` is true or false, `description` text", name)
    return Parameter(
        name=name,
        type=type_,
        description=description,
        required=required,
        default=members.get("default"),
        example=members.get("example"),
    )


def _is_name(name: str) -> bool:
    return name.isascii() and name.isidentifier()


def _wrong(message: str, parameter: str = "") -> DataFailure:
    details = {"parameter": parameter} if parameter else None
    return DataFailure(DataCode.PARAMETER_VALIDATION, message, details=details)
