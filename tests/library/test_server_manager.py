import json
import os
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from remit import MCPServerConfig, MCPServerManager, RuntimeSettings, format_tool_summary
from remit.errors import DeclarationError, UpstreamUnavailable
from remit.settings import Settings
from remit.testing.gateway import fixture_entry
from remit.testing.upstream import FixtureOptions, executed, open_web_fixture, received


@dataclass(kw_only=True)
class Workspace:
    context: dict[str, Any]


def manager_of(folder: Path, servers: dict[str, Any], **context: Any) -> MCPServerManager:
    return MCPServerManager(
        RuntimeSettings(mcp_servers=servers),
        Workspace(context=context),
        record=Settings(config=folder / "remit.yaml"),
    )


def names_of(manager: MCPServerManager) -> dict[str, list[str]]:
    return {
        server: [tool.name for tool in tools]
        for server, tools in manager.get_tools_by_server().items()
    }


async def test_only_servers_that_the_policy_opens_are_connected(tmp_path: Path) -> None:  # S4.3
    servers = {
        name: fixture_entry([f"{name}_tool"], tmp_path / f"{name}.jsonl", default_access=access)
        for name, access in (("open", "allow"), ("closed", "allow"), ("kept", "deny"))
    }
    policy = {"denyIds": ["closed"], "allowIds": ["kept"], "isAdmin": False}

    async with manager_of(tmp_path, servers, mcp_policy=policy) as manager:
        assert names_of(manager) == {"open": ["open_tool"], "kept": ["kept_tool"]}
        assert manager.get_allowed_server_names() == ["open", "kept"]

    assert not (tmp_path / "closed.jsonl.log").exists()


async def test_where_nothing_is_allowed_nothing_is_opened(tmp_path: Path) -> None:  # S4.10, S4.31
    servers = {"kept": fixture_entry(["read"], tmp_path / "ran.jsonl", default_access="deny")}
    manager = manager_of(tmp_path, servers)

    await manager.initialize()

    assert await manager.get_tools() == []
    assert manager.get_tools_by_server() == {}
    assert manager.get_allowed_server_names() == []
    assert not (tmp_path / ".remit").exists()
    await manager.cleanup()


async def test_a_tool_is_called_through_the_engine(tmp_path: Path) -> None:
    count_file = tmp_path / "ran.jsonl"
    servers = {"store": fixture_entry(["read"], count_file)}

    async with manager_of(tmp_path, servers) as manager:
        tool = manager.get_tools_by_server()["store"][0]
        result = await tool.ainvoke({"of": "shelf"})

    assert tool.published == "store__read"
    assert not result.get("isError")
    assert [one.arguments for one in executed(count_file)] == [{"of": "shelf"}]
    assert (tmp_path / ".remit" / "remit.db").exists()


async def test_a_server_that_fails_is_left_out_with_a_reason(tmp_path: Path) -> None:  # S4.11
    servers = {
        "store": fixture_entry(["read"], tmp_path / "ran.jsonl"),
        "lost": {"command": "no-such-program-of-remit"},
        "nowhere": {"transport": "http"},
        "odd": {"command": "x", "comand": "y"},
        "variable": {"command": "cat", "env": {"TOKEN": "${NO_SUCH_VARIABLE_OF_REMIT}"}},
        "signing": {"url": "https://host.test/mcp", "delegatedAuthProvider": "google"},
        "off": {"command": "cat", "enabled": False},
    }

    async with manager_of(tmp_path, servers) as manager:
        assert names_of(manager) == {"store": ["read"]}
        rejected = manager.rejected_servers
        assert sorted(rejected) == ["lost", "nowhere", "odd", "off", "signing", "variable"]
        assert "no-such-program-of-remit" in rejected["lost"]
        assert "needs `url`" in rejected["nowhere"]
        assert "comand" in rejected["odd"]
        assert "NO_SUCH_VARIABLE_OF_REMIT" in rejected["variable"]
        assert "delegated_auth_provider" in rejected["signing"]
        assert manager.get_allowed_server_names() == list(servers)


@pytest.mark.parametrize(
    "auth", ["secret", {"wiki": "secret"}, {"wiki": {"headers": {"X-Own": 7}}}], ids=str
)
async def test_a_server_whose_auth_cannot_be_read_is_left_out_alone(
    tmp_path: Path, auth: Any
) -> None:  # S4.11, S4.18
    servers = {
        "wiki": {"url": "http://127.0.0.1:9/mcp"},
        "store": fixture_entry(["read"], tmp_path / "ran.jsonl"),
    }

    async with manager_of(tmp_path, servers, mcp_auth=auth) as manager:
        assert "mcp_auth" in manager.rejected_servers["wiki"]
        assert "secret" not in str(manager.rejected_servers)
        assert ("store" in names_of(manager)) == isinstance(auth, dict)


async def test_every_field_of_a_stdio_server_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # S4.6
    monkeypatch.setenv("PASSED_ON", "passed")
    monkeypatch.setenv("KEPT_BACK", "secret")
    monkeypatch.setenv("REFERRED_TO", "referred")
    home = tmp_path / "home"
    home.mkdir()
    script = (
        "import json, os, sys;"
        "names = ('PASSED_ON', 'KEPT_BACK', 'OWN', 'REFERRED');"
        "seen = {name: os.environ.get(name) for name in names};"
        "open('seen.json', 'w').write(json.dumps({**seen, 'args': sys.argv[1:]}))"
    )
    fixture = fixture_entry(["read"], tmp_path / "ran.jsonl")
    start = f"{script};os.execv(sys.argv[1], sys.argv[1:])"
    config = SimpleNamespace(
        name="store",
        transport="STDIO",
        command=fixture["command"],
        args=("-c", start, fixture["command"], *fixture["args"]),
        env={"OWN": "own", "REFERRED": "${REFERRED_TO}"},
        env_passthrough=["PASSED_ON", "NOT_SET_ANYWHERE"],
        cwd=str(home),
        url=None,
        headers={},
        headers_from_env={},
        bearer_token_env_var=None,
        description="keeps things",
        default_access="allow",
    )

    async with manager_of(tmp_path, {"store": config}) as manager:
        assert manager.rejected_servers == {}
        assert names_of(manager) == {"store": ["read"]}

    seen = json.loads((home / "seen.json").read_text())
    assert seen.pop("args")[0] == fixture["command"]
    assert seen == {
        "PASSED_ON": "passed",
        "KEPT_BACK": None,  # R21
        "OWN": "own",
        "REFERRED": "referred",
    }


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_every_field_of_a_remote_server_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: Any
) -> None:  # S4.6, S4.8, S4.9; S4.22 (none, static_header), S4.25 (mcpAuth)
    monkeypatch.setenv("FROM_ENVIRONMENT", "from environment")
    monkeypatch.setenv("TOKEN_OF_STORE", "Bearer token")
    count_file = tmp_path / "ran.jsonl"
    options = FixtureOptions(tools=["read"], count_file=str(count_file))
    with open_web_fixture(options, transport=transport) as web:
        servers = {
            "store": {
                "transport": transport,
                "endpoint": web.url,
                "headers": {"X-Static": "static", "x-own": "static"},
                "headersFromEnv": {"X-From-Env": "FROM_ENVIRONMENT"},
                "bearerTokenEnvVar": "TOKEN_OF_STORE",
            }
        }
        auth = {"store": {"headers": {"X-Own": "of this ${request}"}}}
        async with manager_of(tmp_path, servers, mcp_auth=auth) as manager:
            assert manager.rejected_servers == {}
            await manager.get_tools_by_server()["store"][0].ainvoke({})

    headers = received(count_file, "tools/call")[-1]["headers"]
    assert headers["x-static"] == "static"
    assert headers["x-from-env"] == "from environment"
    assert headers["authorization"] == "Bearer token"
    assert headers["x-own"] == "of this ${request}"


async def test_a_policy_that_changed_counts_when_it_is_initialized_again(tmp_path: Path) -> None:
    servers = {"store": fixture_entry(["read"], tmp_path / "ran.jsonl")}
    context: dict[str, Any] = {"mcp_policy": {}}
    manager = manager_of(tmp_path, servers)
    manager.workspace_state = Workspace(context=context)
    await manager.initialize()
    assert names_of(manager) == {"store": ["read"]}

    context["mcp_policy"] = {"denyIds": ["store"]}
    await manager.initialize()

    assert names_of(manager) == {}
    await manager.cleanup()
    await manager.cleanup()


async def test_a_tool_that_outlives_its_request_starts_nothing_anew(tmp_path: Path) -> None:
    count_file = tmp_path / "ran.jsonl"
    servers = {"store": fixture_entry(["read"], count_file)}
    manager = manager_of(tmp_path, servers)
    await manager.initialize()
    first = manager.get_tools_by_server()["store"][0]

    await manager.initialize()
    second = manager.get_tools_by_server()["store"][0]
    with pytest.raises(UpstreamUnavailable, match="initialized again"):
        await first.ainvoke({"by": "first"})
    await second.ainvoke({"by": "second"})
    await manager.cleanup()
    with pytest.raises(UpstreamUnavailable, match="cleaned up"):
        await second.ainvoke({"by": "late"})

    assert [one.arguments for one in executed(count_file)] == [{"by": "second"}]


async def test_requests_of_several_workspaces_do_not_meet(tmp_path: Path) -> None:  # S1.36
    count_file = tmp_path / "ran.jsonl"
    servers = {"store": fixture_entry(["read"], count_file)}

    async def work(name: str) -> None:
        async with manager_of(tmp_path, servers) as manager:
            await manager.get_tools_by_server()["store"][0].ainvoke({"by": name})

    async with anyio.create_task_group() as tasks:
        for name in ("one", "two", "three"):
            tasks.start_soon(work, name)

    ran = executed(count_file)
    assert sorted(one.arguments["by"] for one in ran) == ["one", "three", "two"]
    assert len({one.pid for one in ran}) == 3


async def test_tools_for_langchain_without_langchain_say_what_to_install(
    tmp_path: Path,
) -> None:  # R31
    servers = {"store": fixture_entry(["read"], tmp_path / "ran.jsonl")}

    async with manager_of(tmp_path, servers) as manager:
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'remit\[langchain\]'"):
            await manager.get_tools()


RUNTIME = """
model: {name: gpt-4}
backend: {url: "http://127.0.0.1:1"}
tools: []
mcp_servers:
  - name: files
    transport: stdio
    command: cat
    cwd: data
    envPassthrough: [TOKEN]
    defaultAccess: deny
  - {name: wiki, transport: HTTP, endpoint: "https://wiki.example.test/mcp"}
"""


def test_runtime_yaml_lists_servers_by_name(tmp_path: Path) -> None:  # S4.7
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "runtime.yaml").write_text(RUNTIME)

    settings = RuntimeSettings.load(folder / "runtime.yaml")

    assert list(settings.mcp_servers) == ["files", "wiki"]
    assert settings.mcp_servers["files"]["cwd"] == os.fspath(tmp_path / "data")
    manager = MCPServerManager(settings, Workspace(context={}))
    assert list(manager._filter_by_policy()) == ["wiki"]  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the contract names it (servers.md)


async def test_servers_of_runtime_yaml_are_connected(tmp_path: Path) -> None:
    entry = fixture_entry(["read"], tmp_path / "ran.jsonl")
    path = tmp_path / "runtime.yaml"
    path.write_text(json.dumps({"model": {}, "mcpServers": {"store": entry}}))

    settings = RuntimeSettings.load(path)
    async with manager_of(tmp_path, dict(settings.mcp_servers)) as manager:
        assert names_of(manager) == {"store": ["read"]}


@pytest.mark.parametrize(
    "servers",
    [[{"command": "cat"}], [{"name": "a"}, {"name": "a"}], ["cat"], "cat", {"a": "cat"}],
    ids=["no name", "twice", "no mapping", "no list", "no entry"],
)
def test_a_runtime_yaml_with_an_entry_of_no_name_is_refused(tmp_path: Path, servers: Any) -> None:
    path = tmp_path / "runtime.yaml"
    path.write_text(json.dumps({"mcp_servers": servers}))

    with pytest.raises(DeclarationError, match=r"entry . of mcp_servers"):
        RuntimeSettings.load(path)


def test_a_runtime_yaml_without_servers_has_none(tmp_path: Path) -> None:
    path = tmp_path / "runtime.yaml"
    path.write_text("model: {name: gpt-4}\n")

    assert RuntimeSettings.load(path).mcp_servers == {}


def search_web() -> None:
    """Search the web.

    Slowly.
    """


async def test_the_summary_has_the_names_that_a_model_calls(tmp_path: Path) -> None:  # S4.12
    tool = {"name": "read", "description": "Read a thing\nfrom the store"}
    servers = {"store": fixture_entry([tool], tmp_path / "ran.jsonl")}

    async with manager_of(tmp_path, servers) as manager:
        summary = format_tool_summary(
            mcp_tools_by_server=manager.get_tools_by_server(),
            builtin_tools=[search_web, SimpleNamespace(name="ask", description="")],
        )

    assert summary == (
        "Built-in tools:\n- search_web: Search the web.\n- ask\n\n"
        "Tools of the server store:\n- store__read: Read a thing"
    )
    assert format_tool_summary({}, []) == "No tools are available."


async def test_the_librarys_own_configuration_is_one_of_a_server(tmp_path: Path) -> None:  # R19
    entry = fixture_entry(["read"], tmp_path / "ran.jsonl")
    config = MCPServerConfig(name="store", command=entry["command"], args=entry["args"])

    async with manager_of(tmp_path, {"store": config}) as manager:
        assert manager.rejected_servers == {}
        assert names_of(manager) == {"store": ["read"]}
