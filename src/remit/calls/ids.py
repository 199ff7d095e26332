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
    stamp = (time.time_ns() << 12) // 1_000_000
    value = (stamp << 64) | (0x2 << 62) | _tails.getrandbits(62)
    text = value.to_bytes(16).hex()  # a zero first: the stamp has 15 digits
    return f"{text[1:9]}-{text[9:13]}-7{text[13:16]}-{text[16:20]}-{text[20:]}"
