"""The toolsets by list and by call while their options change through the API.

S2.4-S2.17: filtered by the gateway, so that a client sees another list and nothing else (S2.6), and
by one function for lists and calls (S2.7); by role, as the document tests it (S2.49).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.conformance.tables import rows
from tests.e2e.conftest import Serve

from remit.testing.gateway import Caller, Running, fixture_entry
from remit.testing.upstream import executed

OPTIONS: tuple[str, ...] = ("allowOntologyMaintenance", "addQueryTools", "addOntologyMaintenance")
KINDS = {"user": "userTools", "developer": "developerTools", "service-key": "agentTools"}


def _golden() -> dict[tuple[str, str], list[str]]:
    """Return caller and options to tools, in the canonical order."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows("toolsets.csv"):
        found.setdefault((row["caller"], row["options"]), []).append(row["tool"])
    return found


TOOLSETS = _golden()
ALL = TOOLSETS["developer", "addQueryTools+addOntologyMaintenance"]


def _right(kind: str, options: Mapping[str, bool]) -> list[str]:
    asked = {"user": OPTIONS[:1], "developer": OPTIONS[1:], "service-key": ()}[kind]
    return TOOLSETS[kind, "+".join(option for option in asked if options[option])]


class _Project:
    """The API of one tenant, as its administrator."""

    def __init__(self, http: httpx2.AsyncClient, running: Running, tenant: str) -> None:
        self._http = http
        self._url = f"{running.base}/api/projects/{tenant}/mcp"
        self._headers = {"Authorization": f"Bearer {running.admin_key}"}

    async def send(self, method: str, path: str, **request: Any) -> httpx2.Response:
        return await self._http.request(
            method, f"{self._url}/{path}", headers=self._headers, **request
        )

    async def data(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        reply = await self.send(method, path, **request)
        assert reply.status_code == 200, reply.text
        body = reply.json()
        assert (set(body), body["success"]) == ({"success", "data"}, True)
        return body["data"]


@pytest.fixture
def running(serve: Serve, tmp_path: Path) -> Running:
    document = {
        "version": "1.0",
        "mcp_servers": {"data": fixture_entry(ALL, tmp_path / "count", session="shared")},
    }
    return serve(document).settle()


def _keys(running: Running) -> dict[str, str]:
    made = {
        "user": running.remit("keys", "create", "u", "--user-role", "user", "--json"),
        "developer": running.remit("keys", "create", "d", "--user-role", "data", "--json"),
        "service-key": running.remit("keys", "create", "s", "--service", "--json"),
    }
    return {kind: httpx2.Response(200, text=text).json()["key"] for kind, text in made.items()}


STEPS: list[tuple[dict[str, Any], dict[str, bool], tuple[int, int, int]]] = [
    ({}, dict.fromkeys(OPTIONS, True), (42, 49, 3)),
    ({"allowOntologyMaintenance": False}, {"allowOntologyMaintenance": False}, (20, 49, 3)),
    ({"addOntologyMaintenance": False}, {"addOntologyMaintenance": False}, (20, 22, 3)),
    (
        {"addQueryTools": False, "addOntologyMaintenance": True},
        {"addQueryTools": False, "addOntologyMaintenance": True},
        (20, 30, 3),
    ),
    (
        {"addOntologyMaintenance": False, "allowOntologyMaintenance": None},
        {"addOntologyMaintenance": False},
        (20, 3, 3),
    ),
    (
        {"toolGroups": {"user": {"allowOntologyMaintenance": True, "enabled": False}}},
        {"allowOntologyMaintenance": True},
        (42, 3, 3),
    ),
]


async def test_each_change_counts_at_once_for_every_list_and_every_call(
    running: Running, http: httpx2.AsyncClient, tmp_path: Path
) -> None:
    keys, options = _keys(running), dict.fromkeys(OPTIONS, True)
    project = _Project(http, running, "default")
    callers = {kind: Caller(http, f"{running.base}/mcp/data", key) for kind, key in keys.items()}
    await callers["developer"].until_listed(set(ALL))
    for body, change, sizes in STEPS:
        options |= change

        answer = await project.data("PATCH", "config", json=body)

        for (kind, shown), size in zip(KINDS.items(), sizes, strict=True):
            right = _right(kind, options)
            assert len(right) == size
            assert [one["name"] for one in answer[shown]] == right
            assert [one["name"] for one in await callers[kind].tools()] == right
        assert answer == await project.data("GET", "config")

    before = executed(tmp_path / "count")
    for kind, caller in callers.items():
        right = _right(kind, options)
        for name in ALL:
            assert ("result" in await caller.call(name)) is (name in right), (kind, name)
    assert len(executed(tmp_path / "count")) - len(before) == 42 + 3 + 3
