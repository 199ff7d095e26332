"""How often somebody tried to sign in and failed, so that nobody goes on trying."""

import ipaddress
import math
import time
from collections import deque
from collections.abc import Callable
from typing import Final

MOST_GUESSES: Final = 10
"""Sign-ins of one address that may fail within the window."""

WINDOW: Final = 300.0
"""Seconds that a failure counts."""

MOST_ADDRESSES: Final = 10_000
"""Addresses that are remembered; beyond it the one that failed the longest ago is forgotten."""

_SUBNET: Final = 64  # bits; whoever has one IPv6 address has as many as that


class Guesses:
    """Failures of addresses, in the memory of this process.

    Args:
        clock: Seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: dict[str, deque[float]] = {}

    def wait_of(self, address: str) -> int:
        """Return for how many seconds *address* is to wait before it tries again; 0 for none."""
        failed = self._failed.get(_block(address))
        if failed is None or len(failed) < MOST_GUESSES:
            return 0
        return max(0, math.ceil(failed[0] + WINDOW - self._clock()))

    def note(self, address: str) -> None:
        """Count a failure of *address*."""
        block = _block(address)
        failed = self._failed.pop(block, None) or deque[float](maxlen=MOST_GUESSES)
        failed.append(self._clock())
        self._failed[block] = failed
        if len(self._failed) > MOST_ADDRESSES:
            del self._failed[next(iter(self._failed))]


def _block(address: str) -> str:
    """Return what counts as one address."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:  # of a socket that has none
        return address
    if isinstance(ip, ipaddress.IPv4Address):
        return address
    return str(ip.ipv4_mapped or ipaddress.IPv6Network((int(ip), _SUBNET), strict=False))
