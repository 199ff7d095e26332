"""What the workers of one port measured, put together by whichever of them is asked.

    each worker ─every second→ a file of its own in the supervisor's folder
    the one that is asked ──▶ its own numbers as they are, those of the others from their files

A counter that were summed up over workers would fall when one of them is replaced. So each keeps
its number as the label `worker`, and its successor begins at zero, as Prometheus expects.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio
import msgspec
import structlog

from remit.model.measures import Family

log = structlog.get_logger(__name__)

WRITE_EVERY: Final = 1.0
"""Seconds: how old what is told of the other workers may be."""

_SUFFIX: Final = ".measures"
_encode: Final = msgspec.msgpack.encode
_decoder: Final = msgspec.msgpack.Decoder(list[Family])


class SharedMeasures:
    """One worker's part.

    Args:
        own: What this worker measured.
        folder: Where the workers of this port, and nobody else, leave theirs.
        worker: The number of this one.
    """

    def __init__(
        self, own: Callable[[], Awaitable[Sequence[Family]]], folder: Path, worker: str
    ) -> None:
        self._own = own
        self._folder = folder
        self._path = folder / f"{worker}{_SUFFIX}"

    async def collect(self) -> Sequence[Family]:
        """Return what all workers measured."""
        together = {family.measure.name: family for family in await self._own()}
        for path in sorted(self._folder.glob(f"*{_SUFFIX}")):
            if path == self._path:
                continue
            for family in _decoder.decode(path.read_bytes()):
                known = together[family.measure.name]
                together[family.measure.name] = replace(
                    known, samples=known.samples + family.samples
                )
        return list(together.values())

    async def keep_written(self) -> None:
        """Leave this worker's numbers for the others, again and again, until cancelled."""
        while True:
            try:
                self._write(await self._own())
            except OSError as error:
                log.warning("measures cannot be left for the other workers", error=str(error))
            await anyio.sleep(WRITE_EVERY)

    def _write(self, families: Sequence[Family]) -> None:
        making = self._path.with_suffix(".making")
        making.write_bytes(_encode(families))
        making.replace(self._path)
