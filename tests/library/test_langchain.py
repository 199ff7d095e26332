"""Tools of `MCPServerManager` in LangChain's own agent loop (S4.2, S4.10, R31)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.bridges.harness import INSTALLATION, framework, run_program
from tests.library.langchain_programs import AGENT, LISTING, SCHEMAS, WITHOUT_AWAIT

from remit.testing.gateway import fixture_entry
from remit.testing.upstream import executed

pytestmark = pytest.mark.timeout(INSTALLATION)  # the first one here installs LangChain


@pytest.fixture(scope="module")
def langchain() -> Path:
    return framework("all")


def run(
    program: str, langchain: Path, folder: Path, servers: Mapping[str, Any], **more: Any
) -> tuple[Any, str]:
    given = {name.upper(): json.dumps(value) for name, value in more.items()}
    told = run_program(
        langchain, ["-c", program], folder, {"SERVERS": json.dumps(servers), **given}
    )
    return told.value, told.errors


def test_tools_of_allowed_servers_are_langchains_with_their_own_schemas(
    langchain: Path, tmp_path: Path
) -> None:  # S4.10, R31
    schema = {
        "type": "object",
        "properties": {"of": {"$ref": "#/$defs/Place"}},
        "required": ["of"],
        "$defs": {"Place": {"type": "string", "description": "Where"}},
    }
    read = {"name": "read", "description": "Read a thing", "inputSchema": schema}
    servers = {
        "store": fixture_entry([read], tmp_path / "ran.jsonl"),
        "clock": fixture_entry(["now"], tmp_path / "clock.jsonl"),
    }

    told, _ = run(LISTING, langchain, tmp_path, servers)

    assert [name for name, _, _ in told["all"]] == ["store__read", "clock__now"]
    assert told["all"][0][1:] == ["Read a thing", {"of": {"$ref": "#/$defs/Place"}}]
    assert [name for name, _, _ in told["fewer"]] == ["clock__now"]


def test_an_agent_calls_reads_failures_and_survives_the_death_of_a_server(
    langchain: Path, tmp_path: Path
) -> None:
    count_file = tmp_path / "ran.jsonl"
    failing = {"content": [{"type": "text", "text": "the shelf is empty"}], "isError": True}
    tools: list[Any] = [
        "read",
        {"name": "fail", "x-fixture": {"result": failing}},
        {"name": "die", "x-fixture": {"exit": 3}},
    ]
    servers = {"store": fixture_entry(tools, count_file)}
    turns: list[list[Any]] = [
        ["store__read", {"of": "shelf"}],
        ["store__fail", {}],
        ["vault__open", {}],
        ["store__die", {}],
        ["store__read", {"of": "again"}],
    ]

    said, _ = run(AGENT, langchain, tmp_path, servers, turns=turns)

    assert said["bound"] == ["store__die", "store__fail", "store__read"]
    read, failed, unknown, died, again = said["told"]
    assert (read[0], again[0]) == ("success", "success")
    assert failed == ["error", "the shelf is empty"]
    assert unknown[0] == "error"
    assert "vault__open" in unknown[1]
    assert died[0] == "error"
    assert "'store' exited with code 3" in died[1]
    assert died[1].endswith("; whether it took effect is unknown")
    assert said["last"] == "done"
    assert [one.arguments["of"] for one in executed(count_file) if one.name == "read"] == [
        "shelf",
        "again",
    ]


def test_a_tool_can_be_invoked_without_await(langchain: Path, tmp_path: Path) -> None:
    count_file = tmp_path / "ran.jsonl"

    said, _ = run(
        WITHOUT_AWAIT, langchain, tmp_path, {"store": fixture_entry(["read"], count_file)}
    )

    assert "shelf" in said
    assert len(executed(count_file)) == 1


def test_an_argument_may_be_called_as_langchains_own(langchain: Path, tmp_path: Path) -> None:
    count_file = tmp_path / "ran.jsonl"
    arguments = {name: name for name in ("config", "run_manager", "self", "runtime", "state")}

    said, _ = run(
        *(AGENT, langchain, tmp_path, {"store": fixture_entry(["set"], count_file)}),
        turns=[["store__set", arguments]],
    )

    assert [status for status, _ in said["told"]] == ["success"]
    assert executed(count_file)[0].arguments == arguments


def test_every_published_schema_becomes_a_tool_that_a_model_is_offered_whole(
    langchain: Path, tmp_path: Path, shared: Path
) -> None:
    lists = {
        f"list{number}": json.loads(path.read_bytes())["tools"]
        for number, path in enumerate(sorted((shared / "tools").glob("*.json")))
    }
    servers = {
        name: fixture_entry(tools, tmp_path / f"{name}.jsonl") for name, tools in lists.items()
    }

    said, _ = run(SCHEMAS, langchain, tmp_path, servers)

    offered = 0
    assert said["rejected"] == {}
    for name, tools in lists.items():
        for tool in tools:
            schema, published, parameters = said["told"][f"{name}__{tool['name']}"]
            assert schema == {"properties": {}, **tool["inputSchema"]}
            assert published == f"{name}__{tool['name']}"
            assert parameters["properties"].keys() == schema["properties"].keys()
            offered += 1
    assert offered > 400
