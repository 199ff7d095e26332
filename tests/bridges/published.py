"""Every published tool there is at hand, for every bridge alike (issue 7, must show 4).

    tools = published_tools(shared, tmp_path)      # entries for `mcp_servers`, and what to expect
    told = ...                                     # what a framework's program says of them
    tools.assert_usable(told, tmp_path)

A program is given `tools.arguments` (by published name) and tells, as JSON,
`{"offered": {name: the schema that the model is shown}, "left_out": {name: reason},
"answers": {name: the text that the model reads of the call with these arguments}}`.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import jsonschema_rs

from remit.testing.gateway import fixture_entry
from remit.testing.upstream import executed

Schema = Mapping[str, Any]

TEXTS: Final = (
    "text",
    "PROJ-1",
    "PROJ",
    "2026-11-28",
    "2026-11-01to2026-11-28",
    "https://example.test/",
    "a" * 40,
)
"""Tried where a text must have a form."""

_TREE: Final = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "branches": {"type": "array", "items": {"$ref": "#/$defs/Tree"}, "maxItems": 2},
    },
    "required": ["name"],
}
_SHAPE: Final = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}},
            "required": ["kind", "radius"],
        },
        {
            "type": "object",
            "properties": {"kind": {"const": "line"}, "to": {"$ref": "#/$defs/Point"}},
            "required": ["kind", "to"],
        },
    ]
}
_POINT: Final = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}

AWKWARD: Final[Mapping[str, Schema]] = {
    "references": {
        "properties": {"shape": {"$ref": "#/$defs/Shape"}, "tree": {"$ref": "#/$defs/Tree"}},
        "required": ["shape", "tree"],
        "$defs": {"Shape": _SHAPE, "Point": _POINT, "Tree": _TREE},
    },
    "unions": {
        "properties": {
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            "listed": {"type": ["integer", "null"]},
            "level": {"enum": [1, 2.5, "three", None, True]},
        },
        "required": ["either", "level"],
    },
    "maps": {
        "properties": {
            "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
            "anything": {},
            "pairs": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
        },
        "required": ["counts"],
        "additionalProperties": False,
    },
    "open": {"properties": {"name": {"type": "string"}}, "additionalProperties": True},
    "nothing": {},
    "taken_names": {
        "properties": {
            name: {"type": "string"}
            for name in (
                "schema",
                "copy",
                "json",
                "dict",
                "model_config",
                "model_fields",
                "class",
                "from",
                "_private",
                "__dunder",
                "name",
                "description",
                "kwargs",
                "args",
                "tool_context",
                "x-loc-lat",
                "näme",
            )
        },
        "required": ["schema", "from", "_private", "x-loc-lat"],
    },
    "kept_by_frameworks": {
        "properties": {
            name: {"type": "string"} for name in ("self", "cls", "config", "run_manager", "ctx")
        },
        "required": ["self", "config"],
    },
}
"""Input schemas of our own, since no published list has `$defs`: what a bridge may lose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTools:
    """What is offered, and what to expect of a bridge.

    Attributes:
        servers: Entries for `mcp_servers`; each counts what ran in `{name}.jsonl`.
        schemas: Input schema of each tool, by published name.
        arguments: Arguments of each that fit it: all that it takes, where that can be.
    """

    servers: Mapping[str, Any]
    schemas: Mapping[str, Schema]
    arguments: Mapping[str, Mapping[str, Any]]

    def assert_usable(
        self,
        told: Mapping[str, Mapping[str, Any]],
        folder: Path,
        *,
        as_shown: Callable[[Schema], object] = lambda schema: {"properties": {}, **schema},
        may_leave_out: Sequence[str] = (),
    ) -> None:
        """Fail unless each tool is offered whole and did as it was told, or is named with a reason.

        Args:
            told: What the program told.
            folder: Where the servers count.
            as_shown: What the framework makes of a schema before a model sees it, on purpose.
            may_leave_out: Names that this framework cannot take; anything else must be offered.
        """
        offered, left_out = told["offered"], told["left_out"]
        assert offered.keys() | left_out.keys() == self.schemas.keys()
        assert not offered.keys() & left_out.keys()
        assert left_out.keys() == set(may_leave_out)
        assert all(str(reason).strip() for reason in left_out.values())
        lost = {
            name: (schema, as_shown(self.schemas[name]))
            for name, schema in offered.items()
            if schema != as_shown(self.schemas[name])
        }
        assert lost == {}
        ran = {
            f"{server}__{one.name}": one.arguments
            for server in self.servers
            for one in executed(folder / f"{server}.jsonl")
        }
        differing = {
            name: (ran.get(name), self.arguments[name], told["answers"].get(name))
            for name in offered
            if ran.get(name) != self.arguments[name]
        }
        assert differing == {}
        assert all(name.partition("__")[2] in str(told["answers"][name]) for name in offered)


def published_tools(shared: Path, folder: Path) -> PublishedTools:
    """Return the tools of every file of handed lists, and the awkward ones, as servers of ours.

    Args:
        shared: The folder of handed cases.
        folder: Where the servers have their files.
    """
    lists: dict[str, list[dict[str, Any]]] = {
        f"list{number}": [
            {key: tool[key] for key in ("name", "description", "inputSchema") if key in tool}
            for tool in json.loads(path.read_bytes())["tools"]
        ]
        for number, path in enumerate(sorted((shared / "tools").glob("*.json")))
    }
    assert sum(map(len, lists.values())) > 400
    lists["awkward"] = [
        {"name": name, "description": f"Take {name}", "inputSchema": {"type": "object", **schema}}
        for name, schema in AWKWARD.items()
    ]
    servers = {
        name: fixture_entry(tools, folder / f"{name}.jsonl", session="shared")
        for name, tools in lists.items()
    }
    schemas = {
        f"{server}__{tool['name']}": cast("Schema", tool["inputSchema"])
        for server, tools in lists.items()
        for tool in tools
    }
    return PublishedTools(
        servers=servers,
        schemas=schemas,
        arguments={name: fitting_arguments(schema) for name, schema in schemas.items()},
    )


def fitting_arguments(schema: Schema) -> dict[str, Any]:
    """Return arguments that fit: all that can be given, or only what must be.

    Raises:
        AssertionError: None were found; teach `TEXTS` the form.
    """
    is_valid = jsonschema_rs.validator_for(dict(schema)).is_valid
    for value in _values(schema, schema, depth=0):
        if isinstance(value, dict) and is_valid(value):
            return cast("dict[str, Any]", value)
    raise AssertionError(f"no arguments were found for {schema}")


def _values(schema: Any, root: Schema, *, depth: int) -> Iterator[Any]:
    """Give values that may fit *schema*, the fullest first."""
    if schema is True or schema == {}:
        yield "anything"
    elif "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        yield from _values(root["$defs"][name], root, depth=depth + 1)
    elif "const" in schema or "enum" in schema:
        yield from (schema["enum"] if "enum" in schema else [schema["const"]])
    elif "properties" not in schema and ("anyOf" in schema or "oneOf" in schema):
        for choice in cast("list[Any]", schema.get("anyOf", schema.get("oneOf"))):
            yield from _values(choice, root, depth=depth)
    elif "properties" in schema or schema.get("type") == "object":
        yield from _objects(schema, root, depth=depth)
    elif isinstance(kinds := schema.get("type"), list):
        for kind in cast("list[str]", kinds):
            yield from _values({**schema, "type": kind}, root, depth=depth)
    else:
        yield from _plain(schema, root, depth=depth)


def _plain(schema: Any, root: Schema, *, depth: int) -> Iterator[Any]:
    match schema.get("type"):
        case "string":
            yield from TEXTS
        case "integer" | "number":
            yield from (schema.get("minimum", 1), schema.get("maximum", 1))
        case "boolean":
            yield True
        case "array":
            item = _fitting(schema.get("items", {}), root, depth=depth + 1)
            yield [] if item is _NONE or depth > 3 else [item] * max(1, schema.get("minItems", 1))
        case "null":
            yield None
        case _:
            yield "anything"


def _objects(schema: Any, root: Schema, *, depth: int) -> Iterator[dict[str, Any]]:
    required = cast("list[str]", schema.get("required", []))
    properties = cast("dict[str, Any]", schema.get("properties", {}))
    filled = {
        name: value
        for name, inner in properties.items()
        if (depth <= 3 or name in required)
        and (value := _fitting(inner, root, depth=depth + 1)) is not _NONE
    }
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        filled["more"] = _fitting(cast("dict[str, Any]", more), root, depth=depth + 1)
    yield filled
    for choice in cast("list[Any]", schema.get("oneOf", schema.get("anyOf", []))):
        named = {*required, *choice.get("required", [])}
        yield {name: value for name, value in filled.items() if name in named}
    yield {name: value for name, value in filled.items() if name in required}


_NONE: Final = object()


def _fitting(schema: dict[str, Any], root: Schema, *, depth: int) -> Any:
    """Return a value that fits, or `_NONE`."""
    context = {key: root[key] for key in ("$schema", "$defs") if key in root}
    is_valid = jsonschema_rs.validator_for(context | schema).is_valid
    return next((v for v in _values(schema, root, depth=depth) if is_valid(v)), _NONE)
