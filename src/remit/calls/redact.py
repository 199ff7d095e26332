"""What of a body may be stored: no secrets, at most the cap, always valid JSON (R28).

Redaction concerns the record only; what passes to the caller is never altered.
"""

import json
import re
from typing import Final, cast

import msgspec

REDACTED: Final = "[redacted]"

_KEY = (
    r"pass(?:word|wd|phrase)|secret|token(?!s\b)|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|authorization|credential|cookie|bearer"
)
_SECRET_KEY: Final = re.compile(_KEY, re.IGNORECASE)

# Shapes that are secrets wherever they stand: bearer headers, JSON web tokens, keys of remit and
# of well-known issuers, PEM blocks, and user names with passwords in URLs.
_VALUE = (
    r"\bbearer\s+[\w.~+/=-]{8,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|\brmt_[A-Za-z0-9]{4,}_[\w-]{8,}"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-)[\w-]{16,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|(?<=://)[^/\s:@\"]+:[^/\s@\"]+(?=@)"
)
_SECRET_VALUE: Final = re.compile(_VALUE, re.IGNORECASE)

# One pass over the raw bytes says whether a body needs the slow walk at all.
_SUSPICIOUS: Final = re.compile(f"{_KEY}|{_VALUE}".encode(), re.IGNORECASE)
_KEYED_TEXT: Final = re.compile(
    rf'("[^"]*(?:{_KEY})[^"]*"\s*:\s*)("(?:[^"\\]|\\.)*"?|[^,\}}\]\s]+)', re.IGNORECASE
)


def recorded(body: bytes, cap: int) -> str:
    """Return *body* (raw JSON) as JSON text fit to be stored.

    A body over *cap* bytes is stored as `{"truncated": true, "size": N, "head": "..."}`, whose
    text is at most about the cap.
    """
    if len(body) > cap:
        return _head(body, cap)
    text = body.decode("utf-8", "replace")
    if _SUSPICIOUS.search(body) is None:
        return text
    try:
        return json.dumps(redacted(json.loads(text)), separators=(",", ":"), ensure_ascii=False)
    except (ValueError, RecursionError):
        return _head(body, cap)


def redacted(value: object) -> object:
    """Return a copy of a decoded JSON *value* without its secrets. Idempotent."""
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return {
            redacted_text(key): REDACTED if _SECRET_KEY.search(key) else redacted(member)
            for key, member in members.items()
        }
    if isinstance(value, list):
        return [redacted(item) for item in cast("list[object]", value)]
    if isinstance(value, str):
        return redacted_text(value)
    return value


def redacted_text(text: str) -> str:
    """Return *text* without what looks like a secret. Idempotent."""
    return _SECRET_VALUE.sub(REDACTED, text)


def _head(body: bytes, cap: int) -> str:
    start = body[:cap].decode("utf-8", "replace")
    head = redacted_text(_KEYED_TEXT.sub(rf'\1"{REDACTED}"', start))
    capped = {"truncated": True, "size": len(body), "head": head}
    return msgspec.json.encode(capped).decode()
