import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.upstreams.wire import (
    Malformed,
    elements,
    joined,
    json_bytes,
    members,
    parse_envelope,
    reply_frame,
    request_frame,
    salvaged_id,
    value_of,
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)
spaces = st.sampled_from(["", " ", "\n  ", "\t"])

LONE = rb'{"a":"\ud800","n":9007199254740993,"f":1e-7,"z":"\u0000"}'


def test_the_bytes_of_a_result_pass_unaltered() -> None:
    result = b'{ "b":1.0 , "a" :9007199254740993,"e":"\\u00e9\\/" }'
    message = parse_envelope(b'{"jsonrpc":"2.0","id":7,"result": %s }' % result)
    assert message.answers == 7
    assert bytes(message.result) == result


@pytest.mark.parametrize(
    "frame",
    [
        b'{"jsonrpc":"2.0","id":7,"result":%s}',
        b'{"result" : %s ,"id":7,"jsonrpc":"2.0"}',
        b' {"\\ud801":[],"jsonrpc": "2.0", "result":%s, "id": 7} \r',
    ],
)
def test_lone_surrogates_pass_unaltered(frame: bytes) -> None:
    # msgspec refuses them, and they are valid JSON text.
    message = parse_envelope(frame % LONE)
    assert message.answers == 7
    assert bytes(message.result) == LONE


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"42",
        b"null",
        b"[]",
        b"banner",
        b'{"hello":"world"}',
        b'{"jsonrpc":"1.0","id":1,"result":{}}',
        b'{"jsonrpc":2.0,"id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":{}} x',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xff"}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":01}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":"\\ud800","b":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":"\\ud800"}} x',
        b'{"jsonrpc":"2.0","id":1,"method":5,"params":"\\ud800"}',
        b'{"jsonrpc":"2.0","id":1 "result":"\\ud800"}',
        b'{"jsonrpc":"2.0","id":1,"result":"\\ud800"',
        b'{"jsonrpc":"2.0",:"\\ud800"}',
        b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        parse_envelope(data)


@pytest.mark.parametrize(
    ("frame", "answers"),
    [
        (b'{"jsonrpc":"2.0","id":5,"result":{}}', 5),
        # The libraries of clients take a number that comes back as a text.
        (b'{"jsonrpc":"2.0","id":"5","result":{}}', 5),
        (b'{"jsonrpc":"2.0","id":"5a","result":{}}', None),
        (b'{"jsonrpc":"2.0","id":"","result":{}}', None),
        (b'{"jsonrpc":"2.0","id":5.0,"result":{}}', None),
        (b'{"jsonrpc":"2.0","id":-5,"result":{}}', None),
        (b'{"jsonrpc":"2.0","id":null,"error":{}}', None),
        (b'{"jsonrpc":"2.0","id":99999999999999999999,"result":{}}', None),
        (b'{"jsonrpc":"2.0","id":5,"method":"ping"}', None),
        (b'{"jsonrpc":"2.0","method":"notifications/x"}', None),
    ],
)
def test_only_a_number_of_ours_is_an_answer(frame: bytes, answers: int | None) -> None:
    message = parse_envelope(frame)
    assert message.answers == answers
    assert message.may_answer(5) is (answers == 5 or b'"error"' in frame)


@given(st.dictionaries(st.text(st.characters(), max_size=6), json_values, max_size=5), spaces)
def test_members_are_the_objects_own_and_joining_them_gives_it_back(
    value: dict[str, object], space: str
) -> None:
    text = json.dumps(value, separators=(f"{space},{space}", f"{space}:{space}")).encode()
    parts = members(text)
    assert {key: json.loads(raw) for key, raw in parts.items()} == value
    assert json.loads(joined(parts)) == value
    assert all(raw in text for raw in parts.values())


@given(st.lists(json_values, max_size=5), spaces)
def test_elements_are_the_arrays_own(value: list[object], space: str) -> None:
    text = f"{space}{json.dumps(value, separators=(f'{space},', ':'))}{space}".encode()
    assert [json.loads(raw) for raw in elements(text)] == value


@pytest.mark.parametrize(
    "data", [b"[]", b"{", b'{"a":\xff}', b'{"a":"\\ud800",}', b'{1:"\\ud800"}']
)
def test_what_is_no_object_has_no_members(data: bytes) -> None:
    with pytest.raises(Malformed):
        members(data)


@pytest.mark.parametrize("data", [b"{}", b"[", b'["\xff"]', b'["\\ud800",]', b'["\\ud800"] 1'])
def test_what_is_no_array_has_no_elements(data: bytes) -> None:
    with pytest.raises(Malformed):
        elements(data)


@given(json_values)
def test_values_survive_being_written_and_read(value: object) -> None:
    assert value_of(json_bytes(value)) == value


def test_a_request_holds_its_params_as_they_are() -> None:
    frame = request_frame(3, "tools/call", b'{ "name":"x" }')
    assert frame == b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{ "name":"x" }}'


def test_ping_is_answered_and_everything_else_is_unknown_to_us() -> None:
    ping = reply_frame(parse_envelope(b'{"jsonrpc":"2.0","id":"a1","method":"ping"}'))
    other = reply_frame(parse_envelope(b'{"jsonrpc":"2.0","id":2,"method":"roots/list"}'))
    assert json.loads(ping) == {"jsonrpc": "2.0", "id": "a1", "result": {}}
    assert json.loads(other)["error"]["code"] == -32601


@pytest.mark.parametrize(
    ("head", "tail", "number"),
    [
        (b'{"jsonrpc":"2.0","id":12,"result":{"x', b"xx", 12),
        (b'{"id": 12 , "jsonrpc"', b"xx", 12),
        (b'{"result":{"x', b'x"}},"id":12}', 12),
        (b'{"result":{"x', b'x"},"id":12,"jsonrpc":"2.0"}\r', 12),
        (b'{"result":{"id":13', b'"id":13}}', None),
        (b'{"jsonrpc":"2.0","result":{"id":13', b'"id":"12"}', 12),
        (b'{"jsonrpc":"2.0","result":{"id":13', b'"id":"x12"}', None),
    ],
)
def test_an_id_is_salvaged_only_from_where_the_top_level_is(
    head: bytes, tail: bytes, number: int | None
) -> None:
    assert salvaged_id(head, tail) == number
