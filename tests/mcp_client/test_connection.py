"""A connection of a program to a child process: S1.6-S1.14, R20, R21, R30, R32."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.mcp_client.conftest import MakeEntry

from remit.errors import MCPConnectionError, MCPProtocolError, RemitError
from remit.library.config import MCPServerConfig
from remit.library.connection import MCPConnection
from remit.library.line import Line
from remit.library.log import log_through_logging
from remit.testing.fleets import PATIENCE, eventually
from remit.testing.upstream import FixtureOptions, executed, open_web_fixture, received
from remit.upstreams import warden
from remit.upstreams.background import open_background

SAYS_NOTHING = "import sys; sys.stdin.read()"


def python(code: str, **fields: Any) -> MCPServerConfig:
    return MCPServerConfig(name="own", command=sys.executable, args=["-c", code], **fields)


def answering(*lines: str) -> str:
    """Return a server that shakes hands in the older way, and then prints one line a request."""
    shaken = '{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}'
    refused = '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'
    said = [[refused], [shaken], [], *([line] for line in lines)]
    return (
        "import sys\n"
        f"for said in {said!r}:\n"
        "    sys.stdin.readline()\n"
        "    for line in said: print(line, flush=True)\n"
        "sys.stdin.read()\n"
    )


def text_of(result: dict[str, Any]) -> str:
    return result["content"][0]["text"]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_command_that_does_not_exist_is_a_clear_error() -> None:
    connection = MCPConnection(MCPServerConfig(name="test", command="no-such-command"))

    with pytest.raises(MCPConnectionError, match="'no-such-command' was not found") as caught:
        await connection.start()

    assert isinstance(caught.value, RuntimeError)
    assert isinstance(caught.value, RemitError)
    assert not connection.is_running


async def test_a_server_that_ends_at_once_tells_its_last_words() -> None:
    connection = MCPConnection(python("import sys; sys.exit('no licence found')"))

    with pytest.raises(MCPConnectionError, match="exited with code 1: no licence found"):
        await connection.start()


async def test_a_server_that_says_nothing_is_given_up_and_not_left_behind(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    code = f"import os, pathlib; pathlib.Path({str(noted)!r}).write_text(str(os.getpid()));"
    connection = MCPConnection(python(code + SAYS_NOTHING), timeout=1)

    with pytest.raises(MCPConnectionError, match="did not answer within 1 seconds"):
        await connection.start()

    await eventually(lambda: not is_alive(int(noted.read_text())))


async def test_a_start_that_is_cancelled_leaves_no_process_behind(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    code = f"import os, pathlib; pathlib.Path({str(noted)!r}).write_text(str(os.getpid()));"
    connection = MCPConnection(python(code + SAYS_NOTHING))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.start)
        await eventually(lambda: noted.exists() and noted.read_text())
        tasks.cancel_scope.cancel()

    assert not is_alive(int(noted.read_text()))
    assert not connection.is_running


async def test_a_stop_ends_a_start_that_is_under_way(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    code = f"import os, pathlib; pathlib.Path({str(noted)!r}).write_text(str(os.getpid()));"
    connection = MCPConnection(python(code + SAYS_NOTHING))

    async def start() -> None:
        with pytest.raises(MCPConnectionError, match="was stopped"):
            await connection.start()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(start)
            await eventually(noted.exists)
            await connection.stop()


async def test_a_second_start_starts_nothing(entry: MakeEntry) -> None:
    connection = MCPConnection(entry())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.start)
        tasks.start_soon(connection.start)
    pid = connection.pid
    await connection.start()

    assert connection.pid == pid is not None
    await connection.stop()


async def test_a_server_that_ignores_being_asked_is_made_to_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert warden.GRACE == 5  # seconds, S1.8
    monkeypatch.setattr("remit.upstreams.warden.GRACE", 0.2)
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    endless = "\nwhile True: signal.pause()\n"
    connection = MCPConnection(python(deaf + answering() + endless))
    await connection.start()
    pid = connection.pid

    await connection.stop()

    assert pid is not None
    assert not is_alive(pid)


async def test_a_stop_that_asyncio_cancels_still_ends_the_server(entry: MakeEntry) -> None:
    connection = MCPConnection(entry())
    await connection.start()
    pid = connection.pid

    stopping = asyncio.ensure_future(connection.stop())
    await anyio.lowlevel.checkpoint()
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping

    assert pid is not None
    assert not is_alive(pid)
    assert not connection.is_running


async def test_a_connection_that_is_not_started_answers_nothing(entry: MakeEntry) -> None:
    connection = MCPConnection(entry())

    with pytest.raises(MCPConnectionError, match="is not connected"):
        await connection.call_tool("search", {})
    await connection.start()
    await connection.stop()
    with pytest.raises(MCPConnectionError, match="is not connected"):
        await connection.list_tools()


async def test_a_connection_can_be_started_again(entry: MakeEntry, ran: Path) -> None:
    connection = MCPConnection(entry())

    for _ in range(2):
        await connection.start()
        await connection.call_tool("search", {})
        await connection.stop()

    assert len({call.pid for call in executed(ran)}) == 2


async def test_the_handshake_comes_before_everything_else(entry: MakeEntry, ran: Path) -> None:
    connection = MCPConnection(entry(options=("--era", "legacy")))

    await connection.start()
    await connection.list_tools()
    await connection.stop()

    log = [json.loads(line) for line in Path(f"{ran}.log").read_text().splitlines()]
    methods = [message["method"] for message in log]
    assert methods[-3:] == ["initialize", "notifications/initialized", "tools/list"]
    assert connection.protocol == ""


async def test_a_server_that_ends_at_an_unknown_first_message_is_shaken_hands_with(
    entry: MakeEntry,
) -> None:
    connection = MCPConnection(entry(options=("--touchy",)))

    await connection.start()

    assert connection.protocol == "2025-11-25"
    await connection.stop()


async def test_a_list_of_several_pages_is_read_whole(entry: MakeEntry) -> None:
    tools = [f"tool{number}" for number in range(7)]
    connection = MCPConnection(entry(tools=tools, options=("--page-size", "2")))
    await connection.start()

    listed = await connection.list_tools()

    assert [tool["name"] for tool in listed] == tools
    await connection.stop()


async def test_answers_are_matched_by_id_and_not_by_order(entry: MakeEntry) -> None:
    """S1.11, R32."""
    slow = {"name": "slow", "x-fixture": {"delay": 0.3}}
    connection = MCPConnection(entry(tools=[slow, "quick"]))
    await connection.start()
    ended: list[str] = []
    answers: dict[str, str] = {}

    async def call(name: str, number: int) -> None:
        answers[f"{name}{number}"] = text_of(await connection.call_tool(name, {"n": number}))
        ended.append(name)

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(call, "quick" if number else "slow", number)

    assert ended[0] == "quick"  # though the slow one was asked first
    assert answers["slow0"] == 'slow {"n": 0}'
    assert all(answers[f"quick{n}"] == f'quick {{"n": {n}}}' for n in range(1, 20))
    await connection.stop()


async def test_notifications_and_noise_between_answers_disturb_nothing() -> None:
    noise = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}'
    stranger = '{"jsonrpc":"2.0","id":99,"result":{"tools":[{"name":"wrong"}]}}'
    right = '{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"right"},3]}}'
    code = answering(f"{noise}\n\nnot json\n{stranger}\n{right}")
    connection = MCPConnection(python(code))
    await connection.start()

    assert await connection.list_tools() == [{"name": "right"}]
    await connection.stop()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ('{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Unknown tool"}}', "-32602"),
        ('{"jsonrpc":"2.0","id":3,"result":{"a":}}', "cannot be read"),
        ('{"jsonrpc":"2.0","id":3,"result":7}', "neither a result"),
        ('{"jsonrpc":"2.0","id":3,"result":{"a":NaN}}', "cannot be read"),
    ],
    ids=["error object", "bad JSON", "no object", "not a number"],
)
async def test_an_answer_that_is_no_result_is_a_protocol_error(answer: str, said: str) -> None:
    connection = MCPConnection(python(answering(answer)))
    await connection.start()

    with pytest.raises(MCPProtocolError, match=said) as caught:
        await connection.call_tool("search", {})

    # R23: an error is an answer; what is none says nothing of whether the tool ran
    assert caught.value.is_outcome_unknown == ('"error"' not in answer)
    assert isinstance(caught.value, RemitError)
    await connection.stop()


async def test_the_error_object_of_a_server_is_kept(entry: MakeEntry) -> None:
    error = {"code": -32000, "message": "quota", "data": {"left": 0}}
    connection = MCPConnection(entry(tools=[{"name": "search", "x-fixture": {"error": error}}]))
    await connection.start()

    with pytest.raises(MCPProtocolError, match="quota") as caught:
        await connection.call_tool("search", {})

    assert caught.value.rpc_error == error
    await connection.stop()


async def test_a_server_that_does_not_answer_in_time_is_a_protocol_error(
    entry: MakeEntry, ran: Path
) -> None:
    # S1.13
    silent = {"name": "search", "x-fixture": {"silent": True}}
    connection = MCPConnection(entry(tools=[silent, "other"]), timeout=1)
    await connection.start()

    with pytest.raises(MCPProtocolError, match="did not answer a call of 'search'") as caught:
        await connection.call_tool("search", {})

    assert caught.value.is_outcome_unknown
    assert text_of(await connection.call_tool("other", {})) == "other {}"
    await eventually(lambda: received(ran, "notifications/cancelled"))
    await connection.stop()


async def test_a_server_that_ends_in_the_middle_of_a_call_fails_it_and_all_that_follow(
    entry: MakeEntry,
) -> None:
    reasons: list[str] = []

    def note(_: Line, reason: str) -> None:
        reasons.append(reason)

    leaving = {"name": "search", "x-fixture": {"exit": 3}}
    async with open_background() as tasks:
        connection = Line(entry(tools=[leaving]), on_end=note)
        await connection.start(tasks)

        with pytest.raises(MCPProtocolError, match="exited with code 3") as caught:
            await connection.call_tool("search", {})
        await eventually(lambda: reasons)
        with pytest.raises(MCPProtocolError, match="exited with code 3: leaving in the middle"):
            await connection.call_tool("search", {})

        assert caught.value.is_outcome_unknown
        assert not connection.is_running
        assert "exited with code 3" in connection.ended
        await connection.start(tasks)
        assert connection.is_running
        await connection.stop()


async def environment_of(connection: MCPConnection) -> dict[str, str]:
    await connection.start()
    try:
        return json.loads(text_of(await connection.call_tool("look", {})))
    finally:
        await connection.stop()


LOOK: dict[str, Any] = {"name": "look", "x-fixture": {"environment": True}}


async def test_a_child_has_our_environment_but_not_the_secrets_of_remit(
    entry: MakeEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_PROGRAM", "1")
    monkeypatch.setenv("REMIT_MASTER_KEY", "master")

    seen = await environment_of(MCPConnection(entry(tools=[LOOK])))

    assert seen["OF_THE_PROGRAM"] == "1"
    assert "REMIT_MASTER_KEY" not in seen


async def test_a_child_may_be_kept_from_our_environment(
    entry: MakeEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_PROGRAM", "1")
    monkeypatch.setenv("WANTED", "2")
    config = entry(tools=[LOOK], env_inherit="minimal", env_passthrough=["WANTED"])

    seen = await environment_of(MCPConnection(config))

    assert "OF_THE_PROGRAM" not in seen
    assert seen["WANTED"] == "2"
    assert seen["PATH"] == os.environ["PATH"]


async def test_arguments_are_literal_and_meet_no_shell(tmp_path: Path) -> None:
    told = tmp_path / "told"
    code = f"import sys, pathlib; pathlib.Path({str(told)!r}).write_text(sys.argv[1]);"
    config = python(code + "sys.exit(1)")
    config.args.append("${HOME} $(id) ; `id`")

    with pytest.raises(MCPConnectionError):
        await MCPConnection(config).start()

    assert told.read_text() == "${HOME} $(id) ; `id`"


async def test_a_server_runs_in_its_folder(tmp_path: Path) -> None:
    code = "import os, sys; sys.exit(os.getcwd())"

    with pytest.raises(MCPConnectionError, match=str(tmp_path)):
        await MCPConnection(python(code, cwd=str(tmp_path))).start()


async def test_no_error_shows_a_value_that_the_server_was_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TEST_TOKEN", "secret123")
    code = "import os, sys; sys.exit('bad token ' + os.environ['TOKEN'])"
    config = python(code, env={"TOKEN": "${TEST_TOKEN}"})

    with pytest.raises(MCPConnectionError, match="bad token") as caught:
        await MCPConnection(config).start()

    assert "secret123" not in str(caught.value)


async def test_a_package_that_nobody_has_claimed_is_not_started() -> None:
    config = MCPServerConfig(name="github", command="uvx", args=["mcp-server-github"])

    with pytest.raises(MCPConnectionError, match="nobody has claimed this name") as caught:
        await MCPConnection(config).start()

    assert not caught.value.transient


async def test_whoever_knows_the_package_may_start_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = tmp_path / "uvx"
    launcher.write_text("#!/bin/sh\necho started $1 >&2\nexit 4\n")
    launcher.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    config = MCPServerConfig(
        name="github", command="uvx", args=["mcp-server-github"], allow_unclaimed=True
    )

    with pytest.raises(MCPConnectionError, match="exited with code 4: started mcp-server-github"):
        await MCPConnection(config).start()


async def test_a_listener_that_fails_ends_its_connection_and_is_said_to_have(
    entry: MakeEntry, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(connection: Line, tools: list[dict[str, Any]]) -> None:
        raise ZeroDivisionError(connection, tools)

    log_through_logging()
    grows = {"name": "grow", "x-fixture": {"adds": "more"}}
    async with open_background() as tasks:
        connection = Line(entry(tools=[grows]), on_tools=fail)
        await connection.start(tasks)
        pid = connection.pid

        await connection.call_tool("grow", {})

        await eventually(lambda: connection.ended)
        assert "failed in an unforeseen way: ZeroDivisionError" in connection.ended
        assert "connection failed" in caplog.text
        assert pid is not None
        await eventually(lambda: not is_alive(pid))


async def test_a_server_of_the_older_web_transport_is_reached(ran: Path) -> None:
    options = FixtureOptions(tools=["look"], count_file=str(ran), era="legacy")
    with open_web_fixture(options, transport="sse") as web:
        connection = MCPConnection(MCPServerConfig(name="far", transport="sse", url=web.url))
        await connection.start()

        called = await connection.call_tool("look", {"a": 1})
        await connection.stop()

    assert text_of(called) == 'look {"a": 1}'


PROGRAM = """
import asyncio, os, signal, sys
import remit

async def main():
    config = remit.MCPConfig.from_dict({"servers": {"own": {"command": sys.argv[1],
        "args": sys.argv[3:]}}})
    bridge = await remit.create_mcp_bridge(config)
    print((await bridge.invoke_tool("mcp_own_search", {}))["content"][0]["text"], flush=True)
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


@pytest.mark.parametrize(("way", "status"), [("killed", -9), ("forgetful", 0)])
async def test_no_process_outlives_a_program_that_is_killed_or_forgets_to_disconnect(
    way: str, status: int, entry: MakeEntry, ran: Path
) -> None:
    server = entry()

    done = await anyio.run_process(
        [sys.executable, "-c", PROGRAM, server.command, way, *server.args], check=False
    )

    (call,) = executed(ran)
    assert (done.returncode, done.stdout) == (status, b"search {}\n")
    assert done.stderr == b""
    await eventually(lambda: not is_alive(call.pid))


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_a_server_over_http_is_reached_with_its_headers(
    era: str, ran: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_TOKEN", "secret123")
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "Place"}}}
    tools = [{"name": "look", "inputSchema": schema}]
    options = FixtureOptions(tools=tools, count_file=str(ran), era=era)
    with open_web_fixture(options) as web:
        config = MCPServerConfig(
            name="far", transport="http", url=web.url, bearer_token_env_var="TEST_TOKEN"
        )
        connection = MCPConnection(config)
        await connection.start()

        called = await connection.call_tool("look", {"a": "here"})
        listed = await connection.list_tools()
        await connection.stop()

    headers = received(ran, "tools/call")[0]["headers"]
    assert text_of(called) == 'look {"a": "here"}'
    assert [tool["name"] for tool in listed] == ["look"]
    assert headers["authorization"] == "Bearer secret123"
    assert headers.get("mcp-param-place") == ("here" if era == "modern" else None)


async def test_a_header_without_its_variable_is_a_clear_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("UNDEFINED_VAR", raising=False)
    config = MCPServerConfig(
        name="far",
        transport="http",
        url="http://127.0.0.1:9/mcp",
        headers_from_env={"X-Key": "UNDEFINED_VAR"},
    )

    with pytest.raises(MCPConnectionError, match="needs UNDEFINED_VAR"):
        await MCPConnection(config).start()


async def test_a_server_that_remit_brings_along_needs_no_process(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    config = MCPServerConfig(
        name="git", transport="builtin", builtin="git", args=["--repository", str(tmp_path)]
    )
    connection = MCPConnection(config)
    await connection.start()

    names = {tool["name"] for tool in await connection.list_tools()}

    assert "git_status" in names
    assert connection.pid is None
    await connection.stop()


async def test_a_list_that_changes_is_told(entry: MakeEntry) -> None:
    told: list[list[str]] = []

    def note(_: Line, tools: list[dict[str, Any]]) -> None:
        told.append([tool["name"] for tool in tools])

    grows = {"name": "grow", "x-fixture": {"adds": "more"}}
    async with open_background() as tasks:
        connection = Line(entry(tools=[grows]), on_tools=note)
        await connection.start(tasks)

        await connection.call_tool("grow", {})

        await eventually(lambda: told == [["grow", "more"]])


async def test_a_changed_list_that_cannot_be_read_is_a_problem_and_no_end(
    entry: MakeEntry,
) -> None:
    grows = {"name": "grow", "x-fixture": {"adds": "more"}}
    connection = MCPConnection(entry(tools=[grows], options=("--lists-once",)), timeout=1)
    await connection.start()
    await connection.list_tools()

    await connection.call_tool("grow", {})

    await eventually(lambda: "could not be read again" in connection.problem)
    assert connection.is_running
    await connection.stop()


def test_a_connection_is_used_from_several_loops_and_stopped_from_another(
    entry: MakeEntry, ran: Path
) -> None:
    connection = MCPConnection(entry())
    asyncio.run(connection.start())
    pid = connection.pid

    texts = [text_of(asyncio.run(connection.call_tool("search", {"n": n}))) for n in range(2)]
    asyncio.run(connection.stop())

    assert texts == ['search {"n": 0}', 'search {"n": 1}']
    assert {one.pid for one in executed(ran)} == {pid}
    assert pid is not None
    assert not is_alive(pid)
