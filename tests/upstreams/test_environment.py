"""What `${NAME}` means, and what a child gets: R20, R21, S1.2, S4.8 and case T18."""

import re
import sys
from pathlib import Path
from subprocess import run

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.model.servers import ServerConfig, Transport
from remit.upstreams.environment import (
    BadReference,
    ForbiddenVariable,
    MissingVariable,
    UnusableValue,
    expand,
    missing,
    references,
    resolve,
)

ENVIRON = {
    "SET": "value",
    "EMPTY": "",
    "HOME": "/home/ada",
    "TRICKY": "a${OTHER}b}c",
    "REMIT_MASTER_KEY": "k",
}
TABLE = Path(__file__).parents[2] / "docs" / "environment.md"
ROW = re.compile(r"\| `(?P<written>[^`]+)` \| (?:`(?P<becomes>[^`]*)`|\*(?P<refusal>.+?)\*) \|")
ROWS = [match.groups() for match in map(ROW.match, TABLE.read_text().splitlines()) if match]


def test_the_table_is_there_to_be_tested() -> None:
    assert len(ROWS) == 32


@pytest.mark.parametrize(("written", "becomes", "refusal"), ROWS)
def test_every_row_of_the_written_table_holds(
    written: str, becomes: str | None, refusal: str | None
) -> None:
    if refusal is None:
        assert expand(written, ENVIRON) == becomes
        return
    with pytest.raises(MissingVariable) as caught:
        expand(written, ENVIRON)
    is_error = isinstance(caught.value, ForbiddenVariable | BadReference)
    assert is_error == (refusal == "an error")


@pytest.mark.parametrize("field", ["command", "args", "env", "cwd", "url", "headers"])
def test_every_field_of_an_entry_is_expanded(field: str) -> None:
    # T18: headers are treated like env.
    values = {"command": "c", "args": ("${SET}/a",), "env": {"N": "${SET}/a"}}
    values |= {"headers": {"N": "${SET}/a"}, "cwd": "${SET}/a", "url": "${SET}/a"}
    values["command"] = "${SET}/a"
    config = ServerConfig(name="s", **{field: values[field]})  # pyright: ignore[reportArgumentType]  # one field at a time

    found = getattr(resolve(config, ENVIRON), field)

    texts = [found] if isinstance(found, str) else [*getattr(found, "values", lambda: found)()]
    assert "value/a" in texts


def test_a_missing_variable_is_named_with_server_and_field_and_without_any_value() -> None:
    config = ServerConfig(
        name="tickets",
        transport=Transport.HTTP,
        url="https://x.test/${SET}",
        headers={"Authorization": "Bearer ${TICKETS_TOKEN}"},
    )

    with pytest.raises(MissingVariable) as caught:
        resolve(config, ENVIRON)

    text = str(caught.value)
    assert all(part in text for part in ("tickets", "headers.Authorization", "TICKETS_TOKEN"))
    assert "value" not in text
    error = caught.value
    assert (error.name, error.server, error.field) == (
        "TICKETS_TOKEN",
        "tickets",
        "headers.Authorization",
    )


def test_all_that_is_missing_is_found_at_once() -> None:
    config = ServerConfig(
        name="s", command="${A}", args=("x", "${B}"), headers_from_env={"X-K": "C"}
    )

    assert [(error.field, error.name) for error in missing(config, {})] == [
        ("command", "A"),
        ("args[1]", "B"),
        ("headers_from_env.X-K", "C"),
    ]


def test_a_reload_picks_up_what_changed() -> None:
    # T18: nothing is remembered between two starts.
    config = ServerConfig(name="s", command="c", env={"TOKEN": "${T}"})

    assert resolve(config, {"T": "old"}).env["TOKEN"] == "old"
    assert resolve(config, {"T": "new"}).env["TOKEN"] == "new"


def test_a_child_gets_the_minimal_environment_and_its_own_and_no_secret_of_the_gateway() -> None:
    # T18, R21: the child prints what it has.
    config = ServerConfig(
        name="s",
        command=sys.executable,
        args=("-c", "import os; print('\\n'.join(sorted(os.environ)))"),
        env={"OWN": "${SECRET_OF_SERVER}"},
        env_passthrough=("ALSO", "NOT_SET"),
    )
    resolved = resolve(
        config,
        {
            "PATH": "/usr/bin",
            "HOME": "/home/ada",
            "LC_ALL": "C.UTF-8",
            "SECRET_OF_SERVER": "s",
            "ALSO": "passed on",
            "AWS_SECRET_ACCESS_KEY": "another's",
            "REMIT_MASTER_KEY": "k",
            "REMIT_DATABASE_URL": "d",
        },
    )

    done = run(
        [resolved.command, *resolved.args],
        env=dict(resolved.env),
        check=True,
        capture_output=True,
        text=True,
        timeout=30,
    )

    names = set(done.stdout.split()) - {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"}
    assert names == {"ALSO", "HOME", "LC_ALL", "OWN", "PATH"}


def test_a_server_may_inherit_everything_but_the_gateways_own() -> None:
    config = ServerConfig(name="s", command="c", env_inherit="all")
    environ = {"ANY": "1", "remit_shared_url": "u", "REMIT_SHARED_URL": "u"}

    assert resolve(config, environ).env == {"ANY": "1"}


def test_what_opens_the_collector_is_inherited_by_no_server_and_passed_on_when_named() -> None:
    name = "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
    environ = {name: "authorization=s3cr3t", "OTEL_SERVICE_NAME": "ops"}
    everything = ServerConfig(name="s", command="c", env_inherit="all")
    named = ServerConfig(name="s", command="c", env_passthrough=(name,))

    assert resolve(everything, environ).env == {"OTEL_SERVICE_NAME": "ops"}
    assert resolve(named, environ).env == {name: "authorization=s3cr3t"}


def test_an_entrys_own_variables_win_over_what_is_passed_on_and_inherited() -> None:
    config = ServerConfig(
        name="s", command="c", env={"PATH": "/own"}, env_passthrough=("PATH", "EXTRA")
    )

    environ = {"PATH": "/gateway", "EXTRA": "e"}

    assert resolve(config, environ).env == {"PATH": "/own", "EXTRA": "e"}


def test_a_function_that_a_shell_exported_is_not_handed_down() -> None:
    config = ServerConfig(name="s", command="c")

    assert resolve(config, {"TERM": "() { :; }; echo", "LANG": "C"}).env == {"LANG": "C"}


@pytest.mark.parametrize(
    "config",
    [
        ServerConfig(name="s", env={"A": "${REMIT_MASTER_KEY}"}),
        ServerConfig(name="s", args=("x${UNSET:-${REMIT_DATABASE_URL}}",)),
        ServerConfig(name="s", env_passthrough=("REMIT_SHARED_URL",)),
        ServerConfig(name="s", headers_from_env={"X": "REMIT_MASTER_KEY"}),
        ServerConfig(name="s", bearer_token_env_var="REMIT_ANYTHING"),
    ],
)
def test_no_way_leads_a_secret_of_the_gateway_to_a_server(config: ServerConfig) -> None:
    environ = {"REMIT_MASTER_KEY": "k-1", "REMIT_DATABASE_URL": "d-1", "REMIT_SHARED_URL": "u-1"}

    with pytest.raises(ForbiddenVariable, match="belongs to remit itself"):
        resolve(config, environ)


def test_static_headers_win_over_variables_and_those_over_the_bearer_whatever_the_case() -> None:
    # S4.8
    config = ServerConfig(
        name="s",
        transport=Transport.HTTP,
        headers={"X-One": "static", "x-team": "core"},
        headers_from_env={"x-one": "V", "AUTHORIZATION": "V"},
        bearer_token_env_var="T",
    )

    headers = resolve(config, {"V": "from-env", "T": "bearer"}).headers

    assert headers == {"X-One": "static", "x-team": "core", "AUTHORIZATION": "from-env"}


def test_a_bearer_variable_makes_an_authorization_header_if_it_is_set() -> None:
    # S4.8
    config = ServerConfig(name="s", transport=Transport.HTTP, bearer_token_env_var="T")

    assert resolve(config, {"T": " abc\n"}).headers == {"Authorization": "Bearer abc"}
    assert resolve(config, {"T": ""}).headers == {}
    assert resolve(config, {}).headers == {}


@pytest.mark.parametrize(
    ("config", "sent"),
    [
        (ServerConfig(name="s", bearer_token_env_var="T"), "Bearer abc"),
        (ServerConfig(name="s", headers={"authorization": "Bearer ${T}"}), "Bearer abc"),
        (ServerConfig(name="s", headers_from_env={"Authorization": "T"}), "bearer abc"),
    ],
)
def test_a_doubled_bearer_is_collapsed(config: ServerConfig, sent: str) -> None:
    # S4.8: the variable often holds the word already; a single one is left as it was written.
    headers = resolve(config, {"T": "bearer abc"}).headers

    assert list(headers.values()) == [sent]


def test_a_value_that_would_break_out_of_its_header_disables_the_server() -> None:
    config = ServerConfig(name="s", headers={"X-Team": "${T}"})

    with pytest.raises(UnusableValue) as caught:
        resolve(config, {"T": "sentinel\r\nX-Admin: yes"})

    assert "X-Team" in str(caught.value)
    assert "sentinel" not in str(caught.value)


def test_nothing_that_was_filled_in_shows_when_it_is_printed() -> None:
    config = ServerConfig(
        name="s",
        command="${T}",
        args=("${T}",),
        env={"A": "${T}"},
        cwd="${T}",
        url="${T}",
        headers={"A": "${T}"},
    )

    assert repr(resolve(config, {"T": "sentinel"})) == "ResolvedServer(name='s')"


def test_defaults_nested_without_end_are_refused_instead_of_followed() -> None:
    endless = "${A:-" * 5000 + "x" + "}" * 5000

    with pytest.raises(BadReference):
        references(endless)
    with pytest.raises(BadReference):
        expand(endless, {})


def test_every_name_that_a_text_may_ask_for_is_known_beforehand() -> None:
    assert references("${A}-${B:-${C-x${env:D}}}-$E-$${F}") == {"A", "B", "C", "D"}


@given(st.text(alphabet="ab${}:-\\%A_ \n"))
def test_a_text_expands_or_is_refused_and_never_fails_otherwise(text: str) -> None:
    try:
        names = references(text)
        expanded = expand(text, dict.fromkeys(names, ""))
    except BadReference:
        return
    assert "${" in text or expanded == text


@given(st.text())
def test_a_value_arrives_untouched(value: str) -> None:
    assert expand("<${A}>", {"A": value}) == f"<{value}>"
