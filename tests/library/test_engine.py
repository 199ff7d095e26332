from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from remit.errors import BadCall, CallDenied, DeclarationError
from remit.library.engine import Engine, open_engine
from remit.settings import Settings
from remit.testing.fleets import eventually
from remit.testing.gateway import fixture_entry
from remit.testing.upstream import executed

ROLES = {
    "reader": {"mcp_servers": ["store"], "tools": {"store": ["read"]}},
    "keeper": {"allow": ["store/*"]},
}


@asynccontextmanager
async def engine_of(folder: Path, servers: dict[str, Any]) -> AsyncGenerator[Engine]:
    document = {"mcp_servers": servers, "roles": ROLES}
    async with open_engine(Settings(config=folder / "remit.yaml"), document) as engine:
        yield engine


def store(folder: Path) -> dict[str, Any]:
    return {"store": fixture_entry(["read", "write"], folder / "ran.jsonl")}


async def test_no_server_runs_before_it_is_asked_for(tmp_path: Path) -> None:
    async with engine_of(tmp_path, store(tmp_path)) as engine:
        assert engine.offered("keeper") == []
        with pytest.raises(CallDenied):
            await engine.call("reader", "store", "write", {})
        assert not (tmp_path / "ran.jsonl.log").exists()

        await engine.call("reader", "store", "read", {"of": "shelf"})

        assert [tool.name for tool in engine.offered("keeper")] == ["read", "write"]
        assert [tool["name"] for tool in engine.tools("reader", "store")] == ["read"]
    assert len(executed(tmp_path / "ran.jsonl")) == 1


async def test_a_server_that_is_connected_again_in_the_same_way_goes_on(tmp_path: Path) -> None:
    servers = store(tmp_path)
    async with engine_of(tmp_path, servers) as engine:
        for _ in range(2):
            assert await engine.connect(servers) == {}
            await engine.call("reader", "store", "read", {})

    assert len({one.pid for one in executed(tmp_path / "ran.jsonl")}) == 1


async def test_a_server_that_is_connected_in_another_way_begins_anew(tmp_path: Path) -> None:
    async with engine_of(tmp_path, store(tmp_path)) as engine:
        await engine.call("reader", "store", "read", {})
        other = {"store": fixture_entry(["read", "more"], tmp_path / "other.jsonl")}
        assert await engine.connect(other) == {}

        assert [tool.name for tool in engine.offered("keeper")] == ["more", "read"]


async def test_why_a_server_cannot_be_used_is_told(tmp_path: Path) -> None:
    servers = {
        "lost": {"command": "no-such-program-of-remit"},
        "off": {"command": "cat", "enabled": False},
    }
    async with engine_of(tmp_path, {}) as engine:
        failures = await engine.connect(servers)

    assert sorted(failures) == sorted(servers)
    assert "no-such-program-of-remit" in failures["lost"]


async def test_a_wrong_entry_changes_nothing(tmp_path: Path) -> None:
    servers = store(tmp_path)
    async with engine_of(tmp_path, servers) as engine:
        await engine.connect(servers)
        with pytest.raises(DeclarationError, match="comand"):
            await engine.connect({"other": {"comand": "cat"}})

        assert not (await engine.call("reader", "store", "read", {})).get("isError")


async def test_the_program_has_the_servers_that_it_was_opened_alone(tmp_path: Path) -> None:
    servers = store(tmp_path)
    async with engine_of(tmp_path, servers | {"lost": {"command": "cat"}}) as engine:
        engine.open_to_program("store")
        engine.open_to_program("store")

        await engine.call(engine.program, "store", "write", {})
        with pytest.raises(CallDenied):
            await engine.call(engine.program, "lost", "read", {})
        with pytest.raises(CallDenied):
            await engine.call("reader", "store", "write", {})


async def test_other_rules_count_at_once_and_what_was_added_stays(tmp_path: Path) -> None:
    rules = {"mcp_servers": store(tmp_path), "roles": ROLES}
    added = {"own": fixture_entry(["ping"], tmp_path / "own.jsonl")}
    async with open_engine(Settings(config=tmp_path / "remit.yaml"), rules) as engine:
        await engine.connect(added)
        engine.open_to_program("own")
        await engine.call("reader", "store", "read", {})
        await engine.call(engine.program, "own", "ping", {})

        promoted = {"reader": {"allow": ["store/*"]}, "program": {"allow": ["store/read"]}}
        engine.follow({**rules, "roles": promoted})

        await engine.call("reader", "store", "write", {})
        with pytest.raises(CallDenied):
            await engine.call("keeper", "store", "read", {})
        # The name is somebody's now, who gets nothing of what was opened to the program.
        with pytest.raises(CallDenied):
            await engine.call("program", "own", "ping", {})
        await engine.call(engine.program, "own", "ping", {})
    assert len({one.pid for one in executed(tmp_path / "own.jsonl")}) == 2  # one for each name
    assert len({one.pid for one in executed(tmp_path / "ran.jsonl")}) == 1


async def test_rules_that_are_wrong_leave_those_in_force(tmp_path: Path) -> None:
    rules = {"mcp_servers": store(tmp_path), "roles": ROLES}
    async with open_engine(Settings(config=tmp_path / "remit.yaml"), rules) as engine:
        with pytest.raises(DeclarationError, match="allow"):
            engine.follow({"roles": {"reader": {"allow": ["*"]}}})

        await engine.call("reader", "store", "read", {})
        assert (await engine.connect(store(tmp_path))) == {}


async def test_servers_that_the_rules_drop_end_and_new_ones_start_when_they_are_called(
    tmp_path: Path,
) -> None:
    rules = {"mcp_servers": store(tmp_path), "roles": ROLES}
    async with open_engine(Settings(config=tmp_path / "remit.yaml"), rules) as engine:
        await engine.call("keeper", "store", "read", {})
        (first,) = executed(tmp_path / "ran.jsonl")
        other = {"shed": fixture_entry(["dig"], tmp_path / "shed.jsonl")}
        engine.follow({"mcp_servers": other, "roles": {"keeper": {"allow": ["shed/*"]}}})

        await engine.call("keeper", "shed", "dig", {})
        await eventually(lambda: not Path(f"/proc/{first.pid}").exists())
        assert [tool.name for tool in engine.offered("keeper")] == ["dig"]


async def test_arguments_that_are_no_json_reach_nobody(tmp_path: Path) -> None:
    async with engine_of(tmp_path, store(tmp_path)) as engine:
        with pytest.raises(BadCall, match="JSON"):
            await engine.call("reader", "store", "read", {"n": float("inf")})

    assert executed(tmp_path / "ran.jsonl") == []


async def test_rules_that_are_wrong_open_nothing(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="allow"):
        async with open_engine(
            Settings(config=tmp_path / "remit.yaml"), {"roles": {"reader": {"allow": ["*"]}}}
        ):
            pass
