"""Bodies that are parts of a declaration: any JSON object here, judged as a file is judged.

The OpenAPI document shows their shape; what is wrong is told as `remit check` tells it. A file may
spell some things in more ways than the shape shows, and so may a body.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeVar, cast

from fastapi import Body
from pydantic import AfterValidator, BaseModel

from remit.admin.names import told
from remit.admin.schema import AlertsShape, DocumentShape, GrantShape, RoleShape, ServerShape
from remit.errors import BadCall, NotFound

T = TypeVar("T")

BODY: Final = "x-remit-body"
"""Names, in a route's `openapi_extra`, the shape of its body."""

SHAPES: Final[Mapping[str, type[BaseModel]]] = {
    "Server": ServerShape,
    "Role": RoleShape,
    "Grant": GrantShape,
    "Declaration": DocumentShape,
    "Alerts": AlertsShape,
}
NAMED: Final = ("Server", "Role")
"""Shapes that are made under a name: `NewServer` is a `Server` and its `name`."""

Schema = dict[str, Any]


def storable(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object that can be kept and sent on as JSON.

    Raises:
        ValueError: It cannot.
    """
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise ValueError(
            "holds what is no JSON: NaN, half a character, or too many levels"
        ) from None
    return value


JsonObject = Annotated[dict[str, Any], Body(), AfterValidator(storable)]


def named(body: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name in a body, and the rest.

    Raises:
        BadCall: It has none.
    """
    name = body.get("name")
    if not isinstance(name, str) or not name:
        raise BadCall("body.name: say under which name, as a text")
    return name, {key: value for key, value in body.items() if key != "name"}


def declared_one(declared: Mapping[str, T], name: str, noun: str) -> T:
    """Return what is declared under that name.

    Raises:
        NotFound: Nothing is; the text names what is.
    """
    if name not in declared:
        raise NotFound(f"no {noun} {name[:80]!r} is declared; declared {noun}s: {told(declared)}")
    return declared[name]


def schemas() -> dict[str, Schema]:
    """Return every shape, and the shapes in them, for the components of the OpenAPI document."""
    found: dict[str, Schema] = {}
    for name, shape in SHAPES.items():
        schema = shape.model_json_schema(ref_template="#/components/schemas/{model}")
        found |= {inner: _plain(one) for inner, one in schema.pop("$defs", {}).items()}
        found[name] = _plain(schema)
    for name in NAMED:
        properties = {"name": {"type": "string", "minLength": 1}, **found[name]["properties"]}
        found[f"New{name}"] = {**found[name], "properties": properties, "required": ["name"]}
    return found


def _plain(schema: Schema) -> Schema:
    """Leave out defaults, which are the model's and not the shape's, and our own words."""
    return {
        key: cast("Schema", _inside(value))
        for key, value in schema.items()
        if key not in ("description", "title")
    }


def _inside(value: object) -> object:
    if isinstance(value, dict):
        members = cast("Schema", value)
        is_property = "type" in members or "anyOf" in members or "$ref" in members
        left_out = ("default", "title", "ge") if is_property else ()
        return {key: _inside(one) for key, one in members.items() if key not in left_out}
    if isinstance(value, list):
        return [_inside(one) for one in cast("list[object]", value)]
    return value
