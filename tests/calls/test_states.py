"""The seal of a state that a caller keeps between two rounds."""

import json

import pytest
from tests.calls.worlds import World, authorized, tool, world_with

from remit.calls.states import LIFETIME, States
from remit.errors import InvalidState

ASKS = b'{"resultType":"input_required","inputRequests":{},"requestState":"a \\u00e9 secret"}'


@pytest.fixture
def world() -> World:
    return world_with(tool("s", "t"))


def sealed_by(states: States, world: World, arguments: bytes = b"{}") -> bytes:
    result = json.loads(states.sealed(ASKS, authorized(world, arguments)))
    return json.dumps(result["requestState"]).encode()


def test_what_comes_back_in_time_is_what_the_server_said_byte_for_byte(world: World) -> None:
    now = [1000.0]
    states = States(b"key", now=lambda: now[0])
    sealed = sealed_by(states, world, b'{"a":1,"b":2}')
    now[0] += LIFETIME
    again = authorized(world, b'{ "b": 2, "a": 1 }')  # the same arguments, spelled otherwise
    assert states.open(sealed, again) == b'"a \\u00e9 secret"'
    assert b"secret" not in sealed


def test_a_state_is_refused_when_its_time_is_over(world: World) -> None:
    now = [1000.0]
    states = States(b"key", now=lambda: now[0])
    sealed = sealed_by(states, world)
    now[0] += LIFETIME + 1
    with pytest.raises(InvalidState):
        states.open(sealed, authorized(world, b"{}"))


def test_workers_of_one_installation_open_what_the_others_sealed(world: World) -> None:
    sealed = sealed_by(States(b"key"), world)
    assert States(b"key").open(sealed, authorized(world, b"{}")) == b'"a \\u00e9 secret"'
    with pytest.raises(InvalidState):
        States(b"another").open(sealed, authorized(world, b"{}"))


@pytest.mark.parametrize(
    "result",
    [
        b'{"content":[]}',
        b'{"content":[{"type":"text","text":"input_required"}]}',
        b'{"resultType":"input_required","inputRequests":{}}',
        b'{"resultType":"complete","note":"input_required","requestState":"x"}',
        b'["input_required"]',
    ],
)
def test_a_result_without_a_state_stays_as_it_is(world: World, result: bytes) -> None:
    assert States(b"key").sealed(result, authorized(world, b"{}")) is result
