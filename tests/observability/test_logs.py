"""The log: whose request a line belongs to, and in which form it is (issue 4)."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from tests.observability.worlds import document

from remit.calls.current import add_current, begin, note_trace
from remit.client.transport import TRUSTS_NOBODY
from remit.model.principals import Principal, PrincipalKind
from remit.testing.gateway import Caller, environment, run_remit, start_gateway

ANN = Principal(kind=PrincipalKind.USER, name="ann", tenant="acme")


def line(**given: Any) -> dict[str, Any]:
    return dict(add_current(None, "info", {"event": "e", **given}))


async def test_a_line_belongs_to_the_request_that_is_served() -> None:
    current = begin("c1", ANN)
    note_trace("ab" * 16)

    assert line() == {
        "event": "e",
        "call_id": "c1",
        "tenant": "acme",
        "principal": "user:ann",
        "trace_id": "ab" * 16,
    }
    assert line(tenant="default")["tenant"] == "default"
    current.is_over = True
    assert line() == {"event": "e"}


async def test_what_goes_on_after_a_request_is_not_its(anyio_backend: str) -> None:
    del anyio_backend
    lines: list[dict[str, Any]] = []
    over = anyio.Event()

    async def connection() -> None:
        lines.append(line())
        await over.wait()
        lines.append(line())

    async with anyio.create_task_group() as tasks:
        current = begin("c1", ANN)
        tasks.start_soon(connection)
        await anyio.wait_all_tasks_blocked()
        current.is_over = True
        begin("c2", ANN)
        over.set()

    assert [told.get("call_id") for told in lines] == ["c1", None]


def test_nothing_is_said_of_a_request_outside_of_one() -> None:
    assert line() == {"event": "e"}


@pytest.mark.parametrize("form", ["json", "text", ""])
async def test_a_gateway_tells_of_each_call_at_level_info(tmp_path: Path, form: str) -> None:
    config = tmp_path / "remit.yaml"
    config.write_text(json.dumps(document(tmp_path)))
    environ = {"REMIT_LOG_LEVEL": "INFO", "REMIT_LOG_FORMAT": form}
    running = await anyio.to_thread.run_sync(start_gateway, tmp_path, config, environ)
    try:
        key = await anyio.to_thread.run_sync(running.key, "developer")
        async with httpx2.AsyncClient(verify=TRUSTS_NOBODY) as http:
            caller = Caller(http, running.url, key)
            await caller.until_listed({"tools__work"})
            await caller.call("tools__work", {"text": "s3cr3t-argument"})
            await caller.call("tools__rest")
    finally:
        await anyio.to_thread.run_sync(running.stop)

    text = running.log.read_text()
    assert "s3cr3t-argument" not in text
    assert key not in text
    if form == "text":
        assert "call ended" in text
        assert "tool=work" in text
        return
    told = [json.loads(one) for one in text.splitlines() if one.startswith("{")]
    by_event = {one["event"]: one for one in told}
    ended, denied = by_event["call ended"], by_event["call denied"]
    assert (ended["tool"], ended["outcome"], ended["level"]) == ("work", "ok", "info")
    assert (denied["tool"], denied["layer"], denied["code"]) == (
        "rest",
        "ceiling",
        "PERMISSION_DENIED",
    )
    for one in (ended, denied):
        assert (one["tenant"], one["principal"]) == ("default", "key:developer-key")
        assert one["call_id"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a pipe with a name stands for the log")
async def test_calls_are_answered_and_a_stop_is_clean_when_nobody_reads_the_log(
    tmp_path: Path,
) -> None:
    config = tmp_path / "remit.yaml"
    config.write_text(json.dumps(document(tmp_path)))
    log = tmp_path / "gateway.log"
    os.mkfifo(log)
    reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    environ = {"REMIT_LOG_LEVEL": "INFO"}
    running = await anyio.to_thread.run_sync(start_gateway, tmp_path, config, environ)
    try:
        key = await anyio.to_thread.run_sync(running.key, "developer")
        async with httpx2.AsyncClient(verify=TRUSTS_NOBODY) as http:
            caller = Caller(http, running.url, key)
            await caller.until_listed({"tools__work"})
            os.close(reader)
            replies = [await caller.call("tools__work", {"text": "t"}) for _ in range(3)]
    finally:
        await anyio.to_thread.run_sync(running.stop)

    assert all("error" not in reply and not reply["result"].get("isError") for reply in replies)
    assert running.process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="it stands for a full disk")
@pytest.mark.parametrize(
    "told",
    [
        "from remit.cli.lines import say; say('told', err=True)",
        """import logging, structlog; from remit.cli.logs import set_up_logging
set_up_logging(logging.INFO); structlog.get_logger().info('told')""",
    ],
)
def test_what_does_not_fit_on_the_disk_is_lost_and_nothing_else(told: str) -> None:
    script = f"{told}; print('goes on')"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=full,
            text=True,
            check=False,
            timeout=60,
        )

    assert done.stdout == "goes on\n"


LOGGING = """
import logging, structlog
from remit.cli.logs import set_up_logging
set_up_logging(logging.ERROR)
structlog.get_logger().info("told")
"""


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({}, False),
        ({"MCP_LOG_LEVEL": "INFO"}, True),
        ({"MCP_LOG_LEVEL": "info", "REMIT_LOG_LEVEL": "WARNING"}, False),
        ({"MCP_LOG_LEVEL": "chatty"}, False),
    ],
)
def test_the_level_is_what_the_environment_says(environ: dict[str, str], told: bool) -> None:
    # S0.14
    done = subprocess.run(
        [sys.executable, "-c", LOGGING],
        env=environment(environ),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert (done.stdout, '"event": "told"' in done.stderr) == ("", told)


@pytest.mark.parametrize(
    ("environ", "warned"),
    [
        ({"REMIT_LOG_LEVEL": "chatty"}, "REMIT_LOG_LEVEL is none of DEBUG, INFO, WARNING or ERROR"),
        ({"REMIT_LOG_FORMAT": "yaml"}, "REMIT_LOG_FORMAT is none of json or text"),
        ({"REMIT_LOG_LEVEL": "debug", "REMIT_LOG_FORMAT": "json", "MCP_LOG_LEVEL": "chatty"}, ""),
    ],
)
def test_a_value_that_means_nothing_is_told_in_one_line(
    tmp_path: Path, environ: dict[str, str], warned: str
) -> None:
    listed = run_remit("keys", "list", "--json", folder=tmp_path, environ=environ)

    told = [line for line in listed.stderr.splitlines() if line.startswith("warning: ")]
    assert told == ([f"warning: {warned}: it counts as not set"] if warned else [])


def test_what_commands_print_is_no_log(tmp_path: Path) -> None:
    config = tmp_path / "remit.yaml"
    config.write_text(json.dumps(document(tmp_path)))

    done = run_remit("keys", "list", "--json", folder=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == []


async def test_what_libraries_log_has_the_form_of_the_log(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.sdk.trace", reason="needs remit[otel]")
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs remit[otel]")
    config = tmp_path / "remit.yaml"
    config.write_text(json.dumps(document(tmp_path)))
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "REMIT_LOG_FORMAT": "json"}
    running = await anyio.to_thread.run_sync(start_gateway, tmp_path, config, environ)
    try:
        key = await anyio.to_thread.run_sync(running.key, "developer")
        async with httpx2.AsyncClient(verify=TRUSTS_NOBODY) as http:
            caller = Caller(http, running.url, key)
            await caller.until_listed({"tools__work"})
            await caller.call("tools__work")
    finally:
        await anyio.to_thread.run_sync(running.stop)

    lines = [one for one in running.log.read_text().splitlines() if "span" in one]
    told = [json.loads(one) for one in lines]
    assert told
    assert {one["event"] for one in told} == {"a library says"}
    assert all(one["library"].startswith("opentelemetry") for one in told)
