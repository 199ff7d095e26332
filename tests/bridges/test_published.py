"""What the bridges are held to is itself held: arguments fit, and a loss is noticed."""

import os
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.bridges.published import PublishedTools, published_tools

from remit.testing.behaviour import record

NAME = "awkward__references"


@pytest.fixture
def tools(tmp_path: Path, shared: Path) -> PublishedTools:
    return published_tools(shared, tmp_path)


def test_arguments_fit_and_are_mostly_all_that_a_tool_takes(tools: PublishedTools) -> None:
    for name, arguments in tools.arguments.items():
        jsonschema_rs.validate(dict(tools.schemas[name]), arguments)
    whole = [
        name
        for name, arguments in tools.arguments.items()
        if arguments.keys() >= tools.schemas[name].get("properties", {}).keys()
    ]
    assert len(whole) > len(tools.arguments) - 2
    assert tools.arguments[NAME]["tree"]["branches"]


@pytest.mark.parametrize("loss", ["$defs", "missing", "reasonless", "unrun"])
def test_a_loss_is_noticed(loss: str, tools: PublishedTools, tmp_path: Path) -> None:
    one = PublishedTools(
        servers={"awkward": tools.servers["awkward"]},
        schemas={NAME: tools.schemas[NAME]},
        arguments={NAME: tools.arguments[NAME]},
    )
    told: dict[str, Any] = {
        "offered": {NAME: {"properties": {}, **deepcopy(dict(one.schemas[NAME]))}},
        "left_out": {},
        "answers": {NAME: "references {}"},
    }
    ran = {"name": "references", "arguments": one.arguments[NAME], "pid": 0}
    record(os.fspath(tmp_path / "awkward.jsonl"), ran)
    one.assert_usable(told, tmp_path)

    match loss:
        case "$defs":
            del told["offered"][NAME]["$defs"]
        case "missing":
            told["offered"] = {}
        case "reasonless":
            told |= {"offered": {}, "left_out": {NAME: ""}}
        case _:
            (tmp_path / "awkward.jsonl").unlink()

    with pytest.raises(AssertionError):
        one.assert_usable(told, tmp_path, may_leave_out=[NAME] if loss == "reasonless" else [])
