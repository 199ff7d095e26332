"""What we say of the protocol ourselves is what the protocol library says of it."""

import json
from typing import Any

import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared import inbound as library
from mcp_types import jsonrpc, methods
from mcp_types import version as versions

from remit.doors.mcp.envelope import Fault
from remit.doors.mcp.inbound import judge_envelope
from remit.model import param_headers, protocol
from remit.model.header_values import decode_header_value, encode_header_value
from remit.model.protocol import (
    CLIENT_CAPABILITIES_META_KEY,
    NAME_BEARING_METHODS,
    PROTOCOL_VERSION_META_KEY,
    X_MCP_HEADER_KEY,
)

CONSTANTS = [name for name in vars(protocol) if name.isupper()]
TEXTS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(
        ["=?base64?", "?=", "=?base64?YQ==?=", "=?base64?YR==?=", "=?base64?*?=", " a"]
    ),
)
VERSIONS = st.sampled_from([*versions.KNOWN_PROTOCOL_VERSIONS, "2099-01-01", "", None, 7])
NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(-2, 2),
    TEXTS,
    st.builds(pow, st.just(10), st.just(5000)),  # a number that Python does not write out
)


@pytest.mark.parametrize("name", CONSTANTS)
def test_each_constant_is_the_librarys(name: str) -> None:
    places = (mcp_types, jsonrpc, versions, methods, library)

    theirs = next(getattr(place, name) for place in places if hasattr(place, name))

    assert getattr(protocol, name) == theirs


@given(TEXTS)
def test_header_values_are_written_and_read_alike(text: str) -> None:
    assert encode_header_value(text) == library.encode_header_value(text)
    assert decode_header_value(text) == library.decode_header_value(text)
    assert decode_header_value(encode_header_value(text)) == text


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, dict[str, object], dict[str, str] | None]:
    method = draw(st.sampled_from(["tools/list", *NAME_BEARING_METHODS]))
    version, name = draw(VERSIONS), draw(st.one_of(st.none(), TEXTS))
    envelope: dict[str, object] = {
        PROTOCOL_VERSION_META_KEY: version,
        CLIENT_CAPABILITIES_META_KEY: {},
    }
    meta = draw(st.sampled_from([envelope, envelope, envelope, None, [], {}]))
    if meta is envelope and draw(st.booleans()):
        envelope.pop(draw(st.sampled_from(list(envelope))))
    params: dict[str, object] = {"_meta": meta}
    if name is not None:
        params[NAME_BEARING_METHODS.get(method, "other")] = name
    said = {
        protocol.MCP_PROTOCOL_VERSION_HEADER: str(draw(st.sampled_from([version, "2025-06-18"]))),
        protocol.MCP_METHOD_HEADER: draw(st.sampled_from([method, method, "tools/call"])),
        protocol.MCP_NAME_HEADER: draw(
            st.sampled_from([name or "", encode_header_value(name or "")])
        ),
    }
    left_out = draw(st.sets(st.sampled_from(list(said)), max_size=1))
    headers = {key: value for key, value in said.items() if key not in left_out}
    return method, params, draw(st.sampled_from([headers, headers, headers, None]))


@given(requests())
def test_envelopes_are_judged_alike(
    request: tuple[str, dict[str, object], dict[str, str] | None],
) -> None:
    method, params, headers = request
    theirs = library.classify_inbound_request({"method": method, "params": params}, headers=headers)

    ours = judge_envelope(method, params, headers)

    if isinstance(theirs, library.InboundModernRoute):
        assert ours == theirs.protocol_version
    else:
        assert isinstance(ours, Fault)
        assert (ours.code, ours.message) == (theirs.code, theirs.message)
        assert (json.loads(ours.data) if ours.data else None) == theirs.data


def annotated(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    maps = st.dictionaries(NAMES, schemas, max_size=2)
    return st.one_of(
        st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(["string", "integer", "boolean", "number", ["string"]]),
                X_MCP_HEADER_KEY: st.sampled_from(["One", "one", "Two", "no token", "", 3]),
                "properties": st.one_of(maps, st.just([])),
                "items": schemas,
                "anyOf": st.lists(schemas, max_size=1),
                "$defs": maps,
                "default": schemas,
            },
        ),
        st.booleans(),
    )


SCHEMAS = annotated(annotated(annotated(st.builds(dict[str, object]))))
MIRRORED = st.dictionaries(
    NAMES,
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["string", "integer", "boolean"]),
            X_MCP_HEADER_KEY: st.sampled_from(["One", "Two", "Three"]),
        }
    ),
    max_size=3,
).map(lambda properties: {"properties": {**properties, "deep": {"properties": properties}}})
FLAT = MIRRORED.map(lambda schema: {"properties": schema["properties"]["deep"]["properties"]})


@given(SCHEMAS)
def test_schemas_are_read_alike(schema: object) -> None:
    ours = param_headers.find_invalid_x_mcp_header(schema)

    assert (ours is None) == (library.find_invalid_x_mcp_header(schema) is None)
    if ours is None:
        assert param_headers.x_mcp_header_map(schema) == library.x_mcp_header_map(schema)


@given(
    st.one_of(SCHEMAS, FLAT, MIRRORED),
    st.dictionaries(NAMES, st.one_of(SCALARS, st.dictionaries(NAMES, SCALARS, max_size=2))),
    st.dictionaries(
        st.sampled_from(["mcp-param-one", "mcp-param-two"]),
        st.one_of(TEXTS, st.sampled_from(["1", "1.0", "1.5", "-1", "true", "9" * 5000])),
    ),
)
def test_headers_and_arguments_are_compared_alike(
    schema: object, arguments: dict[str, object], headers: dict[str, str]
) -> None:
    theirs = library.validate_mcp_param_headers(schema, arguments, headers)

    ours = param_headers.find_disagreement(schema, arguments, headers)

    assert (ours is None) == (theirs is None)


@given(FLAT, st.dictionaries(NAMES, SCALARS))
def test_arguments_are_mirrored_alike(schema: object, arguments: dict[str, object]) -> None:
    by_path = library.x_mcp_header_map(schema)

    ours = param_headers.mcp_param_headers(by_path, arguments)

    assert ours == library.mcp_param_headers(by_path, arguments)
    if library.find_invalid_x_mcp_header(schema) is None:
        lower = {name.lower(): value for name, value in ours.items()}
        assert param_headers.find_disagreement(schema, arguments, lower) is None


def test_a_schema_may_be_deeper_than_calls_may_nest() -> None:
    schema: dict[str, object] = {"type": "string", X_MCP_HEADER_KEY: "One"}
    for _ in range(100_000):
        schema = {"items": schema}

    assert param_headers.find_invalid_x_mcp_header(schema) is not None
