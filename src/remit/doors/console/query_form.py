"""The form of an approved query: from its fields to a draft, and back."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from remit.client.queries import Draft, Parameter, Query
from remit.doors.console.visitor import Visitor

TYPES: Final = (
    "string",
    "integer",
    "decimal",
    "boolean",
    "date",
    "timestamp",
    "uuid",
    "string[]",
    "integer[]",
)
"""Types of parameters (S2.32)."""

_PLACEHOLDER: Final = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_MOST: Final = 100
"""Rows of parameters that a form has at most."""

_INPUTS: Final = {"integer": "number", "date": "date"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterRow:
    """A parameter, as a form shows it: values are texts."""

    name: str
    type: str = "string"
    description: str = ""
    required: bool = True
    default: str = ""
    example: str = ""

    @property
    def input(self) -> str:
        """The type of the field that takes a value of it."""
        return _INPUTS.get(self.type, "text")

    @property
    def hint(self) -> str:
        """What a value of it looks like."""
        return {
            "boolean": "true or false",
            "timestamp": "such as 2026-01-31T18:00:00Z",
            "string[]": 'such as ["a", "b"]',
            "integer[]": "such as [1, 2]",
            "decimal": "such as 12.50",
        }.get(self.type, "")

    def entry(self) -> Mapping[str, Any]:
        """Return it as the API takes it."""
        given = {"name": self.name, "type": self.type, "required": self.required}
        said: dict[str, Any] = {"description": self.description} if self.description else {}
        for name, text in (("default", self.default), ("example", self.example)):
            if text:
                said[name] = value_of(text, self.type)
        return given | said


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryForm:
    """A query, as a form shows it.

    Attributes:
        tags: With commas between.
        columns: A line for each column of the result that is explained: `name: what it means`.
    """

    name: str = ""
    description: str = ""
    sql: str = ""
    constraints: str = ""
    tags: str = ""
    columns: str = ""
    parameters: Sequence[ParameterRow] = ()

    @classmethod
    def of(cls, query: Query) -> "QueryForm":
        """Return the form of a query that is there."""
        explained = (each for each in query.output_columns if each.description)
        return cls(
            name=query.name,
            description=query.description,
            sql=query.sql,
            constraints=query.constraints,
            tags=", ".join(query.tags),
            columns="\n".join(f"{each.name}: {each.description}" for each in explained),
            parameters=rows_of(query.parameters),
        )

    @classmethod
    def sent(cls, visitor: Visitor) -> "QueryForm":
        """Return what was entered, with a row for each placeholder of the statement."""
        sql = visitor.sent("sql")
        form = cls(
            name=visitor.sent("name"),
            description=visitor.sent("description"),
            sql=sql,
            constraints=visitor.sent("constraints"),
            tags=visitor.sent("tags"),
            columns=visitor.sent("columns"),
        )
        return replace(form, parameters=_rows_for(sql, _rows_sent(visitor)))

    def draft(self) -> Draft:
        """Return it as the API takes it; what does not fit the API refuses."""
        lines = (line.partition(":") for line in self.columns.splitlines() if line.strip())
        return Draft(
            name=self.name,
            description=self.description,
            sql=self.sql,
            parameters=[row.entry() for row in self.parameters],
            output_columns={name.strip(): meaning.strip() for name, _, meaning in lines},
            constraints=self.constraints,
            tags=[tag.strip() for tag in self.tags.split(",") if tag.strip()],
        )


def rows_of(parameters: Sequence[Parameter]) -> list[ParameterRow]:
    """Return parameters as a form shows them."""
    return [
        ParameterRow(
            name=each.name,
            type=each.type,
            description=each.description,
            required=each.required,
            default=text_of(each.default),
            example=text_of(each.example),
        )
        for each in parameters
    ]


def text_of(value: object) -> str:
    """Return a value as a field shows it: a text as it is, anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def value_of(text: str, kind: str) -> Any:
    """Return what was entered for a parameter of that type; what is none stays a text.

    The API says what is wrong with a text where a number should be.
    """
    if kind in {"integer", "boolean"} or kind.endswith("[]"):
        try:
            value = json.loads(text)
            json.dumps(value, allow_nan=False)  # 1e999 is no number that can be sent
        except (ValueError, RecursionError):
            return text
        return value
    return text


def _rows_sent(visitor: Visitor) -> list[ParameterRow]:
    return [
        ParameterRow(
            name=visitor.sent(f"p{i}_name"),
            type=visitor.sent(f"p{i}_type", "string"),
            description=visitor.sent(f"p{i}_description"),
            required=visitor.is_sent(f"p{i}_required"),
            default=visitor.sent(f"p{i}_default"),
            example=visitor.sent(f"p{i}_example"),
        )
        for i in range(_MOST)
        if visitor.is_sent(f"p{i}_name")
    ]


def _rows_for(sql: str, rows: Sequence[ParameterRow]) -> list[ParameterRow]:
    """Return a row for each placeholder of *sql*, in its order: with what was entered for it."""
    entered = {row.name: row for row in rows}
    names = dict.fromkeys(_PLACEHOLDER.findall(sql))
    return [entered.get(name, ParameterRow(name=name)) for name in list(names)[:_MOST]]
