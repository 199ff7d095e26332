import pytest
from tests.calls.worlds import World, caller, declared, tool

from remit.calls.invoke import is_tool_error
from remit.model.calls import OutcomeKind
from remit.model.roles import Role

DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize(
    "result",
    [
        b'{"content":[],"isError":true}',
        b'{ "isError" : true , "content" : [] }',
        b'{"isError":true,"structuredContent":{"isError":false}}',
        rb'{"content":"\ud800","isError":true}',
        b'{"content":"\\ud800",\n"isError"\n:\ttrue}',
        b'{"content":"\xff","isError":true}',
        b'{"isError":true,"deep":' + DEEP + b"}",
    ],
)
def test_a_result_that_says_so_is_a_tools_failure(result: bytes) -> None:
    assert is_tool_error(result)


@pytest.mark.parametrize(
    "result",
    [
        b"{}",
        b'{"content":[]}',
        b'{"content":[],"isError":false}',
        b'{"isError":null}',
        b'{"isError":"true"}',
        b'{"isError":1}',
        b'{"structuredContent":{"isError":true}}',
        rb'{"content":[{"type":"text","text":"{\"isError\":true}"}]}',
        rb'{"content":"\ud800","isError":false}',
        b'{"deep":' + DEEP + b',"isError":false}',
        b'["isError"]',
    ],
)
def test_any_other_result_is_none(result: bytes) -> None:
    assert not is_tool_error(result)


async def test_a_result_too_deep_to_be_read_is_still_answered() -> None:
    world = World(declared([Role(name="c", allow=("s/*",))], ["s"]), {"s": [tool("s", "t")]})

    async def deep() -> bytes:
        return b'{"isError":true,"deep":' + DEEP + b"}"

    world.upstreams.answer = deep

    outcome = await world.pipeline.run(world.call(caller("c"), "s__t"))

    assert outcome.kind is OutcomeKind.TOOL_ERROR
    assert outcome.result.endswith(DEEP + b"}")
    assert [event.outcome for event in world.audit.events] == ["unknown", "tool_error"]
