"""Listed is callable, hidden is as if it were not there (T1, R14; Must show 5)."""

import json
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.e2e.conftest import Serve

from remit.testing.gateway import Caller, Running, fixture_entry
from remit.testing.upstream import executed

REQUEST_ID = re.compile(rb'"requestId":"([0-9a-f-]{36})"')


@pytest.fixture(scope="module")
def files(module_folder: Path, serve_module: Serve) -> Running:
    entry = fixture_entry(["read", "delete", "list"], module_folder / "files.ran")
    may_read = {"tools": {"files": ["read", "list"]}}
    running = serve_module(
        {
            "version": "1.0",
            "mcp_servers": {"files": entry},
            "roles": {
                **dict.fromkeys(("reader", "watched", "bridged"), may_read),
                "editor": {"allow": ["files/*"]},
            },
        }
    )
    return running.settle()


@pytest.fixture(params=["modern", "legacy"])
def era(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["", "/files"], ids=["all-servers", "one-server"])
def endpoint(request: pytest.FixtureRequest, files: Running) -> str:
    return files.url + request.param


async def caller(http: httpx2.AsyncClient, url: str, key: str, era: str) -> Caller:
    fresh = Caller(http, url, key)
    return fresh if era == "modern" else await fresh.begin()


async def spellings(http: httpx2.AsyncClient, files: Running, endpoint: str) -> list[str]:
    """Return T1's b to e, from the name that whoever may use the tool sees."""
    editor = Caller(http, endpoint, files.key("editor"))
    (exposed,) = [tool["name"] for tool in await editor.tools() if "delete" in tool["name"]]
    return [
        exposed,
        "delete",
        "DELETE",
        exposed.upper(),
        exposed.title(),
        f" {exposed}",
        f"{exposed} ",
        f"{exposed}\0",
        f"\0{exposed}",
        exposed.replace("d", "\N{FULLWIDTH LATIN SMALL LETTER D}"),
        "files__delete",
        "files/delete",
        "mcp__files__delete",
        "mcp_files_delete",
    ]


def ran(folder: Path) -> set[str]:
    return {call.name for call in executed(folder / "files.ran")}


async def test_t1_the_list_holds_what_the_role_may_use_and_no_mention_of_the_rest(
    files: Running, http: httpx2.AsyncClient, endpoint: str, era: str
) -> None:
    reader = await caller(http, endpoint, files.key("reader"), era)

    reply = await reader.send("tools/list", {})

    names = [tool["name"] for tool in reply.json()["result"]["tools"]]
    assert [name.removeprefix("files__") for name in names] == ["list", "read"]
    assert b"delete" not in reply.content


async def test_t1_what_is_listed_can_be_called(
    files: Running, http: httpx2.AsyncClient, module_folder: Path, endpoint: str, era: str
) -> None:
    reader = await caller(http, endpoint, files.key("reader"), era)

    replies = {tool["name"]: await reader.call(tool["name"]) for tool in await reader.tools()}

    assert len(replies) == 2
    assert all("result" in reply for reply in replies.values())
    assert ran(module_folder) >= {"read", "list"}


async def test_t1_a_hidden_tool_answers_byte_for_byte_like_one_that_does_not_exist(
    files: Running, http: httpx2.AsyncClient, module_folder: Path, endpoint: str, era: str
) -> None:
    reader = await caller(http, endpoint, files.key("reader"), era)
    names = await spellings(http, files, endpoint)

    async def answer(name: str) -> tuple[int, bytes]:
        reply = await reader.send("tools/call", {"name": name, "arguments": {"path": "x"}})
        cut, count = REQUEST_ID.subn(b"", reply.content)
        assert count == 1
        return reply.status_code, cut

    unknown = await answer("no_such_tool")
    hidden = [await answer(name) for name in names]

    assert hidden == [unknown] * len(names)
    assert json.loads(unknown[1].replace(b"{}", b"null"))["error"]["code"] == -32602
    assert "delete" not in ran(module_folder)


async def test_t1_every_attempt_is_one_refused_row_of_its_caller(
    files: Running, http: httpx2.AsyncClient, module_folder: Path
) -> None:
    names = await spellings(http, files, files.url)
    told: list[str] = []
    for era in ("modern", "legacy"):
        watched = await caller(http, files.url, files.key("watched"), era)
        for name in [*names, "no_such_tool"]:
            reply = await watched.send("tools/call", {"name": name})
            told += [found.decode() for found in REQUEST_ID.findall(reply.content)]

    rows = files.audit("--principal", "key:watched-key")

    # Newest first, and each under the id that the caller was given.
    assert [row["id"] for row in rows] == list(reversed(told))
    assert len(rows) == 2 * (len(names) + 1)
    assert {row["decision"] for row in rows} == {"deny"}
    assert {row["outcome"] for row in rows} == {"none"}
    assert {row["code"] for row in rows} == {"PERMISSION_DENIED"}
    # An administrator is told which tool was meant, where a name meant one.
    assert {(row["server"], row["tool"]) for row in rows} >= {("files", "delete")}
    assert "delete" not in ran(module_folder)


async def test_t1_the_json_door_tells_a_hidden_tool_from_no_unknown_one(
    files: Running, http: httpx2.AsyncClient, module_folder: Path
) -> None:
    # g
    names = await spellings(http, files, files.url)
    bridged = files.key("bridged")

    async def answer(name: str) -> tuple[int, dict[str, Any]]:
        """Ask, and take out of the answer what may differ: the id, and the name as it was asked."""
        reply = await http.post(
            f"{files.url}/execute",
            headers={"Authorization": f"Bearer {bridged}"},
            json={"toolName": name, "input": {"path": "x"}},
        )
        error = reply.json()["error"]
        assert error["details"].keys() == {"requestId"}
        del error["details"]
        assert error["message"].startswith("Tool ")
        error["message"] = error["message"].rpartition(" is not allowed ")[2]
        return reply.status_code, error

    unknown = await answer("no_such_tool")
    hidden = [await answer(name) for name in names]

    assert hidden == [unknown] * len(names)
    assert unknown == (
        400,
        {"code": "PERMISSION_DENIED", "message": "for caller 'key:bridged-key'"},
    )
    rows = files.audit("--principal", "key:bridged-key")
    assert [row["decision"] for row in rows] == ["deny"] * (len(names) + 1)
    assert "delete" not in ran(module_folder)


API = (
    *("/servers", "/servers/files", "/explain?as=role:reader&tool=files/delete", "/roles/reader"),
    *("/who-can?tool=files/delete", "/tools?as=role:editor", "/audit", "/declaration", "/keys"),
)


async def test_t1_no_route_of_the_api_tells_of_it_or_runs_it(
    files: Running, http: httpx2.AsyncClient, module_folder: Path
) -> None:
    # g
    headers = {"Authorization": f"Bearer {files.key('reader')}"}

    own = await http.get(f"{files.base}/api/v1/me/tools", headers=headers)
    others = [await http.get(f"{files.base}/api/v1{path}", headers=headers) for path in API]
    called = [
        await http.post(f"{files.base}{path}", headers=headers, json={"tool": "files__delete"})
        for path in ("/mcp/execute", "/api/v1/tools", "/api/v1/me/tools", "/api/v1/files/delete")
    ]

    assert own.status_code == 200
    assert "read" in own.text
    assert {reply.status_code for reply in others} == {403}
    assert {reply.status_code for reply in called} <= {400, 403, 404, 405}
    answers = [reply.text for reply in (own, *others, *called)]
    assert not [text for text in answers if "delete" in text]
    assert "delete" not in ran(module_folder)
