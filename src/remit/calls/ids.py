"""Ids of calls and events: UUIDv7, so that text order is time order."""

import os
import random
import time

# Unique, not secret: one seed from the system spares a system call an id.
_tails = random.Random(os.urandom(32))  # noqa: S311 - for ids


def new_id() -> str:
    """Return a UUIDv7 as text; sorts by the quarter of a microsecond in which it was made.

    The 12 bits after the milliseconds are the fraction of them (RFC 9562, 6.2, method 3), so
    that the events of one process sort as they happened.
    """
    millis, nanos = divmod(time.time_ns(), 1_000_000)
    fraction = (nanos << 12) // 1_000_000
    tail = _tails.getrandbits(62)
    value = (millis << 80) | (0x7 << 76) | (fraction << 64) | (0x2 << 62) | tail
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
