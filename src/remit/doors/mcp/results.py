"""A server's raw result, made to fit the caller's era: its bytes stay unless that forbids them."""

from typing import Final

from remit.errors import UnreadableAnswer, UpstreamProtocolError
from remit.model.protocol import SERVER_INFO_META_KEY
from remit.upstreams.result_types import COMPLETE, COMPLETED
from remit.upstreams.wire import Malformed, joined, json_bytes, members

PRIVATE: Final = b'"private"'

_MODERN_MEMBERS: Final = frozenset({"resultType", "ttlMs", "cacheScope"})
_SERVER_INFO: Final = SERVER_INFO_META_KEY.encode()
_TELLTALES: Final = (
    *(f'"{name}"'.encode() for name in sorted(_MODERN_MEMBERS)),
    b'"structuredContent"',
    _SERVER_INFO,
)


def fitted(result: bytes, *, modern: bool, cacheable: bool = False) -> bytes:
    """Return the result of `tools/call`, or of another method, for a caller of one era.

    Args:
        result: As the server sent it.
        modern: Whether the caller speaks 2026-07-28.
        cacheable: Whether the modern result has to say how long it may be kept. What policy lets
            one caller read is nobody else's to keep, whatever the server says.

    Raises:
        UpstreamProtocolError: The server sent something that cannot be a result, or asks for
            more than a caller of the older eras can give.
    """
    if result.lstrip()[:1] != b"{":
        raise UnreadableAnswer("the server's answer is no result")
    if not modern:
        return _for_legacy(result)
    return _private(_for_modern(result)) if cacheable else _for_modern(result)


def _for_modern(result: bytes) -> bytes:
    if result.endswith(COMPLETED):
        return result
    if b'"resultType"' in result and "resultType" in _parts(result):
        return result
    start = result.index(b"{") + 1
    rest = result[start:]
    comma = b"" if rest.lstrip()[:1] == b"}" else b","
    return b'%b"resultType":%b%b%b' % (result[:start], COMPLETE, comma, rest)


def _private(result: bytes) -> bytes:
    parts = _parts(result)
    if parts.get("resultType") != COMPLETE:
        return result
    lifetime = parts.get("ttlMs", b"0")
    told = {"ttlMs": lifetime if lifetime.isdigit() else b"0", "cacheScope": PRIVATE}
    return result if told.items() <= parts.items() else joined({**parts, **told})


def _for_legacy(result: bytes) -> bytes:
    if not any(telltale in result for telltale in _TELLTALES):
        return result
    parts = _parts(result)
    if parts.get("resultType", COMPLETE) != COMPLETE:
        raise UpstreamProtocolError("the tool asks for input that this connection cannot carry")
    kept = {name: raw for name, raw in parts.items() if not _is_unknown_to_legacy(name, raw)}
    value = parts.get("structuredContent", b"null")
    if value != b"null" and "structuredContent" not in kept and _is_empty(kept.get("content")):
        kept["content"] = json_bytes([{"type": "text", "text": value.decode()}])
    if _SERVER_INFO in kept.get("_meta", b""):
        kept["_meta"] = _without_server_info(kept["_meta"])
    return result if kept == parts else joined(kept)


def _is_unknown_to_legacy(name: str, raw: bytes) -> bool:
    # Up to 2025-11-25 structured content is an object. The content beside it should say the same.
    return name in _MODERN_MEMBERS or (name == "structuredContent" and raw[:1] != b"{")


def _is_empty(content: bytes | None) -> bool:
    return content is None or content.translate(None, b" \t\r\n") in (b"[]", b"null")


def _without_server_info(meta: bytes) -> bytes:
    parts = _parts(meta)
    if SERVER_INFO_META_KEY not in parts:
        return meta
    return joined({name: raw for name, raw in parts.items() if name != SERVER_INFO_META_KEY})


def _parts(raw: bytes) -> dict[str, bytes]:
    try:
        return members(raw)
    except Malformed:
        raise UnreadableAnswer("the server's answer is no result") from None
