"""A caller of an older era before a server that only speaks 2026-07-28.

input_required ──▶ each question asked on the caller's stream ──▶ the same call once more,
with the answers and the server's own state ──▶ … ──▶ complete

A round that asks nothing, and gives a state alone, is gone on with after a short while.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec

from remit.errors import Refused, UpstreamError, UpstreamProtocolError
from remit.model.conversation import PAUSES
from remit.upstreams.dialogue import Dialogue
from remit.upstreams.result_types import INPUT_REQUIRED, carried
from remit.upstreams.session import Confirm, Session, ToolCall
from remit.upstreams.wire import Malformed, joined, members, value_of

MOST_ROUNDS: Final = 16
"""Times that a server may ask for more before its call fails."""


async def call_in_rounds(
    session: Session, call: ToolCall, dialogue: Dialogue, confirm: Confirm | None = None
) -> bytes:
    """Run a tool and answer what the server asks for in between, by asking the caller.

    People take their time over an answer: each later round is confirmed before it is sent.

    Raises:
        UpstreamError: There is no result, or a question has no answer. Once the server has taken a
            round it is `sent`, whatever the later one met (R23).
    """
    for taken in range(MOST_ROUNDS):
        try:
            if taken and confirm is not None:
                await confirm()
            result = carried(await session.call(call))
        except (UpstreamError, Refused) as error:
            error.sent = error.sent or taken > 0
            raise
        if INPUT_REQUIRED not in result:
            return result
        asked = _members(result)
        if asked.get("resultType") != INPUT_REQUIRED:
            return result
        questions = _members(asked.get("inputRequests", b"{}"))
        if questions:
            more = b',"inputResponses":' + joined(await _answers(questions, dialogue))
        else:
            more = b""
            await asyncio.sleep(PAUSES[min(taken, len(PAUSES) - 1)])
        if "requestState" in asked:
            more += b',"requestState":' + asked["requestState"]
        call = msgspec.structs.replace(call, more=more)
    raise UpstreamProtocolError(f"asks for more input after {MOST_ROUNDS} rounds")


async def _answers(questions: Mapping[str, bytes], dialogue: Dialogue) -> Mapping[str, bytes]:
    asked = {key: await _ask(raw, dialogue) for key, raw in questions.items()}
    return {key: _result(await future) for key, future in asked.items()}


async def _ask(raw: bytes, dialogue: Dialogue) -> asyncio.Future[bytes]:
    question = _members(raw)
    method = value_of(question.get("method", b"null"))
    answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def answered(tail: bytes) -> None:
        if not answer.done():
            answer.set_result(tail)

    await dialogue.ask(str(method), question.get("params", b"{}"), answered)
    return answer


def _result(tail: bytes) -> bytes:
    found = _members(b"{%b}" % tail)
    if "result" not in found:
        raise UpstreamProtocolError("asks for input that its caller did not give")
    return found["result"]


def _members(raw: bytes) -> Mapping[str, bytes]:
    try:
        return members(raw)
    except Malformed as error:
        raise UpstreamProtocolError("asks for input in words that cannot be read") from error
