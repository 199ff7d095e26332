"""Builders of the JSON schemas in which bundled tools describe what they take and give."""

from collections.abc import Sequence
from typing import Final

Schema = dict[str, object]

LONGEST_NAME: Final = 4096
LONGEST_TEXT: Final = 65536

# A list as `type` is lawful too, and lost on clients whose schemas know one type only.
_NULL: Final[Schema] = {"type": "null"}
TEXT: Final[Schema] = {"type": "string"}
TEXT_OR_NULL: Final[Schema] = {"anyOf": [TEXT, _NULL]}
COUNT: Final[Schema] = {"type": "integer"}
COUNT_OR_NULL: Final[Schema] = {"anyOf": [COUNT, _NULL]}
FLAG: Final[Schema] = {"type": "boolean"}
NUMBER: Final[Schema] = {"type": "number"}
ANY: Final[Schema] = {}
"""Whatever JSON has."""


def text(description: str, longest: int = LONGEST_NAME, **more: object) -> Schema:
    """Return a text to be given, not empty, of at most *longest* characters."""
    limits = {"minLength": 1, "maxLength": longest}
    return {"type": "string", "description": description, **limits, **more}


def choice(description: str, *values: str) -> Schema:
    """Return a choice to be given; the first value is the default."""
    return {
        "type": "string",
        "enum": list(values),
        "default": values[0],
        "description": description,
    }


def flag(description: str, *, default: bool = False) -> Schema:
    """Return a boolean to be given."""
    return {"type": "boolean", "default": default, "description": description}


def count(description: str, default: int | None, least: int, most: int) -> Schema:
    """Return a whole number to be given, from *least* to *most*; None is for no default."""
    limits: Schema = {"minimum": least, "maximum": most}
    if default is not None:
        limits["default"] = default
    return {"type": "integer", "description": description, **limits}


def texts(description: str, longest: int = LONGEST_NAME, most: int = 1000) -> Schema:
    """Return a list of at most *most* texts to be given."""
    return {
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": longest},
        "maxItems": most,
        "description": description,
    }


def given(properties: dict[str, Schema], required: Sequence[str] = ()) -> Schema:
    """Return the input schema of a tool: these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def record(optional: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    """Return an object of exactly these properties, of which *optional* ones may be absent."""
    return given(properties, [name for name in properties if name not in optional])


def list_of(items: Schema) -> Schema:
    """Return a list."""
    return {"type": "array", "items": items}


def one_of(*values: str) -> Schema:
    """Return one of these texts."""
    return {"type": "string", "enum": list(values)}


def or_null(schema: Schema) -> Schema:
    """Return what is described, or null."""
    return {"anyOf": [schema, _NULL]}
