"""GitHub's published description of its API, as a judge of requests and answers."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import parse_qsl, urlsplit

import jsonschema_rs

from remit.testing.faulty_web import Fault, Seen

DESCRIPTION: Final = Path(__file__).parents[2] / ".tools" / "openapi" / "23.0.2.json"
"""Where `scripts/node-tools all` puts it."""

_REFERENCE: Final = "#/components/schemas/"
_QUERY_TYPES: Final[Mapping[str, type]] = {"integer": int, "number": float}


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What does not fit the description.

    Attributes:
        where: Method, template and, for an answer, the status.
    """

    where: str
    what: str


class OpenApi:
    """The description, with the schemas of what is asked compiled once."""

    def __init__(self, path: Path = DESCRIPTION) -> None:
        self._document: dict[str, Any] = json.loads(path.read_text())
        self._templates = [
            (re.compile(re.sub(r"\{[^}]+\}", "[^/]+", template)), template)
            for template in self._document["paths"]
        ]
        self._compiled: dict[str, jsonschema_rs.Validator] = {}

    def problems(self, seen: Seen, answer: Fault) -> Iterator[Problem]:
        """Give what does not fit in one exchange."""
        target = urlsplit(seen.target)
        template = self._template(target.path, seen.method)
        where = f"{seen.method} {template}"
        operation = self._document["paths"][template][seen.method.lower()]
        yield from self._query_problems(where, operation, target.query)
        body = operation.get("requestBody")
        if body is not None and seen.body:
            schema = body["content"]["application/json"]["schema"]
            yield from self._body_problems(where, schema, json.loads(seen.body))
        where = f"{where} {answer.status}"
        answers = operation["responses"]
        if str(answer.status) not in answers:
            yield Problem(where=where, what="an answer of that status is not described")
        good = next(told for status, told in answers.items() if status.startswith("2"))
        told = self._resolved(answers.get(str(answer.status), good))
        if "application/json" in told.get("content", {}):
            schema = told["content"]["application/json"]["schema"]
            yield from self._body_problems(where, schema, json.loads(answer.body))

    def _template(self, path: str, method: str) -> str:
        # Of several that fit the one with the fewest names left open.
        fitting = [
            template
            for pattern, template in self._templates
            if pattern.fullmatch(path) and method.lower() in self._document["paths"][template]
        ]
        assert fitting, f"GitHub has no {method} {path}"
        return min(fitting, key=lambda template: template.count("{"))

    def _query_problems(
        self, where: str, operation: Mapping[str, Any], query: str
    ) -> Iterator[Problem]:
        described = {
            one["name"]: one["schema"]
            for one in map(self._resolved, operation.get("parameters", ()))
            if one["in"] == "query"
        }
        for name, value in parse_qsl(query):
            if name not in described:
                yield Problem(where=where, what=f"the query has {name!r}, which is not described")
                continue
            read = _QUERY_TYPES.get(described[name].get("type"), str)
            yield from self._body_problems(where, described[name], read(value))

    def _body_problems(
        self, where: str, schema: Mapping[str, Any], body: object
    ) -> Iterator[Problem]:
        key = json.dumps(schema, sort_keys=True)
        if key not in self._compiled:
            self._compiled[key] = jsonschema_rs.validator_for(self._standalone(schema))
        for error in self._compiled[key].iter_errors(body):
            at = "/".join("*" if isinstance(part, int) else part for part in error.instance_path)
            yield Problem(where=where, what=f"{at or 'body'}: {error.message[:200]}")

    def _resolved(self, thing: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in thing:
            found: Any = self._document
            for part in thing["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            thing = found
        return thing

    def _standalone(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return a schema with all that it refers to, in JSON Schema's words."""
        schemas = self._document["components"]["schemas"]
        wanted, found = list(_references(schema)), dict[str, Any]()
        while wanted:
            name = wanted.pop()
            if name not in found:
                found[name] = _translated(schemas[name])
                wanted += _references(schemas[name])
        return {**cast("dict[str, Any]", _translated(schema)), "components": {"schemas": found}}


def _references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        fields = cast("dict[str, object]", node)
        reference = fields.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix(_REFERENCE)
        for value in fields.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in cast("list[object]", node):
            yield from _references(value)


def _translated(node: object) -> object:
    """Return a schema of OpenAPI 3.0 in JSON Schema's words: it has `nullable` for null."""
    if isinstance(node, list):
        return [_translated(value) for value in cast("list[object]", node)]
    if isinstance(node, dict):
        return _translated_fields(cast("dict[str, object]", node))
    return node


def _translated_fields(node: dict[str, object]) -> dict[str, object]:
    fields = {
        name: _translated(value) for name, value in node.items() if not _is_remark(name, value)
    }
    if node.get("nullable") is True:
        return {"anyOf": [fields, {"type": "null"}]}
    return fields


def _is_remark(name: str, value: object) -> bool:
    """Whether a member is no part of a schema, nor a property that is called so."""
    return name in {"nullable", "example", "examples"} and not isinstance(value, dict)
