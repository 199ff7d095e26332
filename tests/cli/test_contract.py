"""The fixed contract of the command line, product.md: every command with every option it names."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from remit.cli.main import Commands

NAMED: Mapping[str, str] = {
    "demo": "--once --port",
    "init": "--from",
    "serve": "--config --host --port --workers",
    "stdio": "--as --config",
    "check": "--config --connect",
    "tools": "--as --json",
    "call": "--as TOOL --args",
    "explain": "--as TOOL --args --json",
    "who-can": "TOOL --json",
    "test": "FILE",
    "apply": "FILE --dry-run",
    "revisions": "",
    "rollback": "N",
    "export": "",
    "keys create": "NAME --role --user-role --service --query --agent --admin --expires --json",
    "keys list": "",
    "keys rotate": "NAME --overlap",
    "keys revoke": "NAME",
    "token issue": "--sub --role --user-role --group --tenant --expires",
    "audit tail": "",
    "audit search": "--principal --server --tool --decision --outcome --code --role --since --until"
    " --text --limit",
    "audit export": "",
    "audit verify": "",
    "agents create": "ID --type --role --epic",
    "agents list": "",
    "tenants create": "NAME",
    "tenants list": "",
    "users disable": "NAME",
    "inbox": "",
    "doctor": "",
}
"""Every command of the table, and what stands beside it there or under its details."""

WITHOUT: Mapping[str, set[str]] = {
    "--config": {"demo"},  # it brings its own
    "--tenant": {
        *("demo", "init", "serve", "serve-worker"),  # all tenants, or none yet
        *("tenants create", "tenants list", "events list", "events retry"),  # the installation
    },
    "--json": {"demo", "serve", "serve-worker", "stdio"},  # these print no answer
    "--url": {
        *("demo", "init", "serve", "serve-worker", "stdio"),  # these are or begin a gateway
        "check",  # about a file
        *("token issue", "agents crashed", "audit prune"),  # only beside the gateway's own folder
        *("events list", "events retry"),
    },
}
"""Where an option that stands beside everything else would mean nothing."""


def _commands(command: Any, name: str) -> Iterator[tuple[str, set[str]]]:
    """Give each command that does something, with its options and the names of its arguments."""
    below: Mapping[str, Any] | None = getattr(command, "commands", None)
    if below is None or command.invoke_without_command:
        given = {
            word
            for parameter in command.params
            for word in (
                parameter.opts
                if parameter.param_type_name == "option"
                else [str(parameter.metavar or parameter.name).strip("[].").upper()]
            )
        }
        yield name, given
    for each, part in (below or {}).items():
        yield from _commands(part, f"{name} {each}")


@pytest.fixture(scope="module")
def commands() -> dict[str, set[str]]:
    return dict(pair for entry in Commands.table for pair in _commands(entry.load(), entry.name))


@pytest.mark.parametrize("name", NAMED)
def test_a_command_of_the_contract_has_the_options_of_the_contract(
    commands: dict[str, set[str]], name: str
) -> None:
    assert set(NAMED[name].split()) <= commands[name]


@pytest.mark.parametrize("option", WITHOUT)
def test_an_option_of_every_command_is_missing_only_where_it_means_nothing(
    commands: dict[str, set[str]], option: str
) -> None:
    assert {name for name, given in commands.items() if option not in given} == WITHOUT[option]


def test_a_gateway_is_never_asked_without_a_way_to_name_the_key(
    commands: dict[str, set[str]],
) -> None:
    asking = {name for name, given in commands.items() if "--url" in given}

    assert asking == {name for name, given in commands.items() if "--key" in given}
