"""Servers as real child processes."""

import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from remit.errors import UpstreamProtocolError, UpstreamTimeout, UpstreamUnavailable
from remit.model.servers import ServerConfig, ServerState, Session
from remit.testing.fleets import PATIENCE, call_tool, eventually, open_servers, status_of
from remit.testing.pipe import DIRT
from remit.testing.upstream import executed, fixture_server_config, received
from remit.upstreams.transcript import TAIL

# T16: what a decoder and encoder in between would lose.
NOTHING_LOST = (
    r'{"structuredContent": {"null":null,"big":9007199254740993,"small":1e-7,"nul":"\u0000",'
    r'"lone":"\ud800","emoji":"🚀" }, "content":[{"type":"text","text":""}],"isError":true,'
    r'"_meta":{"a.b/c":1.0},"unknown":[01e0]}'
).replace("01e0", "1e0")


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """Child processes are another implementation on the loop that `remit serve` runs on."""
    return "asyncio", {"use_uvloop": request.param}


def _is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def _children() -> list[str]:
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [Path(f"/proc/{pid}/stat").read_text() for pid in listed]


@pytest.mark.parametrize(
    ("era", "protocol"),
    [("modern", "2026-07-28"), ("legacy", "2025-11-25"), ("both", "2026-07-28")],
)
async def test_the_era_is_found_out(ran: Path, era: str, protocol: str) -> None:
    server = fixture_server_config("s", ["t"], ran, options=("--era", era))
    async with open_servers(server) as fleet:
        assert status_of(fleet, "s").protocol == protocol
        result = json.loads(await call_tool(fleet, "s", "t", b'{"a":1}'))
        assert result["content"][0]["text"] == 't {"a": 1}'


@pytest.mark.parametrize("version", ["2025-06-18", "2025-03-26", "2024-11-05"])
async def test_older_revisions_are_accepted(ran: Path, version: str) -> None:
    options = ("--era", "legacy", "--version", version)
    async with open_servers(fixture_server_config("s", ["t"], ran, options=options)) as fleet:
        assert status_of(fleet, "s").protocol == version
        assert len(received(ran, "notifications/initialized")) == 1


async def test_an_unknown_revision_is_a_reason(ran: Path) -> None:
    options = ("--era", "legacy", "--version", "1999-01-01")
    async with open_servers(fixture_server_config("s", ["t"], ran, options=options)) as fleet:
        status = status_of(fleet, "s")
        assert status.state is ServerState.BACKING_OFF
        assert "1999-01-01" in status.reason


async def test_a_legacy_server_that_ignores_the_probe_is_up_within_its_time(ran: Path) -> None:
    options = ("--era", "legacy", "--silent", "server/discover")
    server = fixture_server_config("s", ["t"], ran, options=options)
    async with open_servers(server) as fleet:
        assert status_of(fleet, "s").protocol == "2025-11-25"


async def test_a_server_that_ends_at_the_probe_is_started_without_it(ran: Path) -> None:
    server = fixture_server_config("s", ["t"], ran, options=("--era", "legacy", "--touchy"))
    async with open_servers(server) as fleet:
        await fleet.changed(0)
        assert status_of(fleet, "s").protocol == "2025-11-25"
        assert b"content" in await call_tool(fleet, "s", "t")


async def test_line_breaks_within_a_request_do_not_end_it(ran: Path) -> None:
    arguments = b'{\n "a":\r\n  "x\\ny",\r"b":2\n}'
    async with open_servers(fixture_server_config("s", ["t"], ran)) as fleet:
        await call_tool(fleet, "s", "t", arguments, meta=b'{\n"c":1}')
    assert executed(ran)[0].arguments == {"a": "x\ny", "b": 2}


async def test_a_modern_request_says_who_asks_and_keeps_the_callers_meta(ran: Path) -> None:
    meta = b'{"traceparent":"00-1","progressToken":1,"io.modelcontextprotocol/clientInfo":{}}'
    async with open_servers(fixture_server_config("s", ["t"], ran)) as fleet:
        await call_tool(fleet, "s", "t", meta=meta)
    (message,) = received(ran, "tools/call")
    sent = message["params"]["_meta"]
    assert sent["traceparent"] == "00-1"
    assert sent["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert sent["io.modelcontextprotocol/clientInfo"]["name"] == "remit"
    assert sent["io.modelcontextprotocol/clientCapabilities"] == {}
    assert "progressToken" not in sent


async def test_a_legacy_request_carries_nothing_of_the_modern_era(ran: Path) -> None:
    meta = b'{"io.modelcontextprotocol/protocolVersion":"2026-07-28","a":1}'
    server = fixture_server_config("s", ["t"], ran, options=("--era", "legacy"))
    async with open_servers(server) as fleet:
        await call_tool(fleet, "s", "t", meta=meta)
        await call_tool(fleet, "s", "t")
    first, second = received(ran, "tools/call")
    assert first["params"]["_meta"] == {"a": 1}
    assert "_meta" not in second["params"]


async def test_noise_on_the_pipe_disturbs_nothing_and_is_shown(ran: Path) -> None:
    # T5
    tools = ["t", {"name": "spam", "x-fixture": {"stderr": 256 * 1024}}]
    options = ("--dirty", "--era", "legacy")
    server = fixture_server_config("s", tools, ran, options=options)
    async with open_servers(server) as fleet:
        for _ in range(2 * len(DIRT)):
            assert b"content" in await call_tool(fleet, "s", "t")
        assert b"content" in await call_tool(fleet, "s", "spam")
        status = status_of(fleet, "s")
    assert status.stderr_tail == "s" * TAIL or status.stderr_tail.endswith("e" * TAIL)
    assert "no protocol messages" in " ".join(status.notes)
    assert len(" ".join(status.notes)) < 1000
    assert len(executed(ran)) == 2 * len(DIRT) + 1


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_nothing_of_a_result_is_lost(ran: Path, era: str) -> None:
    tool = {"name": "t", "x-fixture": {"result_json": NOTHING_LOST}}
    server = fixture_server_config("s", [tool], ran, options=("--era", era))
    async with open_servers(server) as fleet:
        assert await call_tool(fleet, "s", "t") == NOTHING_LOST.encode()


async def test_an_answer_that_is_not_utf8_fails_its_call_and_nothing_else(ran: Path) -> None:
    broken = {"name": "broken", "x-fixture": {"result_json": '{"a":"\udcff"}'}}
    async with open_servers(fixture_server_config("s", [broken, "t"], ran)) as fleet:
        with pytest.raises(UpstreamProtocolError, match="not UTF-8"):
            await call_tool(fleet, "s", "broken")
        assert b"content" in await call_tool(fleet, "s", "t")


async def test_an_answer_beyond_max_message_fails_its_call_and_nothing_else(ran: Path) -> None:
    huge = {"name": "huge", "x-fixture": {"size": 3_000_000}}
    server = fixture_server_config("s", [huge, "t"], ran, max_message=100_000)
    async with open_servers(server) as fleet:
        await call_tool(fleet, "s", "t")
        with pytest.raises(UpstreamProtocolError, match="max_message"):
            await call_tool(fleet, "s", "huge")
        await call_tool(fleet, "s", "t")
    assert len({call.pid for call in executed(ran) if call.name != "huge"}) == 1


async def test_an_error_of_the_server_comes_with_its_own_words(ran: Path) -> None:
    error = {"code": -32050, "message": "not today", "data": {"n": 1}}
    async with open_servers(
        fixture_server_config("s", [{"name": "t", "x-fixture": {"error": error}}], ran)
    ) as fleet:
        with pytest.raises(UpstreamProtocolError, match=r"server 's' .* not today") as caught:
            await call_tool(fleet, "s", "t")
    assert json.loads(caught.value.rpc_error) == error
    assert caught.value.sent


async def test_answers_find_their_callers_in_any_order(ran: Path) -> None:
    # R32: by id, never by order.
    tools = [{"name": f"t{n}", "x-fixture": {"delay": 0.3 - n / 100}} for n in range(20)]
    answers: dict[str, bytes] = {}
    async with open_servers(fixture_server_config("s", tools, ran)) as fleet:

        async def ask(name: str) -> None:
            answers[name] = await call_tool(fleet, "s", name)

        async with anyio.create_task_group() as tasks:
            for n in range(20):
                tasks.start_soon(ask, f"t{n}")
    assert all(f'"{name} ' in answer.decode() for name, answer in answers.items())
    assert len({call.pid for call in executed(ran)}) == 1


async def test_a_call_out_of_time_is_cancelled_at_the_server(ran: Path) -> None:
    # R24
    silent = {"name": "silent", "x-fixture": {"silent": True}}
    async with open_servers(fixture_server_config("s", [silent, "t"], ran)) as fleet:
        await call_tool(fleet, "s", "t")
        with pytest.raises(
            UpstreamTimeout, match=r"server 's' did not answer within 0\.2"
        ) as caught:
            await call_tool(fleet, "s", "silent", within=0.2)
        assert caught.value.sent
        await eventually(lambda: received(ran, "notifications/cancelled"))
        (cancelled,) = received(ran, "notifications/cancelled")
        _, asked = received(ran, "tools/call")
        assert cancelled["params"]["requestId"] == asked["id"]
        assert b"content" in await call_tool(fleet, "s", "t")


async def test_a_caller_that_leaves_is_cancelled_at_the_server(ran: Path) -> None:
    silent = {"name": "silent", "x-fixture": {"silent": True}}
    async with open_servers(fixture_server_config("s", [silent], ran)) as fleet:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call_tool, fleet, "s", "silent")
            await eventually(lambda: executed(ran))
            tasks.cancel_scope.cancel()
        await eventually(lambda: received(ran, "notifications/cancelled"))


async def test_a_child_that_dies_fails_its_calls_and_is_started_again(ran: Path) -> None:
    tools = ["t", {"name": "leave", "x-fixture": {"exit": 7}}]
    server = fixture_server_config("s", tools, ran, session=Session.SHARED)
    async with open_servers(server) as fleet:
        await call_tool(fleet, "s", "t")
        with pytest.raises(UpstreamUnavailable, match="code 7: leaving in the middle") as caught:
            await call_tool(fleet, "s", "leave")
        assert caught.value.sent
        # The tools stay listed while it is started again, and the next call waits for that.
        assert fleet.catalogue.by_server["s"]
        await call_tool(fleet, "s", "t")
    assert len({call.pid for call in executed(ran)}) == 2


async def test_a_killed_child_is_told_from_one_that_exits(ran: Path) -> None:
    silent = {"name": "silent", "x-fixture": {"silent": True}}
    problems: list[UpstreamUnavailable] = []
    async with open_servers(fixture_server_config("s", [silent], ran)) as fleet:

        async def ask() -> None:
            try:
                await call_tool(fleet, "s", "silent")
            except UpstreamUnavailable as error:
                problems.append(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await eventually(lambda: executed(ran))
            os.kill(executed(ran)[0].pid, signal.SIGKILL)
    assert "killed by SIGKILL" in str(problems[0])
    assert problems[0].sent


async def test_a_child_gets_a_minimal_environment_and_none_of_our_secrets(ran: Path) -> None:
    # R21: the child itself prints what it has.
    tool = {"name": "env", "x-fixture": {"environment": True}}
    environ = {
        **os.environ,
        "REMIT_MASTER_KEY": "sentinel-one",
        "AWS_SECRET_ACCESS_KEY": "sentinel-two",
        "PASSED": "passed",
        "GITHUB_TOKEN": "expanded",
    }
    server = fixture_server_config(
        "s", [tool], ran, env={"TOKEN": "${GITHUB_TOKEN}"}, env_passthrough=("PASSED",)
    )
    async with open_servers(server, environ=environ) as fleet:
        result = json.loads(await call_tool(fleet, "s", "env"))
    seen = json.loads(result["content"][0]["text"])
    assert "sentinel" not in json.dumps(seen)
    assert seen["TOKEN"] == "expanded"
    assert seen["PASSED"] == "passed"
    assert seen["PATH"]
    assert "GITHUB_TOKEN" not in seen


async def test_a_secret_that_a_child_prints_is_not_shown() -> None:
    program = "import os, sys; sys.exit('bad token ' + os.environ['TOKEN'])"
    server = ServerConfig(
        name="s", command=sys.executable, args=("-c", program), env={"TOKEN": "sentinel"}
    )
    async with open_servers(server) as fleet:
        status = status_of(fleet, "s")
    assert status.reason == "exited with code 1: bad token [redacted]"
    assert "sentinel" not in status.stderr_tail


async def test_nothing_is_left_of_a_child_that_ignores_sigterm_nor_of_its_own_children(
    tmp_path: Path, ran: Path
) -> None:
    # T24: a shell that starts a child that starts a grandchild ignoring SIGTERM.
    pids = tmp_path / "pids"
    stubborn = tmp_path / "stubborn.sh"
    stubborn.write_text(f"trap '' TERM; echo $$ >> {pids}; while :; do sleep 1; done\n")
    inner = fixture_server_config("s", ["t"], ran)
    script = f'(sh {stubborn} & wait) & exec "$@"'
    server = replace(inner, command="sh", args=("-c", script, "sh", inner.command, *inner.args))
    before = len(_children())
    async with open_servers(server) as fleet:
        await call_tool(fleet, "s", "t")
        # Once for the connection that lists the tools, once for the caller's own.
        await eventually(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    left = [int(pid) for pid in pids.read_text().split()]
    await eventually(lambda: not [pid for pid in left if _is_alive(pid)])
    assert len(_children()) == before  # nothing that waits to be reaped, either


async def test_opening_can_be_cancelled_at_any_moment_without_leaving_a_child(ran: Path) -> None:
    server = fixture_server_config("s", ["t"], ran)
    before = len(_children())
    for moment in range(8):
        with anyio.move_on_after(moment * 0.02):
            async with open_servers(server) as fleet:
                await call_tool(fleet, "s", "t")
        assert len(_children()) == before


async def test_a_server_may_ask_and_is_answered(tmp_path: Path) -> None:
    # A hand-written server that pings before it answers, as it may in the older era.
    log = tmp_path / "log"
    program = f"""
import json, sys
def say(**message): print(json.dumps(dict(jsonrpc="2.0", **message)), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    open({str(log)!r}, "a").write(line)
    if message.get("method") == "initialize":
        say(id="p1", method="ping")
        say(id="r1", method="roots/list")
        say(id=message["id"], result=dict(protocolVersion="2025-06-18"))
    elif "id" in message and "method" in message:
        say(id=message["id"], error=dict(code=-32601, message="no"))
"""
    server = ServerConfig(name="s", command=sys.executable, args=("-c", program))
    async with open_servers(server) as fleet:
        status = status_of(fleet, "s")
        assert status.state is ServerState.READY
        assert "no tools/list" in " ".join(status.notes)
    answers = {
        m["id"]: m for m in map(json.loads, log.read_text().splitlines()) if "method" not in m
    }
    assert answers["p1"]["result"] == {}
    assert answers["r1"]["error"]["code"] == -32601


@pytest.mark.parametrize(
    "before", ['{"jsonrpc": "2.0", "method": "notifications/x"}', '{"id": []}']
)
async def test_a_batch_is_taken_apart_also_where_one_of_it_cannot_be_read(before: str) -> None:
    # Revision 2025-03-26 lets a server put several messages into one array.
    program = """
import json, sys
results = {
    "initialize": {"protocolVersion": "2025-03-26"},
    "tools/list": {"tools": [{"name": "t", "inputSchema": {}}]},
}
for line in sys.stdin:
    message = json.loads(line)
    known = message["method"] in results
    answer = {"result": results[message["method"]]} if known else {"error": {"code": -32600}}
    if "id" in message:
        batch = [json.loads(sys.argv[1]), {"jsonrpc": "2.0", "id": message["id"], **answer}]
        print(json.dumps(batch), flush=True)
"""
    server = ServerConfig(name="s", command=sys.executable, args=("-c", program, before))
    async with open_servers(server) as fleet:
        assert [tool.name for tool in fleet.catalogue.by_server["s"]] == ["t"]


async def test_a_byte_order_mark_before_the_first_answer_costs_no_answer() -> None:
    program = """
import json, sys
results = {
    "initialize": {"protocolVersion": "2025-06-18"},
    "tools/list": {"tools": [{"name": "t", "inputSchema": {}}]},
    "tools/call": {"content": []},
}
sys.stdout.buffer.write(bytes([0xEF, 0xBB, 0xBF]))
for line in sys.stdin:
    message = json.loads(line)
    known = message["method"] in results
    answer = {"result": results[message["method"]]} if known else {"error": {"code": -32601}}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""
    server = ServerConfig(name="s", command=sys.executable, args=("-c", program), start_timeout=2)
    async with open_servers(server) as fleet:
        # A process of the caller's own, which begins with the handshake.
        assert await call_tool(fleet, "s", "t") == b'{"content": []}'
        assert not any("no protocol messages" in note for note in status_of(fleet, "s").notes)


async def test_a_child_that_stops_reading_fails_calls_instead_of_filling_memory(ran: Path) -> None:
    silent = {"name": "silent", "x-fixture": {"delay": PATIENCE}}
    server = fixture_server_config("s", [silent], ran, options=("--serial",), max_message=100_000)
    arguments = json.dumps({"text": "x" * 80_000}).encode()
    problems: list[Exception] = []

    async with open_servers(server) as fleet:

        async def ask() -> None:
            try:
                await call_tool(fleet, "s", "silent", arguments)
            except UpstreamUnavailable as error:
                problems.append(error)
                tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(ask)
    assert "not reading" in str(problems[0])


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_new_tools_appear_when_the_server_says_so(ran: Path, era: str) -> None:
    grow = {"name": "grow", "x-fixture": {"adds": "new"}}
    options = ("--era", era)
    server = fixture_server_config("s", [grow], ran, options=options, session=Session.SHARED)
    async with open_servers(server) as fleet:
        version = fleet.catalogue.version
        await call_tool(fleet, "s", "grow")
        catalogue = await fleet.changed(version)
        assert [tool.name for tool in catalogue.by_server["s"]] == ["grow", "new"]
    assert len(received(ran, "subscriptions/listen")) == (1 if era == "modern" else 0)


@pytest.mark.parametrize(
    ("command", "cwd", "reason"),
    [
        ("no-such-program", "", "cannot start: command 'no-such-program' was not found"),
        ("/etc/passwd", "", "cannot start: command '/etc/passwd' may not be executed"),
        (sys.executable, "/no/such/folder", "cannot start: its cwd '/no/such/folder' is no folder"),
    ],
)
async def test_a_command_that_cannot_be_started_is_a_reason(
    command: str, cwd: str, reason: str
) -> None:
    # S1.7
    async with open_servers(ServerConfig(name="s", command=command, cwd=cwd)) as fleet:
        status = status_of(fleet, "s")
    assert status.state is ServerState.BACKING_OFF
    assert status.reason.startswith(reason)


async def test_tools_that_cannot_be_read_again_stay_and_the_server_is_degraded(ran: Path) -> None:
    # T8: a busy server is not a dead one.
    tools = [{"name": "grow", "x-fixture": {"adds": "new"}}]
    server = fixture_server_config(
        "s", tools, ran, options=("--lists-once",), session=Session.SHARED, start_timeout=1.0
    )
    async with open_servers(server) as fleet:
        await call_tool(fleet, "s", "grow")
        await eventually(lambda: status_of(fleet, "s").state is ServerState.DEGRADED)
        assert "could not be read again" in status_of(fleet, "s").reason
        assert [tool.name for tool in fleet.catalogue.by_server["s"]] == ["grow"]
        await call_tool(fleet, "s", "grow")


async def test_a_servers_error_is_told_without_the_secrets_it_was_given(ran: Path) -> None:
    # T19: the text of this error is logged and recorded.
    tools = [{"name": "t", "x-fixture": {"error": {"code": 1, "message": "bad t-token"}}}]
    server = fixture_server_config("s", tools, ran, env={"TOKEN": "t-token"})
    async with open_servers(server) as fleet:
        with pytest.raises(UpstreamProtocolError, match=r"bad \[redacted\]") as failure:
            await call_tool(fleet, "s", "t")
        assert "t-token" not in str(failure.value)


FLOOD = """
import os, sys
LISTED = '{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}'
for line in sys.stdin:
    number = line.split('"id":')[1].split(",")[0]
    if "tools/list" in line:
        print('{"jsonrpc":"2.0","id":%s,"result":%s}' % (number, LISTED), flush=True)
        break
    answer = '{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"]}}'
    print(answer % number, flush=True)
while True:
    os.write(1, b"\\n" * 65536)
"""
CALLS = 20


async def test_a_child_that_floods_its_output_does_not_hold_up_the_others(ran: Path) -> None:
    # Each piece of the flood is some ten thousand lines: taken in one go they cost the calls of
    # every other server a second each.
    flood = ServerConfig(name="flood", command=sys.executable, args=("-c", FLOOD))
    async with open_servers(flood, fixture_server_config("s", ["t"], ran)) as fleet:
        assert status_of(fleet, "flood").state is ServerState.READY
        for _ in range(CALLS):
            await call_tool(fleet, "s", "t", within=2.0)
        assert len(executed(ran)) == CALLS
        assert "no protocol messages" in " ".join(status_of(fleet, "flood").notes)
