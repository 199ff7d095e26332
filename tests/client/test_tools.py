"""Tools over the MCP door, by both clients (issue 7, R14, R22, R23)."""

from pathlib import Path

import anyio
import pytest
from tests.client.conftest import HURRIED, READERS
from tests.client.either import Either, open_either

from remit.client import AsyncClient
from remit.errors import CallRefused, ClientError, CredentialRefused, GatewayUnreachable
from remit.testing.gateway import Running
from remit.testing.upstream import executed, received


async def test_the_caller_sees_exactly_its_tools_as_their_server_sent_them(reader: Either) -> None:
    tools = {tool.name: tool for tool in await reader.list_tools()}

    assert "tools__delete" not in tools
    assert {name for name in tools if name.startswith("tools__")} == {
        f"tools__{name}" for name in READERS
    }
    slow = tools["tools__slow"]
    assert (slow.title, slow.description) == ("Slow", "Takes its time.")
    assert slow.annotations == {"readOnlyHint": True}
    assert slow.output_schema is None
    assert tools["tools__typed"].output_schema == {"type": "object"}
    region = tools["tools__query"].input_schema["properties"]["region"]
    assert region == {"type": "string", "x-mcp-header": "Region"}


async def test_the_endpoint_of_a_server_has_its_own_names(reader: Either) -> None:
    names = {tool.name for tool in await reader.list_tools(server="tools")}

    assert "read" in names
    assert (await reader.call_tool("read", {}, server="tools")).text
    assert await reader.list_tools(server="no-such-server") == []


@pytest.mark.parametrize("kind", ["asynchronous", "synchronous"])
async def test_the_tools_of_a_tenant_are_had_by_its_uuid_and_never_by_its_name(
    kind: str, gateway: Running, count_file: Path
) -> None:
    # By its path a tenant that is called as a server would be that server.
    before = len(executed(count_file))
    async with open_either(kind, gateway.base, key=gateway.key("reader"), tenant="tools") as either:
        with pytest.raises(ClientError, match="give its UUID"):
            await either.list_tools()
        with pytest.raises(ClientError, match="give its UUID"):
            await either.call_tool("read")

    assert len(executed(count_file)) == before


async def test_a_call_gives_what_the_tool_gives(reader: Either, count_file: Path) -> None:
    before = len(executed(count_file))

    result = await reader.call_tool("tools__read", {"n": 2**70, "text": "a ü"})

    assert not result.is_error
    assert result.text == result.content[0]["text"]
    (ran,) = executed(count_file)[before:]
    assert ran.arguments == {"n": 2**70, "text": "a ü"}
    typed = await reader.call_tool("tools__typed")
    assert (typed.structured, typed.text) == ({"n": 3}, '{"n": 3}')


@pytest.mark.parametrize("kind", ["asynchronous", "synchronous"])
async def test_what_goes_with_every_call_reaches_the_server(
    kind: str, gateway: Running, count_file: Path
) -> None:
    meta = {"remit/member": "8b9cad0e-1f20-4f3e-9d3a-0f5a4b7f1c11", "remit/agents": ["a"]}
    async with open_either(kind, gateway.base, key=gateway.key("reader"), meta=meta) as either:
        await either.call_tool("tools__read")

    sent = received(count_file, "tools/call")[-1]["params"]["_meta"]
    assert {name: sent[name] for name in meta} == meta


async def test_a_round_without_a_question_is_gone_on_with(reader: Either, count_file: Path) -> None:
    before = len(received(count_file, "tools/call"))

    result = await reader.call_tool("tools__later", {"n": 1})

    assert result.text == 'later {"n": 1}'
    rounds = [sent["params"] for sent in received(count_file, "tools/call")[before:]]
    assert [sent.get("requestState") for sent in rounds] == [None, "1", "2"]
    assert not any("inputResponses" in sent for sent in rounds)


async def test_rounds_without_a_question_come_to_an_end(reader: Either) -> None:
    with pytest.raises(ClientError, match="no answer after 10 further rounds"):
        await reader.call_tool("tools__never")


@pytest.mark.parametrize("kind", HURRIED)
async def test_a_call_that_had_begun_is_not_said_to_be_refused_unmade(
    kind: str, gateway: Running
) -> None:
    async with open_either(kind, gateway.base, key=gateway.key(kind)) as either:
        with pytest.raises(ClientError, match="had begun when it was refused: ") as raised:
            await either.call_tool("tools__later")
    assert not isinstance(raised.value, CallRefused)


async def test_progress_is_told_on_the_way_and_no_call_hears_of_another(reader: Either) -> None:
    heard: dict[int, list[tuple[float, float | None, str]]] = {0: [], 1: [], 2: []}

    async def call(number: int) -> None:
        def hear(done: float, total: float | None, text: str) -> None:
            heard[number].append((done, total, text))

        await reader.call_tool("tools__slow", {}, progress=hear)

    async with anyio.create_task_group() as tasks:
        for number in heard:
            tasks.start_soon(call, number)

    assert heard == {number: [(1, 2, "half"), (2, None, "")] for number in range(3)}


async def test_progress_may_be_awaited_and_what_it_raises_ends_the_call(gateway: Running) -> None:
    heard: list[float] = []

    async def hear(done: float, total: float | None, text: str) -> None:
        await anyio.lowlevel.checkpoint()
        heard.append(done)
        if total is None:
            raise LookupError(text)

    async with AsyncClient(gateway.base, key=gateway.key("reader")) as client:
        with pytest.raises(LookupError):
            await client.call_tool("tools__slow", progress=hear)

    assert heard == [1, 2]


@pytest.mark.parametrize("name", ["tools__delete", "tools__no_such_tool"])
async def test_a_denied_call_and_an_unknown_tool_look_alike(
    reader: Either, name: str, gateway: Running
) -> None:
    with pytest.raises(CallRefused) as refused:
        await reader.call_tool(name, {})

    told = refused.value
    assert (told.code, told.reason, told.layer) == ("PERMISSION_DENIED", "Unknown tool", "")
    assert told.request_id in str(told)
    assert told.request_id in {row["id"] for row in gateway.audit()}


async def test_what_a_server_calls_wrong_is_no_refusal_since_the_call_was_made(
    reader: Either,
) -> None:
    with pytest.raises(ClientError, match="Unknown customer") as failed:
        await reader.call_tool("tools__picky", {})

    assert not isinstance(failed.value, CallRefused)


async def test_a_role_that_explains_denials_is_told_why(gateway: Running) -> None:
    async with AsyncClient(gateway.base, key=gateway.key("student")) as student:
        with pytest.raises(CallRefused) as refused:
            await student.call_tool("tools__delete")

    assert refused.value.layer
    assert refused.value.reason != "Unknown tool"


async def test_unfit_arguments_are_refused_here_or_by_the_gateway(reader: Either) -> None:
    with pytest.raises(CallRefused) as unfit:
        await reader.call_tool("tools__typed", {"n": "three"})
    with pytest.raises(CallRefused) as no_json:
        await reader.call_tool("tools__typed", {"n": {1, 2}})

    assert (unfit.value.code, no_json.value.code) == ("INVALID_INPUT", "INVALID_INPUT")
    assert unfit.value.request_id


async def test_a_limit_says_when_to_come_again(gateway: Running) -> None:
    async with AsyncClient(gateway.base, key=gateway.key("student")) as student:
        for _ in range(2):
            await student.call_tool("tools__read")
        with pytest.raises(CallRefused) as limited:
            await student.call_tool("tools__read")

    assert limited.value.code == "LIMIT_REACHED"
    assert limited.value.retry_after is not None


async def test_a_server_that_dies_leaves_a_result_that_says_so(gateway: Running) -> None:
    async with AsyncClient(gateway.base, key=gateway.key("reader")) as client:
        died = await client.call_tool("doomed__die")

    assert died.is_error
    assert died.meta["remit/code"] == "UPSTREAM_UNAVAILABLE"
    assert died.meta["remit/outcome"] == "unknown"
    assert "doomed" in died.text


async def test_what_the_server_refuses_is_told_in_its_words(reader: Either) -> None:
    with pytest.raises(ClientError, match="no such flight"):
        await reader.call_tool("tools__failing")


async def test_mirrored_arguments_go_along_whether_the_tools_were_listed_or_not(
    reader: Either, count_file: Path
) -> None:
    for region in ("eu", "ü"):
        result = await reader.call_tool("tools__query", {"region": region})
        assert not result.is_error

    assert [call["params"]["arguments"] for call in received(count_file, "tools/call")[-2:]] == [
        {"region": "eu"},
        {"region": "ü"},
    ]


async def test_a_cancelled_caller_cancels_its_call(gateway: Running, count_file: Path) -> None:
    before = len(received(count_file, "notifications/cancelled"))

    async with AsyncClient(gateway.base, key=gateway.key("reader")) as client:
        calls = len(received(count_file, "tools/call"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "tools__silent")
            await until_more(count_file, "tools/call", calls)
            tasks.cancel_scope.cancel()
        await until_more(count_file, "notifications/cancelled", before)
        assert await client.list_tools()


async def until_more(count_file: Path, method: str, before: int) -> None:
    with anyio.fail_after(30):
        while len(received(count_file, method)) == before:  # noqa: ASYNC110 - a file
            await anyio.sleep(0.02)


@pytest.mark.parametrize("kind", ["asynchronous", "synchronous"])
async def test_an_answer_that_does_not_come_in_time_leaves_the_outcome_unknown(
    kind: str, gateway: Running
) -> None:
    key = gateway.key("reader")

    async with open_either(kind, gateway.base, key=key, timeout=0.3) as client:
        with pytest.raises(GatewayUnreachable, match=r"did not answer within 0\.3 s") as late:
            await client.call_tool("tools__silent")
        with pytest.raises(GatewayUnreachable, match=r"did not answer within 0\.2 s"):
            await client.call_tool("tools__silent", timeout=0.2)
        assert not (await client.call_tool("tools__read", timeout=60)).is_error

    assert late.value.sent


@pytest.mark.parametrize("kind", ["asynchronous", "synchronous"])
async def test_a_wrong_key_and_a_gateway_that_is_not_there_are_told_apart(
    kind: str, gateway: Running
) -> None:
    secret = "rmt_" + "a" * 12 + "_" + "b" * 43
    async with open_either(kind, gateway.base, key=secret) as client:
        with pytest.raises(CredentialRefused) as refused:
            await client.list_tools()
        assert secret not in repr(client)
        assert secret not in repr(refused.value)
    async with open_either(kind, "http://127.0.0.1:1", key=secret) as client:
        with pytest.raises(GatewayUnreachable) as away:
            await client.call_tool("tools__read")

    assert refused.value.status == 401
    assert not away.value.sent


@pytest.mark.parametrize(
    "url",
    ["", "127.0.0.1:8400", "ftp://h", "http://", "http://h:x", "http://u:p@h", "http://h/mcp/"],
)
def test_what_is_no_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(ClientError, match="is no address of a gateway"):
        AsyncClient(url, key="k")


def test_the_key_comes_from_the_environment_unless_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("REMIT_KEY", raising=False)
    with pytest.raises(CredentialRefused, match="set REMIT_KEY"):
        AsyncClient("http://127.0.0.1:8400")
    with pytest.raises(CredentialRefused, match="printable"):
        AsyncClient("http://127.0.0.1:8400", key="two\nlines")

    monkeypatch.setenv("REMIT_KEY", "from-environment")

    assert "from-environment" not in repr(AsyncClient("http://127.0.0.1:8400"))
