"""The GitHub server as a program and as a part of the gateway: settings, tools, secrets."""

import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from tests.servers.github_worlds import World
from tests.servers.inspector import Inspector

from remit.servers.github.server import GitHubServer, open_server
from remit.testing.gateway import run_remit
from remit.testing.github_fake import TOKENS, GitHubFake

TOKEN = TOKENS["ada"]
READING = ["get_pull_request", "get_issue", "list_issues", "get_repository", "search_code"]
WRITING = [
    "create_pull_request",
    "update_pull_request",
    "merge_pull_request",
    "create_issue",
    "add_issue_comment",
]


def opened(*args: str, **environ: str) -> GitHubServer:
    return open_server(args, {"GITHUB_TOKEN": TOKEN, **environ}, Path())


def by_name(server: GitHubServer) -> dict[str, Mapping[str, Any]]:
    return {str(tool["name"]): tool for tool in server.tools()}


@pytest.mark.parametrize(
    ("args", "environ", "problem"),
    [
        ((), {"GITHUB_TOKEN": ""}, "GITHUB_TOKEN is not set"),
        ((), {"GITHUB_TOKEN": f"{TOKEN}\nX: y"}, "GITHUB_TOKEN has characters that no HTTP header"),
        ((), {"GITHUB_API_URL": "github.example.test"}, "GITHUB_API_URL is no http or https"),
        ((), {"GITHUB_API_URL": f"https://u:{TOKEN}@h"}, "GITHUB_API_URL holds a user or password"),
        ((), {"GITHUB_REPOSITORY": "orders"}, "GITHUB_REPOSITORY is 'orders'; expected OWNER/NAME"),
        (("--read-onyl",), {}, "expected [--read-only]"),
    ],
)
def test_settings_that_do_not_fit_are_refused_in_a_line_that_holds_no_secret(
    args: tuple[str, ...], environ: dict[str, str], problem: str
) -> None:
    with pytest.raises(ValueError, match="github server: ") as caught:
        opened(*args, **environ)

    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
    assert TOKEN not in str(caught.value)


async def test_ten_tools_are_listed_with_hints_that_say_which_of_them_write() -> None:
    async with aclosing(opened()) as server:
        tools = by_name(server)

    hints = {name: tool["annotations"] for name, tool in tools.items()}
    assert {name for name, hint in hints.items() if hint["readOnlyHint"]} == set(READING)
    assert {name for name, hint in hints.items() if not hint["readOnlyHint"]} == set(WRITING)
    assert all(hint["openWorldHint"] for hint in hints.values())
    assert [name for name, hint in hints.items() if hint["destructiveHint"]] == [
        "update_pull_request"
    ]


async def test_tools_that_say_they_read_send_nothing_but_gets(hub: World) -> None:
    await hub.call("create_pull_request", title="Totals", head="topic", base="main")
    await hub.call("create_issue", title="Wrong")
    hub.web.seen.clear()
    arguments: dict[str, dict[str, object]] = {
        "get_pull_request": {"pull_number": 1, "include": ["files", "commits", "reviews"]},
        "get_issue": {"issue_number": 2, "comments": True},
        "search_code": {"query": "total"},
    }
    for name in READING:
        await hub.call(name, **arguments.get(name, {}))

    assert {seen.method for seen in hub.web.seen} == {"GET"}
    assert len(hub.web.seen) == 9


async def test_a_server_that_only_reads_has_no_other_tools() -> None:
    async with aclosing(opened("--read-only")) as server:
        assert sorted(by_name(server)) == sorted(READING)
        for name in WRITING:
            with pytest.raises(KeyError):
                await server.call_tool(name, {})


async def test_owner_and_repository_are_asked_for_where_there_is_no_default() -> None:
    async with aclosing(opened()) as server:
        tools = by_name(server)
        asked = {name: tool["inputSchema"]["required"] for name, tool in tools.items()}
        none = await server.call_tool("get_repository", {})
        half = await server.call_tool("search_code", {"query": "x", "owner": "ada"})
    async with aclosing(opened(GITHUB_REPOSITORY="ada/orders")) as server:
        schema = by_name(server)["get_repository"]["inputSchema"]

    assert {name for name, needed in asked.items() if "owner" not in needed} == {"search_code"}
    assert "required property" in str(none["content"])
    assert "give owner and repo, or neither" in str(half["content"])
    assert schema["required"] == []
    assert [schema["properties"][name]["default"] for name in ("owner", "repo")] == [
        "ada",
        "orders",
    ]


@pytest.mark.parametrize("name", ["..", "a/b", "a b", "x?y", "%2e%2e", "", "é"])
async def test_no_name_leads_out_of_its_place(hub: World, name: str) -> None:
    said = await hub.refused("get_repository", owner="ada", repo=name)

    assert "bad arguments" in said or "neither an owner nor a repository is called so" in said
    assert hub.web.seen == []


def test_alone_it_wants_its_token_and_says_so() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "remit.servers.github"],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == 2
    assert ended.stderr == "github server: GITHUB_TOKEN is not set; GitHub is asked in its name\n"


@pytest.fixture
def inspector(github: GitHubFake, repository: str, tmp_path: Path) -> Inspector:
    environ = {
        "GITHUB_TOKEN": TOKEN,
        "GITHUB_API_URL": github.url,
        "GITHUB_REPOSITORY": repository,
    }
    return Inspector(tmp_path, "remit.servers.github", [], environ)


def test_the_inspector_lists_the_ten_tools_and_finds_no_fault_with_them(
    inspector: Inspector, repository: str
) -> None:
    listed = inspector.listed()

    assert listed == by_name(opened(GITHUB_REPOSITORY=repository))


def test_the_inspector_can_use_them_in_both_eras(inspector: Inspector) -> None:
    made = inspector.call("create_issue", title="Seen by the inspector", body="é")
    shown = inspector.call("get_issue", "--protocol-era", "modern", issue_number=1)
    refused = inspector.call("get_pull_request", pull_number=99)

    assert made["structuredContent"]["number"] == 1
    assert shown["structuredContent"]["title"] == "Seen by the inspector"
    assert shown["structuredContent"]["body"] == "é"
    assert refused["isError"] is True
    assert "it does not exist, or the token may not see it" in refused["content"][0]["text"]


def test_as_a_part_of_the_gateway_it_has_the_variables_of_its_entry(
    github: GitHubFake, repository: str, tmp_path: Path
) -> None:
    entry = {
        "builtin": "github",
        "env": {
            "GITHUB_TOKEN": "${TOKEN_OF_ADA}",
            "GITHUB_API_URL": github.url,
            "GITHUB_REPOSITORY": repository,
        },
    }
    roles = {"developer": {"tools": {"github": ["get_repository", "get_issue"]}}}
    document = {"version": "1.0", "mcp_servers": {"github": entry}, "roles": roles}
    (tmp_path / "remit.yaml").write_text(json.dumps(document))
    call, ada = ("call", "--as", "role:developer"), {"TOKEN_OF_ADA": TOKEN}

    done = run_remit(*call, "github/get_repository", folder=tmp_path, environ=ada)
    other = run_remit(*call, "github/create_issue", folder=tmp_path, environ=ada)
    without = run_remit(*call, "github/get_repository", folder=tmp_path)

    assert done.returncode == 0, done.stderr
    assert f'"full_name": "{repository}"' in done.stdout
    assert other.returncode == 1
    assert "TOKEN_OF_ADA" in without.stderr + without.stdout
    assert without.returncode != 0
    kept = [path.read_bytes() for path in (tmp_path / ".remit").rglob("*") if path.is_file()]
    assert kept
    assert not any(TOKEN.encode() in content for content in kept)
    shown = "".join(one.stdout + one.stderr for one in (done, other, without))
    assert TOKEN not in shown
