"""What a client can be asked, as bits and as the protocol's object."""

import json
from typing import Any

import pytest

from remit.model.conversation import Abilities


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({}, {}),
        (None, {}),
        ({"elicitation": {}}, {"elicitation": {"form": {}}}),
        ({"elicitation": {"url": {}}}, {"elicitation": {"url": {}}}),
        ({"elicitation": {"url": {}, "form": {}}}, {"elicitation": {"form": {}, "url": {}}}),
        ({"sampling": {"tools": {}}}, {"sampling": {"tools": {}}}),
        ({"sampling": {"context": {}}}, {"sampling": {"context": {}}}),
        # A server is not told that they change, and so it is not promised.
        ({"roots": {"listChanged": True}}, {"roots": {}}),
        ({"roots": {}, "experimental": {"x": {}}, "extensions": {"y": {}}}, {"roots": {}}),
    ],
)
def test_what_a_client_says_is_said_on(said: Any, meant: dict[str, Any]) -> None:
    able = Abilities.of(said)
    assert json.loads(able.to_json()) == meant
    assert Abilities(int(f"{able:x}", 16)) == able


@pytest.mark.parametrize(
    ("said", "method", "params", "can"),
    [
        ({"elicitation": {}}, "elicitation/create", {"message": "?"}, True),
        ({"elicitation": {}}, "elicitation/create", {"mode": "url"}, False),
        ({"elicitation": {"url": {}}}, "elicitation/create", {"mode": "url"}, True),
        ({"elicitation": {"url": {}}}, "elicitation/create", {}, False),
        ({"sampling": {}}, "sampling/createMessage", {}, True),
        ({"sampling": {}}, "roots/list", None, False),
        ({"roots": {}}, "roots/list", {}, True),
        ({"roots": {}}, "tools/list", {}, False),
    ],
)
def test_nobody_is_asked_more(said: Any, method: str, params: Any, can: bool) -> None:
    assert Abilities.of(said).can_answer(method, params) is can


def test_what_a_session_of_an_earlier_release_says_of_roots_is_not_promised_either() -> None:
    able = Abilities(int("60", 16))  # it had a bit for roots that change
    assert json.loads(able.to_json()) == {"roots": {}}
    assert able.can_answer("roots/list", {})
