"""The tools as they are listed, and how they take arguments (S0.3)."""

from pathlib import Path
from typing import Any, cast

import jsonschema_rs
import pytest
from tests.servers.checkouts import Checkout, done, refused, text_of

from remit.servers.git.server import GitServer, open_server

NAMES = [
    "git_status",
    "git_diff",
    "git_log",
    "git_branch",
    "git_checkout",
    "git_commit",
    "git_push",
    "git_pull",
    "git_merge",
]
# Name: required, then optional with its default.
INPUTS: dict[str, tuple[list[str], dict[str, object]]] = {
    "git_status": ([], {}),
    "git_diff": (
        [],
        {"target": None, "staged": False, "paths": None, "context_lines": 3, "page": 1},
    ),
    "git_log": (
        [],
        {
            "max_count": 20,
            "ref": None,
            "path": None,
            "author": None,
            "since": None,
            "until": None,
            "page": 1,
        },
    ),
    "git_branch": ([], {"branch_name": None, "base": None, "scope": "local", "page": 1}),
    "git_checkout": (["branch_name"], {"create": False}),
    "git_commit": (["message"], {"paths": None, "all": False}),
    "git_push": ([], {"remote": "origin", "branch": None, "set_upstream": True}),
    "git_pull": ([], {"remote": "origin", "branch": None, "strategy": "ff-only"}),
    "git_merge": (["branch_name"], {"strategy": "merge", "message": None}),
}
BAD: list[tuple[str, dict[str, object], str]] = [
    ("git_status", {"path": "."}, "path"),
    ("git_status", {"repo_path": 7}, "repo_path"),
    ("git_diff", {"context_lines": -1}, "context_lines"),
    ("git_diff", {"paths": "a.txt"}, "paths"),
    ("git_diff", {"paths": ["a.txt", 3]}, "paths.1"),
    ("git_log", {"max_count": 0}, "max_count"),
    ("git_log", {"max_count": 1.5}, "max_count"),
    ("git_branch", {"scope": "mine"}, "scope"),
    ("git_checkout", {}, "branch_name"),
    ("git_commit", {"message": ""}, "message"),
    ("git_push", {"force": True}, "force"),
    ("git_pull", {"strategy": "octopus"}, "strategy"),
    ("git_merge", {"branch_name": None}, "branch_name"),
]


def test_there_are_nine_tools_under_their_exact_names(tmp_path: Path) -> None:
    server = GitServer(tmp_path)

    assert server.name == "git"
    assert server.version
    assert [tool["name"] for tool in server.tools()] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_inputs_have_exactly_the_documented_names_and_defaults(tmp_path: Path, name: str) -> None:
    tool = _tool(GitServer(tmp_path), name)
    required, optional = INPUTS[name]
    schema = tool["inputSchema"]
    defaults = {key: value.get("default") for key, value in schema["properties"].items()}

    assert schema["required"] == required
    assert schema["additionalProperties"] is False
    assert defaults == dict.fromkeys(required) | optional | {"repo_path": None}
    jsonschema_rs.meta.validate(schema)
    jsonschema_rs.meta.validate(tool["outputSchema"])


def test_hints_are_true_to_what_the_tools_do(tmp_path: Path) -> None:
    tools = {name: _tool(GitServer(tmp_path), name)["annotations"] for name in NAMES}

    def having(hint: str) -> list[str]:
        return [name for name in NAMES if tools[name][hint]]

    assert having("readOnlyHint") == ["git_status", "git_diff", "git_log"]
    assert having("openWorldHint") == ["git_push", "git_pull"]
    assert having("destructiveHint") == ["git_pull"]
    assert [name for name in NAMES if name not in having("idempotentHint")] == [
        "git_commit",
        "git_pull",
    ]


async def test_what_is_annotated_as_reading_changes_not_a_byte(
    project: Checkout, origin: Checkout, server: GitServer
) -> None:
    assert origin.path.is_dir()
    project.write("new.txt", "1")
    project.write("readme.txt", "changed\n")
    before = _bytes_in(project.path)

    for name in NAMES:
        if _tool(server, name)["annotations"]["readOnlyHint"]:
            await done(server, name)

    assert _bytes_in(project.path) == before


AGAIN: list[tuple[str, dict[str, object]]] = [
    ("git_branch", {"branch_name": "new"}),
    ("git_checkout", {"branch_name": "topic"}),
    ("git_checkout", {"branch_name": "new", "create": True}),
    ("git_push", {"branch": "topic"}),
    ("git_merge", {"branch_name": "topic"}),
    ("git_merge", {"branch_name": "topic", "strategy": "squash"}),
]


@pytest.mark.parametrize("call", AGAIN)
async def test_what_is_annotated_as_idempotent_does_nothing_the_second_time(
    project: Checkout, origin: Checkout, server: GitServer, call: tuple[str, dict[str, object]]
) -> None:
    project.git("switch", "-q", "--create", "topic")
    project.commit("topic.txt", "1")
    project.git("switch", "-q", "main")
    project.commit("main.txt", "1")
    name, arguments = call
    assert _tool(server, name)["annotations"]["idempotentHint"]

    await done(server, name, **arguments)
    once = (project.state(), origin.git("for-each-ref"))
    await server.call_tool(name, arguments)

    assert (project.state(), origin.git("for-each-ref")) == once


@pytest.mark.parametrize(("name", "arguments", "field"), BAD)
async def test_bad_arguments_are_named_and_their_values_are_not_repeated(
    project: Checkout, server: GitServer, name: str, arguments: dict[str, object], field: str
) -> None:
    assert project.head()

    text = await refused(server, name, **arguments)

    assert field in text
    assert "correct them and call again" in text
    assert "octopus" not in text


async def test_a_whole_number_may_be_written_as_a_float(
    project: Checkout, server: GitServer
) -> None:
    assert project.head()
    assert len((await done(server, "git_log", max_count=1.0))["commits"]) == 1


async def test_an_unknown_tool_is_a_key_error_in_process(server: GitServer) -> None:
    with pytest.raises(KeyError):
        await server.call_tool("git_reset", {})


async def test_a_server_is_opened_from_the_arguments_of_the_declaration(
    project: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.path)

    for args in (["--repository", str(project.path)], [f"--repository={project.path}"], []):
        result = await open_server(args, {}, Path()).call_tool("git_status", {})

        assert project.head() in text_of(result)


@pytest.mark.parametrize(
    "args", [["--repository", "nowhere"], ["--repository"], ["--depth", "3"], ["x"], ["--rep", "."]]
)
def test_a_server_is_not_opened_from_arguments_that_do_not_fit(args: list[str]) -> None:
    with pytest.raises(ValueError, match="git server: ") as caught:
        open_server(args, {}, Path())

    assert "\n" not in str(caught.value)


def _tool(server: GitServer, name: str) -> dict[str, Any]:
    return cast("dict[str, Any]", next(tool for tool in server.tools() if tool["name"] == name))


def _bytes_in(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
