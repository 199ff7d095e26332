"""What servers a program names: S1.1-S1.5, R16, R20, R21, R30."""

import logging
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from remit.library.config import (
    DEFAULT_MCP_SERVERS,
    MCPConfig,
    MCPServerConfig,
    get_default_mcp_config,
)
from remit.library.server_entries import usable_entry
from remit.testing.gateway import environment


def test_a_server_needs_a_name_and_a_command() -> None:
    with pytest.raises(ValidationError, match="name"):
        MCPServerConfig.model_validate({"command": "uvx"})
    with pytest.raises(ValidationError, match="needs 'command'"):
        MCPServerConfig(name="test")


@pytest.mark.parametrize("transport", ["http", "sse", "builtin"])
def test_a_server_of_another_transport_needs_what_reaches_it_there(transport: str) -> None:
    with pytest.raises(ValidationError, match=f"transport '{transport}' needs"):
        MCPServerConfig.model_validate({"name": "test", "transport": transport, "command": "uvx"})


def test_an_unknown_field_is_an_error() -> None:
    with pytest.raises(ValidationError, match="comand"):
        MCPServerConfig.model_validate({"name": "test", "command": "uvx", "comand": "x"})
    with pytest.raises(ValidationError, match="timeout"):
        MCPConfig.from_dict({"timeout": 5})


def test_the_fields_and_spellings_of_the_other_design_document_are_taken() -> None:
    """S4.6, S4.7 and R19: what it leaves out is None there."""
    far = {
        "name": "far",
        "transport": "HTTP",
        "endpoint": "http://127.0.0.1:9/mcp",
        "headersFromEnv": {"X-Key": "KEY"},
        "bearerTokenEnvVar": "TOKEN",
        "defaultAccess": "Deny",
        "command": None,
        "args": None,
        "envPassthrough": None,
        "cwd": None,
    }

    config = MCPServerConfig.model_validate(far)

    assert (config.transport, config.url) == ("http", "http://127.0.0.1:9/mcp")
    assert config.headers_from_env == {"X-Key": "KEY"}
    assert (config.bearer_token_env_var, config.default_access) == ("TOKEN", "deny")
    assert (config.command, config.args, config.env_passthrough, config.cwd) == ("", [], [], "")


@pytest.mark.parametrize("wrong", [{"transport": 3}, {"default_access": "maybe"}], ids=str)
def test_a_word_that_is_none_of_those_known_is_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        MCPServerConfig.model_validate({"name": "test", "command": "cmd", **wrong})
    with pytest.raises(ValidationError):
        MCPServerConfig.model_validate("test")


def test_an_entry_is_one_for_the_manager_of_servers_too() -> None:
    given = MCPServerConfig(name="own", command="cmd", env={"A": "${A}"}, env_passthrough=["B"])

    entry = usable_entry("own", given, {})

    assert (entry["command"], entry["env"]) == ("cmd", {"A": "${A}"})
    assert entry["env_passthrough"] == ["B"]
    assert "env_inherit" not in entry  # so that its child has a minimal environment (R21)


def test_two_servers_share_no_default() -> None:
    one, other = (MCPServerConfig(name=name, command="cmd") for name in "ab")

    one.args.append("x")
    one.env["A"] = "1"

    assert (other.args, other.env) == ([], {})


def test_a_literal_value_stands_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VALUE", "secret123")
    literals = {
        "plain": "literal_value",
        "inside": "prefix_${VALUE}_suffix",
        "twice": "${VALUE}${VALUE}",
        "unbraced": "$VALUE",
        "open": "${VALUE",
        "nothing": "${}",
        "empty": "",
    }

    resolved = MCPServerConfig(name="test", command="cmd", env=literals).resolve_env()

    assert resolved == literals


def test_a_variable_that_is_not_set_becomes_empty_with_a_warning_that_names_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("UNDEFINED_VAR", raising=False)
    monkeypatch.setenv("OTHER", "secret123")
    env = {"MISSING": "${UNDEFINED_VAR}", "THERE": "${OTHER}"}

    with caplog.at_level(logging.WARNING):
        resolved = MCPServerConfig(name="test", command="cmd", env=env).resolve_env()

    assert resolved == {"MISSING": "", "THERE": "secret123"}
    assert len(caplog.records) == 1
    assert "UNDEFINED_VAR" in caplog.text
    assert "env.MISSING" in caplog.text
    assert "secret123" not in caplog.text


def test_a_variable_that_is_set_to_nothing_is_empty_without_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NOTHING", "")

    resolved = MCPServerConfig(name="test", command="cmd", env={"A": "${NOTHING}"}).resolve_env()

    assert resolved == {"A": ""}
    assert caplog.records == []


def test_what_is_resolved_is_no_part_of_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_TOKEN", "secret123")
    config = MCPServerConfig(name="test", command="cmd", env={"TOKEN": "${TEST_TOKEN}"})

    config.resolve_env()

    assert config.env == {"TOKEN": "${TEST_TOKEN}"}
    assert "secret123" not in repr(config)


def test_a_configuration_may_be_empty() -> None:
    nothing: list[dict[str, Any]] = [{}, {"servers": {}}, {"servers": None}]
    for data in nothing:
        config = MCPConfig.from_dict(data)

        assert (config.servers, config.default_timeout, config.max_retries) == ({}, 30, 3)


@pytest.mark.parametrize(
    "data", [None, [], {"servers": []}, {"servers": "a"}, {"servers": {"a": None}}]
)
def test_what_is_no_mapping_is_refused_in_words(data: Any) -> None:
    with pytest.raises(ValidationError, match="valid dictionary"):
        MCPConfig.from_dict(data)


@pytest.mark.parametrize("name", ["a/b", "", "a b", "a__b", "-a", "é", "a" * 65, "a\n"])
def test_a_name_that_the_gateway_does_not_take_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="is no server name"):
        MCPConfig.from_dict({"servers": {"good": {"command": "a"}, name: {"command": "b"}}})
    with pytest.raises(ValidationError, match="is no server name"):
        MCPConfig(servers={name: MCPServerConfig(name="good", command="a")})


def test_what_is_refused_is_refused_without_its_values() -> None:
    secret = {"env": {"TOKEN": "secret123"}}
    for servers in ({"a/b": {"command": "a", **secret}}, {"a": secret}):
        with pytest.raises(ValidationError) as refused:
            MCPConfig.from_dict({"servers": servers})
        assert "secret123" not in str(refused.value)


def test_names_with_hyphens_dots_and_underscores_are_taken() -> None:
    names = ["brave-search", "node.js", "my_server", "7zip", "a" * 64]

    config = MCPConfig.from_dict({"servers": {name: {"command": "a"} for name in names}})

    assert list(config.servers) == names


def test_the_key_of_a_server_is_its_name_whatever_the_entry_says() -> None:
    config = MCPConfig.from_dict({"servers": {"github": {"name": "other", "command": "uvx"}}})

    assert config.servers["github"].name == "github"


@pytest.mark.parametrize("field", [{"default_timeout": 0}, {"default_timeout": 601}])
def test_a_time_limit_has_bounds(field: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        MCPConfig.from_dict(field)


def test_the_default_servers_are_those_of_the_design_document() -> None:
    commands = {name: (entry.command, entry.args[0]) for name, entry in DEFAULT_MCP_SERVERS.items()}
    env = {name: entry.env for name, entry in DEFAULT_MCP_SERVERS.items()}

    assert commands == {
        "github": ("uvx", "mcp-server-github"),
        "brave": ("uvx", "mcp-server-brave-search"),
        "filesystem": ("uvx", "mcp-server-filesystem"),
    }
    assert env == {
        "github": {"GITHUB_TOKEN": "${GITHUB_TOKEN}"},
        "brave": {"BRAVE_API_KEY": "${BRAVE_API_KEY}"},
        "filesystem": {},
    }


def test_what_is_changed_in_the_defaults_changes_nothing_for_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    mine = get_default_mcp_config()
    mine.servers["github"].enabled = False
    mine.servers["github"].env["GITHUB_TOKEN"] = "mine"
    mine.servers["filesystem"].args.append("/")
    del mine.servers["brave"]

    fresh = get_default_mcp_config()

    assert fresh.servers == DEFAULT_MCP_SERVERS
    assert list(fresh.servers) == ["github", "brave", "filesystem"]
    assert fresh.servers["github"].enabled
    assert fresh.servers["github"].env == {"GITHUB_TOKEN": "${GITHUB_TOKEN}"}
    assert "/" not in fresh.servers["filesystem"].args


def test_the_folder_of_the_file_server_is_private_and_not_a_shared_temporary_one(
    tmp_path: Path,
) -> None:
    code = (
        "from remit.library.config import get_default_mcp_config as get;"
        "print(*get().servers['filesystem'].args)"
    )
    environ = {**environment({"HOME": str(tmp_path)}), "XDG_DATA_HOME": ""}

    said = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    ).stdout.strip()

    *words, last = said.split(" ")  # S1.5, R30
    assert words == ["mcp-server-filesystem", "--allowed-directories"]
    folder = Path(last)
    assert folder.is_relative_to(tmp_path)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_defaults_can_be_had_where_no_folder_can_be_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))

    config = get_default_mcp_config()

    assert len(config.servers) == 3
    assert "no private folder" in caplog.text
