"""T20 through the door: each row of the truth table as a caller that lists and calls (R8, R15)."""

import json
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from tests.e2e.conftest import Serve
from tests.policy.test_allow_deny_star import TOOLS, TRUTH, Rules

from remit.testing.gateway import Caller, Running, fixture_entry
from remit.testing.issuer import FakeIssuer
from remit.testing.upstream import executed

ROWS = list(enumerate(TRUTH.values()))
EMPTIED: Mapping[str, Any] = {"allow": [], "deny": [], "tools": {}}

pytestmark = pytest.mark.timeout(180)


def _written(rules: Rules) -> dict[str, Any]:
    tools = {"tools": {"db": list(rules.tools)}} if rules.tools else {}
    return {"allow": list(rules.allow), "deny": list(rules.deny), **tools}


def _roles() -> dict[str, dict[str, Any]]:
    return {
        f"row_{row}_{at}": _written(rules)
        for row, (roles, _) in ROWS
        for at, rules in enumerate(roles)
    }


def _document(folder: Path, issuer: FakeIssuer, roles: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "version": "1.0",
        "mcp_servers": {"db": fixture_entry(TOOLS, folder / "ran", session="shared")},
        "roles": {"everything": {"allow": ["db/*"]}, **roles},
        "identity": {"jwt": [issuer.trust()]},
    }


async def _open_to(caller: Caller, ran: Path) -> set[str]:
    """Return the tools that are listed, which are those that run and no others."""
    listed = {tool["name"].removeprefix("db__") for tool in await caller.tools()}
    before = len(executed(ran))
    for tool in TOOLS:
        answer = await caller.call(f"db__{tool}")
        assert ("result" in answer) == (tool in listed), (tool, answer)
        # The letter case rule is the same at list and call.
        assert "result" not in await caller.call(f"db__{tool.upper()}")
        assert "result" not in await caller.call(f"DB__{tool}")
    assert {call.name for call in executed(ran)[before:]} == listed
    return listed


async def test_t20_allow_deny_star(
    serve: Serve, tmp_path: Path, issuer: FakeIssuer, http: httpx2.AsyncClient
) -> None:
    running = serve(_document(tmp_path, issuer, _roles())).settle()

    def caller(row: int, *, reverse: bool = False) -> Caller:
        names = [f"row_{row}_{at}" for at in range(len(ROWS[row][1][0]))]
        claims = {"sub": f"user-{row}", "roles": names[::-1] if reverse else names}
        return Caller(http, running.url, issuer.token({"exp": time.time() + 600, **claims}))

    for row, (_, right) in ROWS:
        assert await _open_to(caller(row), tmp_path / "ran") == right, row
        reversed_ = {tool["name"] for tool in await caller(row, reverse=True).tools()}
        assert reversed_ == {f"db__{tool}" for tool in right}, row

    # a key that is none changes nothing, and is told with its line
    everything = Caller(http, running.url, running.key("everything"))
    _reload(running, _document(tmp_path, issuer, {**_roles(), "row_0_0": {"alow": ["db/*"]}}))
    await _until_logged(running, "the declaration is not reloaded")
    lines = running.config.read_text().splitlines()
    at = 1 + next(number for number, line in enumerate(lines) if '"alow"' in line)
    assert f"remit.yaml:{at}: " in running.log.read_text()
    assert f"remit.yaml:{at}: " in running.remit("check", expect=1)
    assert {tool["name"] for tool in await caller(0).tools()} == {f"db__{tool}" for tool in TOOLS}

    # removing the last rule opens nothing
    _reload(running, _document(tmp_path, issuer, dict.fromkeys(_roles(), EMPTIED)))
    with anyio.fail_after(30):
        while True:
            if not await caller(0).tools():
                break
            await anyio.sleep(0.05)
    for row, _ in ROWS:
        assert await _open_to(caller(row), tmp_path / "ran") == set()
    assert len(await everything.tools()) == len(TOOLS)


async def test_t20_a_pattern_that_fits_nothing_is_told(
    serve: Serve, tmp_path: Path, issuer: FakeIssuer
) -> None:
    roles = {"clerk": {"allow": ["db/query", "db/QUERY", "DB/QUERY"], "deny": ["db/Drop_*"]}}
    running = serve(_document(tmp_path, issuer, roles)).settle()

    # what no server can offer is told by the file alone, the rest once the server has told its list
    (warning,) = json.loads(running.remit("check", "--json"))["warnings"]
    assert warning["code"] == "unknown-server"
    assert "DB/QUERY" in running.config.read_text().splitlines()[warning["line"] - 1]
    await _until_logged(running, "deny 'db/Drop_*' of role 'clerk' matches no offered tool")
    await _until_logged(running, "allow 'db/QUERY' of role 'clerk' matches no offered tool")


def _reload(running: Running, document: Mapping[str, Any]) -> None:
    running.config.write_text(json.dumps(document, indent=2))
    running.process.send_signal(signal.SIGHUP)


async def _until_logged(running: Running, text: str) -> None:
    with anyio.fail_after(30):
        while True:
            if text in running.log.read_text():
                break
            await anyio.sleep(0.05)
