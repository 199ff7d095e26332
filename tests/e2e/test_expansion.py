"""T18: what `${NAME}` becomes at children and servers that run (R20, R21; docs/environment.md)."""

import json
import shlex
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from tests.e2e.conftest import Serve

from remit.testing.gateway import Caller, Running
from remit.testing.upstream import FixtureOptions, WebFixture, open_web_fixture, received

HOME = "/home/ada"
ENVIRON = {
    "SET": "value",
    "EMPTY": "",
    "HOME": HOME,
    "OTHER": "never to be seen",
    "TRICKY": "a${OTHER}b}c",
    "PYTHON": sys.executable,
    "AWS_SECRET_ACCESS_KEY": "another program's secret",
}
FORMS = {
    "${SET}": "value",
    "${UNSET:-d}": "d",
    "${UNSET:-${HOME}/x}": f"{HOME}/x",
    "${EMPTY:-d}": "d",
    "${EMPTY-d}": "",
    "$SET": "$SET",
    "$$SET": "$$SET",
    "${env:SET}": "value",
    "%SET%": "%SET%",
    "a${SET}b${SET}": "avaluebvalue",
    "${TRICKY}": "a${OTHER}b}c",
    r"C:\new\tmp": r"C:\new\tmp",
}
"""What is written, and what arrives; `${UNSET}` alone is tested apart."""

UNSET = {
    "in_command": {"command": "${UNSET}"},
    "in_args": {"command": "true", "args": ["x", "--key=${UNSET}"]},
    "in_env": {"command": "true", "env": {"KEY": "${SET}${UNSET}"}},
    "in_cwd": {"command": "true", "cwd": "${UNSET}"},
    "in_url": {"url": "http://127.0.0.1:1/${UNSET}", "transport": "http"},
    "in_headers": {
        "url": "http://127.0.0.1:1/",
        "transport": "http",
        "headers": {"X-Key": "${SET} ${UNSET}"},
    },
}
"""Servers that cannot be had, by the field that is at fault."""

FIELDS = {
    "in_command": "command",
    "in_args": "args[1]",
    "in_env": "env.KEY",
    "in_cwd": "cwd",
    "in_url": "url",
    "in_headers": "headers.X-Key",
}

pytestmark = pytest.mark.timeout(120)


def _child(folder: Path, forms: Mapping[str, str]) -> dict[str, Any]:
    """Return an entry whose child tells what its environment and its arguments were."""
    tools = folder / "tools.json"
    tools.write_text(json.dumps([{"name": "show", "x-fixture": {"environment": True}}]))
    fixture = (
        f"-m remit.testing.upstream --tools-file {shlex.quote(str(tools))} "
        f"--count-file {shlex.quote(str(folder / 'ran'))}"
    )
    script = f'ARGUMENTS=$(printf "%s\\n" "$@") exec "$0" {fixture}'
    return {
        "command": "${SHELL_OF_CHILD:-sh}",
        "args": ["-c", script, "${PYTHON}", *forms],
        "env": {f"FORM_{number}": form for number, form in enumerate(forms)},
        "cwd": "${UNSET:-${FOLDER}}",
    }


def _document(folder: Path, fixture: WebFixture) -> dict[str, Any]:
    forms = list(FORMS)
    remote = {
        "url": f"http://127.0.0.1:${{PORT:-{fixture.port}}}/mcp",
        "transport": "http",
        "headers": {f"X-Form-{number}": form for number, form in enumerate(forms)},
    }
    return {
        "version": "1.0",
        "mcp_servers": {"child": _child(folder, FORMS), "remote": remote, **UNSET},
        "roles": {"worker": {"allow": ["child/*", "remote/*"]}},
    }


async def _shown(caller: Caller) -> dict[str, str]:
    answer = await caller.call("child__show")
    return json.loads(answer["result"]["content"][0]["text"])


async def test_t18_environment_expansion(
    serve: Serve, tmp_path: Path, http: httpx2.AsyncClient
) -> None:
    options = FixtureOptions(tools=["echo"], count_file=str(tmp_path / "web"))
    with open_web_fixture(options) as fixture:
        environ = {**ENVIRON, "FOLDER": str(tmp_path)}
        running = serve(_document(tmp_path, fixture), **environ).settle()
        caller = Caller(http, running.url, running.key("worker"))

        child = await _shown(caller)
        await caller.call("remote__echo")

    assert [child[f"FORM_{number}"] for number in range(len(FORMS))] == list(FORMS.values())
    assert child["ARGUMENTS"].split("\n") == list(FORMS.values())
    assert child["PWD"] == str(tmp_path)
    (message,) = received(tmp_path / "web", "tools/call")
    sent = [message["headers"][f"x-form-{number}"] for number in range(len(FORMS))]
    assert sent == list(FORMS.values())
    _has_nothing_of_the_gateways(child)
    _only_those_are_left_out(running)


def _has_nothing_of_the_gateways(child: Mapping[str, str]) -> None:
    own = {name for name in child if name.startswith("FORM_")} | {"ARGUMENTS"}
    given = {name for name in child if not name.startswith("LC_")} - own
    by_the_shell = {"PWD", "OLDPWD", "SHLVL", "_"}
    minimal = {
        *("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP"),
        *("USER", "LOGNAME", "SHELL", "TERM"),
    }
    assert given <= minimal | by_the_shell
    assert child["HOME"] == HOME
    assert child["PATH"]


def _only_those_are_left_out(running: Running) -> None:
    servers = running.servers()
    assert {name for name, status in servers.items() if status["state"] == "ready"} == {
        "child",
        "remote",
    }
    for name in UNSET:
        reason = servers[name]["reason"]
        assert all(part in reason for part in (name, FIELDS[name], "UNSET"))
        assert "value" not in reason


async def test_t18_a_reload_picks_up_what_the_file_says_now_and_a_start_what_is_set_now(
    serve: Serve, tmp_path: Path, http: httpx2.AsyncClient
) -> None:
    def document(form: str) -> dict[str, Any]:
        return {
            "version": "1.0",
            "mcp_servers": {"child": _child(tmp_path, {form: ""})},
            "roles": {"worker": {"allow": ["child/*"]}},
        }

    environ = {**ENVIRON, "FOLDER": str(tmp_path)}
    running = serve(document("${SET}"), **environ).settle()
    caller = Caller(http, running.url, running.key("worker"))
    assert (await _shown(caller))["FORM_0"] == "value"

    running.config.write_text(json.dumps(document("${OTHER}")))
    running.process.send_signal(signal.SIGHUP)
    with anyio.fail_after(30):
        while True:
            answer = await caller.call("child__show")
            if ENVIRON["OTHER"] in json.dumps(answer):
                break
            await anyio.sleep(0.05)

    running.stop()
    again = serve(None, **{**environ, "OTHER": "changed"}).settle()
    assert (await _shown(Caller(http, again.url, caller.key)))["FORM_0"] == "changed"
