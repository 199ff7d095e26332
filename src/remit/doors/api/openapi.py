"""The OpenAPI document: what the routes declare, and what all of them have in common."""

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any, Final

from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from remit.doors.api import bodies
from remit.doors.api.access import rule_of
from remit.doors.api.envelope import PROJECTS
from remit.doors.api.problems import Complaint, ProblemDocument

PREFIX: Final = "/api/v1"
OPENAPI: Final = "/api/openapi.json"
RULE: Final = "x-remit-rule"

_ALWAYS: Final = {
    400: "The request cannot be read.",
    401: "No credential, or one that does not hold.",
    403: "The rule of this operation is not kept, or the page's origin may not call.",
    404: "What is named does not exist.",
    421: "This gateway is not known by that host name.",
    422: "A parameter or the body does not fit.",
    503: "A store is away; nothing was done.",
}
_CHANGING: Final = {
    408: "The body took too long to arrive.",
    409: "It exists already, or others are changing it.",
    413: "The body is too large.",
    415: "The body is not JSON.",
}
_GUARDED: Final = {
    412: "Somebody changed it meanwhile.",
    428: "Send `If-Match`.",
}
_MEANINGS: Final = _ALWAYS | _CHANGING | _GUARDED

_SCHEMAS: Final = "#/components/schemas/"
_SCHEMES: Final = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A key, or a token."},
    "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}


def document_of(routes: Iterable[APIRoute], served: Iterable[BaseRoute]) -> dict[str, Any]:
    """Return the whole document.

    Args:
        routes: As they are declared.
        served: What the application has made of them.

    Raises:
        TypeError: A route has no rule.
    """
    document = get_openapi(
        title="remit",
        version=version("remit"),
        description="Everything about remit that administrators manage.",
        routes=list(served),
    )
    for route in routes:
        for method in route.methods or ():
            operation = document["paths"][path_of(route.path_format)][method.lower()]
            _complete(operation, rule_of(route), is_reading=method == "GET")
    components = document.setdefault("components", {})
    components["securitySchemes"] = _SCHEMES
    components["responses"] = {_name(status): _problem(text) for status, text in _MEANINGS.items()}
    schemas = components.setdefault("schemas", {})
    for shape in (ProblemDocument, Complaint):
        schema = shape.model_json_schema(ref_template=_SCHEMAS + "{model}")
        schema.pop("$defs", None)
        schemas[shape.__name__] = schema
    schemas |= bodies.schemas()
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    return document


def path_of(declared: str) -> str:
    """Return the whole path of a route or router: below `PREFIX`, but for those of projects."""
    return declared if declared.startswith(f"{PROJECTS}/") else PREFIX + declared


def _complete(operation: dict[str, Any], rule: str, *, is_reading: bool) -> None:
    """Add an operation's rule, its credentials, and the problems that it may answer with."""
    guarded = [one for one in operation.get("parameters", ()) if one["name"] == "If-Match"]
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _without_null(parameter["schema"])
    for parameter in guarded:
        parameter["required"] = True
    statuses = dict(_ALWAYS)
    if not is_reading:
        statuses |= _CHANGING
    if guarded:
        statuses |= _GUARDED
    body = operation.pop(bodies.BODY, "")
    if body:
        schema = {"$ref": _SCHEMAS + body}
        operation["requestBody"]["content"]["application/json"]["schema"] = schema
    operation[RULE] = rule
    operation["security"] = [{"bearer": []}, {"key": []}]
    operation["responses"] |= {
        str(status): {"$ref": f"#/components/responses/{_name(status)}"} for status in statuses
    }


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter, which can be left out and is never null."""
    kinds = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    if len(kinds) != 1:
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    return {**rest, **kinds[0]}


def _name(status: int) -> str:
    return f"Problem{status}"


def _problem(meaning: str) -> Mapping[str, Any]:
    schema = {"$ref": _SCHEMAS + ProblemDocument.__name__}
    return {"description": meaning, "content": {"application/problem+json": {"schema": schema}}}
