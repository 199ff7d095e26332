"""What a worker tells another is taken before it goes on, so a session that ended is over."""

from pathlib import Path

import anyio
import pytest

from remit.doors.mcp.siblings import Siblings, Word
from remit.doors.mcp.unfinished import Unfinished

pytestmark = pytest.mark.anyio


async def test_a_word_is_taken_when_telling_it_returns(tmp_path: Path) -> None:
    taken: list[Word] = []
    mine, other, third = (Siblings(tmp_path, name) for name in ("mine", "other", "third"))
    words = [Word(session=str(number), is_over=True) for number in range(20)]
    with anyio.fail_after(30):
        async with other.running(taken.append), third.running(taken.append):
            for number, word in enumerate(words, start=1):
                await mine.tell_all(word)
                assert len(taken) == 2 * number
    assert taken[::2] == words


async def test_a_word_that_cannot_be_read_holds_up_nobody(tmp_path: Path) -> None:
    taken: list[Word] = []
    with anyio.fail_after(30):
        async with Siblings(tmp_path, "other").running(taken.append):
            async with await anyio.connect_unix(tmp_path / "other.sock") as stream:
                await stream.send(b"no word")
                await stream.send_eof()
                with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                    await stream.receive()
            await Siblings(tmp_path, "mine").tell("other", Word(session="s", is_over=True))
    assert [word.session for word in taken] == ["s"]


async def test_one_that_has_gone_is_told_nothing(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        await Siblings(tmp_path, "mine").tell("gone", Word(session="s", is_over=True))


async def test_what_a_session_is_asked_by_one_worker_ends_when_another_ends_it(
    tmp_path: Path,
) -> None:
    asking, ending = Unfinished(tmp_path), Unfinished(tmp_path)
    answers: list[bytes] = []
    with anyio.fail_after(30):
        async with asking.running():
            assert asking.questions.begin("over", answers.append) is not None
            assert asking.questions.begin("other", answers.append) is not None
            await ending.tell_others(Word(session="over", is_over=True))
    assert len(answers) == 1
    assert b"has left" in answers[0]
    assert asking.questions.has_ended("over")
    assert not asking.questions.has_ended("other")
