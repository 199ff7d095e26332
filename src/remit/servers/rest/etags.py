"""Answers kept for conditional requests: what did not change is not sent, nor counted."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from remit.servers.rest.exchange import Answer

MOST_KEPT: Final = 128
MOST_BYTES: Final = 8 * 1024 * 1024
LARGEST: Final = 512 * 1024
"""Bytes of an answer that is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An answer with the tag by which the service knows it."""

    tag: str
    answer: Answer


class Etags:
    """The answers used last, bounded in number and bytes. One client, so one credential."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._bytes = 0

    def find(self, key: str) -> Kept | None:
        """Return what is kept of a request."""
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
        return kept

    def keep(self, key: str, answer: Answer) -> None:
        """Keep an answer that has a tag and is not too large; forget what was not used longest."""
        self._drop(key)
        tag = answer.headers.get("etag", "")
        if not tag or answer.truncated or len(answer.body) > LARGEST:
            return
        self._kept[key] = Kept(tag=tag, answer=answer)
        self._bytes += len(answer.body)
        while len(self._kept) > MOST_KEPT or self._bytes > MOST_BYTES:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: str) -> None:
        old = self._kept.pop(key, None)
        if old is not None:
            self._bytes -= len(old.answer.body)
