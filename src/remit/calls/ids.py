"""Ids of calls and events: UUIDv7, so that text order is time order."""

import os
import time


def new_id() -> str:
    """Return a UUIDv7 as text; sorts by the millisecond in which it was made."""
    millis = time.time_ns() // 1_000_000
    tail = int.from_bytes(os.urandom(10))
    value = (millis << 80) | tail
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    value = (value & ~(0x3 << 62)) | (0x2 << 62)
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
