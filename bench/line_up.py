"""The targets of a run, made ready; one that cannot be had says why, and the others go on."""

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.environments import PEERS
from bench.processes import BenchError
from bench.targets import (
    DIRECT,
    NGINX,
    REMIT,
    REMIT_POSTGRES,
    REMIT_TWO,
    Target,
    direct,
    nginx,
    remit_over_http,
    remit_with_postgresql,
)

OURS = (DIRECT, NGINX, REMIT, REMIT_POSTGRES)


def names_of(only: str, *, every: bool) -> Sequence[str]:
    """Return the names of the targets to measure.

    Args:
        only: Those, between commas; empty for the usual ones.
        every: Whether the usual ones are all.

    Raises:
        BenchError: One of *only* is not known.
    """
    known = (*OURS, *(peer.name for peer in PEERS))
    usual = (*OURS, *(peer.name for peer in PEERS if every or not peer.slow))
    chosen = only.split(",") if only else usual
    if unknown := set(chosen) - set(known):
        raise BenchError(f"no such target: {', '.join(sorted(unknown))}; there are {known}")
    return chosen


class LineUp:
    """Makes targets ready.

    Attributes:
        port: Where the upstream will listen.
        failed: Target to the reason why it cannot be measured.
    """

    def __init__(self, stack: ExitStack, *, folder: Path, port: int) -> None:
        self.port = port
        self.failed: dict[str, str] = {}
        self._stack = stack
        self._folder = folder

    def prepare(self, names: Sequence[str]) -> Sequence[Target]:
        """Return the targets of these names that can be had, in their order."""
        return [target for name in names if (target := self._attempt(name)) is not None]

    def _attempt(self, name: str) -> Target | None:
        try:
            return self._makers()[name]()
        except (BenchError, OSError, subprocess.SubprocessError) as error:
            self.failed[name] = " ".join(str(error).split())[:300]
            print(f"without {name}: {self.failed[name]}", file=sys.stderr)
            return None

    def _makers(self) -> Mapping[str, Callable[[], Target]]:
        port, folder, enter = self.port, self._folder, self._stack.enter_context
        return {
            DIRECT: lambda: direct(port),
            NGINX: lambda: nginx(port, folder),
            REMIT: lambda: remit_over_http(port, folder / REMIT),
            REMIT_TWO: lambda: remit_over_http(port, folder / REMIT_TWO, workers=2),
            REMIT_POSTGRES: lambda: enter(remit_with_postgresql(port, folder / REMIT_POSTGRES)),
            **{peer.name: peer.prepare for peer in PEERS},
        }
