"""Arguments that a client mirrors in `Mcp-Param-*` headers, as a tool's input schema says.

MCP 2026-07-28, basic/transports, "Custom Headers from Tool Parameters".
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from remit.model.header_values import decode_header_value, encode_header_value
from remit.model.protocol import MCP_PARAM_HEADER_PREFIX, X_MCP_HEADER_KEY
from remit.model.subschemas import Path, schemas_in

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110 5.6.2
_DECIMAL: Final = re.compile(r"(-?[0-9]+)(?:\.([0-9]+))?", re.ASCII)
_TYPES: Final = ("string", "integer", "boolean")


def find_invalid_x_mcp_header(schema: object) -> str | None:
    """Return what is wrong with the annotations of an input schema, or None."""
    seen: dict[str, str] = {}
    for path, node in schemas_in(schema):
        if X_MCP_HEADER_KEY not in node:
            continue
        if not path:
            return f"{X_MCP_HEADER_KEY} stands where no chain of `properties` leads"
        where, header = ".".join(path), node[X_MCP_HEADER_KEY]
        problem = _problem(header, node.get("type"))
        if problem:
            return f"property {where!r}: {problem}"
        other = seen.setdefault(header.lower(), where)
        if other is not where:
            return f"{X_MCP_HEADER_KEY} {header!r} on property {where!r} is that of {other!r}, too"
    return None


def _problem(header: object, kind: object) -> str:
    if not isinstance(header, str):
        return f"{X_MCP_HEADER_KEY} must be a string, not {type(header).__name__}"
    if not _TOKEN.fullmatch(header):
        return f"{X_MCP_HEADER_KEY} {header!r} is no RFC 9110 token"
    if kind not in _TYPES:
        return f"{X_MCP_HEADER_KEY} is for the types {', '.join(_TYPES)} only"
    return ""


def x_mcp_header_map(schema: object) -> dict[Path, str]:
    """Return what follows `Mcp-Param-`, by the path of the argument; of a valid schema only."""
    return {path: header for path, header, _ in _annotated(schema)}


def mcp_param_headers(
    headers: Mapping[Path, str], arguments: Mapping[str, object]
) -> dict[str, str]:
    """Return the headers that mirror *arguments*; what is absent or null has none."""
    found: dict[str, str] = {}
    for path, header in headers.items():
        text = _text_of(_value_at(arguments, path))
        if text is not None:
            found[MCP_PARAM_HEADER_PREFIX + header] = encode_header_value(text)
    return found


def find_disagreement(
    schema: object, arguments: Mapping[str, object], headers: Mapping[str, str]
) -> str | None:
    """Return how the headers of a call disagree with its arguments, or None.

    They agree where both are there and equal, or both absent; null is absent. A schema that is
    not valid asks for nothing, for no client mirrors by it.

    Args:
        schema: The tool's input schema.
        arguments: Of the call.
        headers: Of the request, under their names in lower case.
    """
    if find_invalid_x_mcp_header(schema) is not None:
        return None
    for path, header, node in _annotated(schema):
        name = MCP_PARAM_HEADER_PREFIX + header
        value = _value_at(arguments, path)
        how = _disagreement(value, headers.get(name.lower()), is_integer=node["type"] == "integer")
        if how:
            return f"{name} header {how.format(argument=repr('.'.join(path)))}"
    return None


def _disagreement(value: object, raw: str | None, *, is_integer: bool) -> str:
    text = _text_of(value)
    if raw is None:
        missing = "is missing but the request body's {argument} argument is present"
        return "" if text is None else missing
    if value is None:
        return "is present but the request body's {argument} argument is absent"
    said = decode_header_value(raw)
    if said is None:
        return "carries a malformed base64 sentinel value"
    if text is None or not (said == text if not is_integer else _is_same_number(said, value, text)):
        return "does not match the request body's {argument} argument"
    return ""


def _is_same_number(said: str, value: object, text: str) -> bool:
    """Whether a header means an integer: `42` and `42.0` are the same, and no digit is rounded."""
    decimal = _DECIMAL.fullmatch(said)
    is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if decimal is None or isinstance(value, bool) or not is_whole:
        return said == text
    try:
        return not (decimal[2] or "").strip("0") and int(decimal[1]) == int(cast("float", value))
    except ValueError:  # more digits than Python reads
        return False


def _text_of(value: object) -> str | None:
    """Return a scalar as it is mirrored, or None for what is not."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        return None
    try:
        return str(value)
    except ValueError:  # more digits than Python writes
        return None


def _value_at(arguments: object, path: Path) -> object:
    node = arguments
    for name in path:
        if not isinstance(node, Mapping):
            return None
        node = cast("Mapping[str, object]", node).get(name)
    return node


def _annotated(schema: object) -> Iterator[tuple[Path, str, Mapping[str, Any]]]:
    for path, node in schemas_in(schema):
        header = node.get(X_MCP_HEADER_KEY)
        if path and isinstance(header, str):
            yield path, header, node
