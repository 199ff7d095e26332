"""`remit call`, beside a gateway's files and with `--url`: the same is said of the same failure."""

import json
import re
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
import typer.testing
from typer.testing import Result

from remit.cli.main import app
from remit.cli.remote import KEY_VARIABLE
from remit.testing.gateway import Running, fixture_entry, start_gateway

TOOLS = [
    {"name": "silent", "x-fixture": {"silent": True}},
    {"name": "failing", "x-fixture": {"error": {"code": -32050, "message": "no such flight"}}},
]

Calls = Callable[..., Result]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    folder = tmp_path_factory.mktemp("call")
    config = folder / "remit.yaml"
    servers = {
        "tools": fixture_entry(TOOLS, folder / "ran", timeout=1),
        "doomed": fixture_entry([{"name": "die", "x-fixture": {"exit": 3}}], folder / "doomed"),
        "missing": {"command": "no-such-program-anywhere"},
    }
    granted = {"tools": ["silent", "failing"], "doomed": ["die"], "missing": ["gone"]}
    roles = {"dev": {"tools": granted}}
    config.write_text(json.dumps({"mcp_servers": servers, "roles": roles}))
    running = start_gateway(folder, config).settle()
    yield running
    running.stop()


@pytest.fixture(params=["beside it", "over HTTP"])
def call(request: pytest.FixtureRequest, gateway: Running) -> Calls:
    runner = typer.testing.CliRunner()
    if request.param == "beside it":
        where, environ = ("--as", "role:dev", "--config", str(gateway.config)), {}
    else:
        where = ("--as", "key:dev-key", "--url", gateway.base)
        environ = {KEY_VARIABLE: gateway.key("dev")}
    return lambda *words: runner.invoke(app, ["call", *where, *words], env=environ)


@pytest.mark.parametrize(
    ("tool", "code", "why"),
    [
        ("doomed/die", "UPSTREAM_UNAVAILABLE", "exited with code 3"),
        ("tools/silent", "UPSTREAM_TIMEOUT", "did not answer within 1 seconds"),
    ],
)
def test_of_a_call_that_went_out_and_got_no_answer_the_outcome_is_said_to_be_unknown(
    call: Calls, tool: str, code: str, why: str
) -> None:
    # R23; product.md: UPSTREAM_TIMEOUT or UPSTREAM_UNAVAILABLE with outcome: unknown
    told = call(tool, "--json")

    assert (told.exit_code, told.stderr) == (1, "")
    result = json.loads(told.stdout)
    assert result["isError"]
    assert why in result["content"][0]["text"]
    assert result["content"][0]["text"].endswith("; whether it took effect is unknown")
    said = result["_meta"]
    assert (said["remit/code"], said["remit/outcome"]) == (code, "unknown")
    assert said["remit/requestId"]


def test_people_are_told_the_same_and_by_what_the_call_is_found(call: Calls) -> None:
    told = call("tools/silent")

    assert (told.exit_code, told.stderr) == (1, "")
    assert re.search(
        r"; whether it took effect is unknown \(request [0-9a-f-]{36}\)\n$", told.stdout
    )


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_call_that_never_went_out_is_an_error_of_status_3(
    call: Calls, form: tuple[str, ...]
) -> None:
    told = call("missing/gone", *form)

    assert (told.exit_code, told.stdout) == (3, "")
    line = told.stderr
    assert re.match("error: missing/gone is not available now: .* was not found", line)
    assert "took effect" not in line
    assert re.search(r"\(request [0-9a-f-]{36}\)\n$", line)


def test_an_error_that_the_server_answers_with_is_told_in_its_own_words(call: Calls) -> None:
    told = call("tools/failing")

    assert (told.exit_code, told.stdout) == (1, "")
    assert told.stderr.startswith("error: no such flight")


@pytest.mark.parametrize("spelling", ["one/t", "one__t", "mcp__one__t"])
def test_only_the_server_that_the_name_is_of_is_waited_for(tmp_path: Path, spelling: str) -> None:
    servers = {
        "sleeper": {"command": "sleep", "args": ["600"], "start_timeout": 600},
        "one": fixture_entry(["t"], tmp_path / "ran"),
    }
    config = tmp_path / "remit.yaml"
    roles = {"dev": {"tools": {"one": ["t"]}}}
    config.write_text(json.dumps({"mcp_servers": servers, "roles": roles}))

    words = ("call", "--as", "role:dev", "--config", str(config), spelling)
    assert typer.testing.CliRunner().invoke(app, words).exit_code == 0
