"""`remit.bridges.langchain` in the agent loops of LangChain and deepagents."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from tests.bridges.harness import (
    INSTALLATION,
    MP3,
    PNG,
    WAYS,
    Office,
    assert_day,
    run_page,
    run_published,
)
from tests.bridges.published import published_tools
from tests.docs.scratch import Scratch

SEEN = [
    {"type": "text", "text": "a shelf"},
    {"type": "image", "base64": PNG, "mime_type": "image/png"},
    {"type": "text", "text": "[audio]"},
]
HEARD = [
    {"type": "text", "text": "a shelf"},
    {"type": "image", "mimeType": "image/png", "data": PNG},
    {"type": "audio", "mimeType": "audio/mpeg", "data": MP3},
]

pytestmark = pytest.mark.timeout(INSTALLATION)


def test_an_agent_works_with_what_its_principal_may_do(python: Path, office: Office) -> None:
    told = office.run(python, "langchain_agent").value

    for day in ("langchain remote", "langchain local", "deepagents remote"):
        assert_day(told[day], unlisted="desk__write is not a valid tool")
    assert office.cancelled() == 3
    assert told["without await"] == {way: [['read {"of": "sync"}', False]] for way in WAYS}
    assert told["by themselves"] == {way: ['read {"of": "hand"}', SEEN] for way in WAYS}
    assert told["looked"] == {name: [SEEN, HEARD] for name in ("langchain", "deepagents")}
    assert told["looked without await"] == [SEEN, HEARD]
    assert told["same name"] == [
        {"ask": "the agent has another tool of this name"},
        [["the program's own answer", False]],
    ]
    # A run with a broken set-up fails, and never goes on without tools.
    assert "does not take the key" in told["broken"]["remote"]
    assert "cannot reach http://127.0.0.1:9" in told["broken"]["away"]
    assert "no role 'nobody' is declared" in told["broken"]["local"]
    assert "secret" not in str(office.ran())


def test_every_published_schema_becomes_a_tool(python: Path, tmp_path: Path, shared: Path) -> None:
    tools = published_tools(shared, tmp_path)

    told = run_published(python, "langchain_agent", tools, tmp_path)

    tools.assert_usable(told, tmp_path, as_shown=without_titles)


def test_its_page_does_what_it_says(python: Path, scratch: Scratch) -> None:
    run_page("bridge-langchain", python, scratch)


def without_titles(schema: Mapping[str, Any]) -> Any:
    """Return a schema as LangChain shows it: definitions stay, what a program would show goes."""
    whole: dict[str, Any] = {"properties": {}, **schema}
    return whole if "$ref" in json.dumps(schema) else _untitled(whole, are_names=False)


def _untitled(node: Any, *, are_names: bool) -> Any:
    if isinstance(node, list):
        return [_untitled(one, are_names=False) for one in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    return {
        key: _untitled(value, are_names=key == "properties" and not are_names)
        for key, value in cast("dict[str, Any]", node).items()
        if key != "title" or are_names
    }
