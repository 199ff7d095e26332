"""A fixture server on standard input and output."""

import json
import sys
import threading
from typing import Any, cast

from remit.testing.behaviour import Behaviour, FixtureOptions

DIRT = (
    b"starting up, please wait\n",
    b"\n",
    b"42\n",
    b"null\n",
    b"[]\n",
    b"\xff\n",
    b'{"hello": "world"}\n',
    b'{"jsonrpc":"2.0","id":999999,"result":{}}\n',
)
"""What a dirty fixture writes before its messages, in turn; after them one ends in CR LF."""

_STDERR_FLOOD = 256 * 1024


def serve_stdio(options: FixtureOptions) -> None:
    """Answer requests until standard input ends."""
    pipe = _Pipe(options)
    behaviour = Behaviour(options, announce=pipe.write)
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        message = cast("dict[str, Any]", json.loads(line))
        if options.serial or "id" not in message:
            pipe.answer(behaviour, message)
        else:
            threading.Thread(target=pipe.answer, args=(behaviour, message), daemon=True).start()


class _Pipe:
    """Standard output, one whole message at a time."""

    def __init__(self, options: FixtureOptions) -> None:
        self._is_dirty = options.dirty
        self._lock = threading.Lock()
        self._written = 0

    def answer(self, behaviour: Behaviour, message: dict[str, Any]) -> None:
        if self._is_dirty and message.get("method") == "initialize":
            sys.stderr.write("s" * _STDERR_FLOOD)
            sys.stderr.flush()
        frame = behaviour.answer(message)
        for said in behaviour.meanwhile(message):
            self.write(said)
        if frame is not None:
            self.write(frame)

    def write(self, frame: bytes) -> None:
        with self._lock:
            ending = b"\n"
            if self._is_dirty:
                turn = self._written % (len(DIRT) + 1)
                ending = b"\r\n" if turn == len(DIRT) else b"\n"
                sys.stdout.buffer.write(DIRT[turn] if turn < len(DIRT) else b"")
                self._written += 1
            sys.stdout.buffer.write(frame + ending)
            sys.stdout.buffer.flush()
