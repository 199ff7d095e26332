"""What the tools on queries take, and how it is read: a draft of a query, or an edit of one."""

from collections.abc import Mapping
from typing import Final

from remit.data.queries.drafts import (
    LONGEST_NAME,
    LONGEST_TAG,
    MOST_PARAMETERS,
    MOST_TAGS,
    Draft,
    Edit,
    parameters_of,
)
from remit.model.data import ParameterType
from remit.servers.arguments import Arguments
from remit.servers.shapes import LONGEST_TEXT, Schema, flag, text, texts

SQL: Final = text("One SQL statement.", LONGEST_TEXT)
DATASOURCE: Final = text("Name or id of the datasource; left out, the default one.", LONGEST_NAME)
DATASOURCE_ID: Final = text("Name or id of the datasource; left out, every one.", LONGEST_NAME)
QUERY_ID: Final = text("Id of the approved query.", LONGEST_NAME)
SUGGESTION_ID: Final = text("Id of the suggestion.", LONGEST_NAME)
TAGS: Final = texts("Words to find it by.", LONGEST_TAG, MOST_TAGS)

_PARAMETERS: Final[Schema] = {
    "type": "array",
    "description": "The placeholders of the SQL, each of them.",
    "maxItems": MOST_PARAMETERS,
    "items": {
        "type": "object",
        "properties": {
            "name": text("As in {{name}}.", LONGEST_NAME),
            "type": {
                "type": "string",
                "enum": [each.value for each in ParameterType],
                "description": "What its values are.",
            },
            "description": {"type": "string", "maxLength": LONGEST_TEXT},
            "required": flag("Whether every call has to give it.", default=True),
            "default": {"description": "Its value where a call gives none."},
            "example": {"description": "Its value in the dry run, and in that alone."},
        },
        "required": ["name", "type"],
        "additionalProperties": False,
    },
}

FIELDS: Final[dict[str, Schema]] = {
    "name": text("What it answers, in a few words.", LONGEST_NAME),
    "description": text("What it answers, and when it is to be used.", LONGEST_TEXT),
    "sql": text(
        "One SQL statement with {{name}} where a value goes: values alone, never names or keywords,"
        " and not within quotes.",
        LONGEST_TEXT,
    ),
    "parameters": _PARAMETERS,
    "output_column_descriptions": {
        "type": "object",
        "description": "What the columns of its result mean, by their names.",
        "additionalProperties": {"type": "string", "maxLength": LONGEST_TEXT},
    },
    "constraints": {
        "type": "string",
        "maxLength": LONGEST_TEXT,
        "description": "What whoever runs it has to know, such as since when there is data.",
    },
    "tags": TAGS,
}
"""The fields of a query that callers give."""


def draft_of(arguments: Arguments, *, datasource: str | None) -> Draft:
    """Return the query that *arguments* describe.

    Raises:
        DataFailure: `parameter_validation`.
    """
    return Draft(
        name=arguments.text("name"),
        description=arguments.text("description"),
        sql=arguments.text("sql"),
        datasource=datasource,
        parameters=parameters_of(arguments.items("parameters")),
        output_columns=_descriptions(arguments),
        constraints=arguments.text("constraints"),
        tags=arguments.texts("tags"),
    )


def edit_of(arguments: Arguments) -> Edit:
    """Return the change that *arguments* describe; what they leave out stays as it is.

    Raises:
        DataFailure: `parameter_validation`.
    """
    has = arguments.has
    return Edit(
        name=arguments.find_text("name"),
        description=arguments.find_text("description"),
        sql=arguments.find_text("sql"),
        parameters=parameters_of(arguments.items("parameters")) if has("parameters") else None,
        output_columns=_descriptions(arguments) if has("output_column_descriptions") else None,
        constraints=arguments.find_text("constraints"),
        tags=arguments.texts("tags") if has("tags") else None,
        is_enabled=arguments.flag("is_enabled") if has("is_enabled") else None,
    )


def _descriptions(arguments: Arguments) -> Mapping[str, str]:
    given = arguments.mapping("output_column_descriptions")
    return {name: str(description) for name, description in given.items()}
