"""Any text as the value of an HTTP header: `=?base64?…?=` where it would not pass as it is.

MCP 2026-07-28, basic/transports, "Value Encoding".
"""

import re
from base64 import b64decode, b64encode
from typing import Final

_BEGIN: Final = "=?base64?"
_END: Final = "?="
_PLAIN: Final = re.compile(r"[\x20-\x7e]*")
_WRAPPED: Final = re.compile(r"=\?base64\?(.*)\?=")


def encode_header_value(text: str) -> str:
    """Return *text* as it can stand in a header."""
    is_plain = _PLAIN.fullmatch(text) and text == text.strip()
    if is_plain and not _WRAPPED.fullmatch(text):
        return text
    return f"{_BEGIN}{b64encode(text.encode()).decode()}{_END}"


def decode_header_value(value: str) -> str | None:
    """Return the text that *value* stands for, or None where it is wrapped and damaged."""
    wrapped = _WRAPPED.fullmatch(value)
    if wrapped is None:
        return value
    try:
        raw = b64decode(wrapped[1], validate=True)
        # the decoder ignores bits that no encoder sets: two values would mean the same
        return raw.decode() if b64encode(raw).decode() == wrapped[1] else None
    except ValueError:
        return None
