"""The two eras of the protocol, seen from the client's side.

Modern (2026-07-28): every request stands alone and says who asks in `params._meta`. Legacy
(2024-11-05 to 2025-11-25): an `initialize` handshake opens a session that later requests rely on.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import version as version_of
from typing import Self, cast

from remit.errors import UpstreamError, UpstreamProtocolError
from remit.model.conversation import Abilities
from remit.model.protocol import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    MODERN_PROTOCOL_VERSIONS,
    PROTOCOL_VERSION_META_KEY,
)
from remit.upstreams.wire import Malformed, joined, json_bytes, members, value_of

CLIENT_INFO = json_bytes({"name": "remit", "version": version_of("remit")})
"""Who we say we are, as JSON."""

_OWN_META = {
    PROTOCOL_VERSION_META_KEY: json_bytes(LATEST_MODERN_VERSION),
    CLIENT_INFO_META_KEY: CLIENT_INFO,
    CLIENT_CAPABILITIES_META_KEY: b"{}",
}
_RELAYED_CAPABILITIES = ("elicitation", "sampling", "roots")
"""What a caller can be asked through us; the rest of its capabilities is none of a server's."""

LONGEST_REMEMBERED = 2048
"""Bytes of a `_meta` that is remembered with ours in it."""

_EMPTY = len(b"{}")
_PROGRESS_TOKEN = "progressToken"  # noqa: S105 - names no secret


@dataclass(frozen=True, slots=True)
class Era:
    """The revision spoken on one connection.

    Attributes:
        capabilities: What the server says it can do; None when it did not say.
        may_ask: Whether an answer to what the server asks can reach it: over HTTP the handshake's
            servers tell by the session whom an answer is for, and some keep none.
        is_modern: Whether requests stand alone.
    """

    version: str
    capabilities: object = field(default=None, compare=False, repr=False)
    may_ask: bool = field(default=True, compare=False)
    is_modern: bool = field(init=False)

    def __post_init__(self) -> None:
        """Look the version up once."""
        object.__setattr__(self, "is_modern", self.version in MODERN_PROTOCOL_VERSIONS)

    @classmethod
    def modern(cls) -> Self:
        """Return the era of self-contained requests."""
        return cls(LATEST_MODERN_VERSION)

    @classmethod
    def discovered(cls, discover_result: bytes) -> Self:
        """Return the modern era with what the server said in answer to `server/discover`."""
        return cls(LATEST_MODERN_VERSION, _member(discover_result, "capabilities"))

    @classmethod
    def agreed(cls, initialize_result: bytes, *, may_ask: bool = True) -> Self:
        """Return the legacy revision that the server chose.

        Raises:
            UpstreamProtocolError: It chose none that we know.
        """
        chosen = _member(initialize_result, "protocolVersion")
        if chosen not in HANDSHAKE_PROTOCOL_VERSIONS:
            raise UpstreamProtocolError(
                f"answers initialize with protocol revision {chosen!r}; remit knows it with "
                f"{', '.join(HANDSHAKE_PROTOCOL_VERSIONS)}"
            )
        return cls(str(chosen), _member(initialize_result, "capabilities"), may_ask)

    def has(self, *path: str) -> bool:
        """Whether the server says that it has the capability at *path*."""
        found = self.capabilities
        for name in path:
            found = cast("dict[str, object]", found).get(name) if isinstance(found, dict) else None
        return found not in (None, False)

    def may_have(self, name: str) -> bool:
        """Whether the server has the capability, or did not say what it has."""
        return self.capabilities is None or self.has(name)

    def params(
        self, parts: bytes, meta: bytes = b"", *, more: bytes = b"", capabilities: bytes = b""
    ) -> bytes:
        """Return the JSON object of *parts* (its members) with `_meta` as this era wants it.

        Args:
            parts: JSON members without the braces, or empty.
            meta: The caller's own `_meta`, a JSON object, or empty. Ours wins where both speak,
                but for what the caller can be asked.
            more: JSON members of `_meta` for this request alone.
            capabilities: What the caller can be asked, where its `_meta` does not say so.

        Raises:
            UpstreamError: *meta* is not a JSON object.
        """
        if len(meta) <= LONGEST_REMEMBERED:
            merged = _merged(meta, capabilities, self.is_modern)
        else:
            merged = _merged.__wrapped__(meta, capabilities, self.is_modern)
        if more:
            merged = b"{%s,%s" % (more, merged[1:]) if len(merged) > _EMPTY else b"{%s}" % more
        if not merged:
            return b"{%s}" % parts
        return b'{%s%s"_meta":%s}' % (parts, b"," if parts else b"", merged)


def initialize_parts(abilities: Abilities) -> bytes:
    """Return the members of our `initialize` params, for callers that can be asked so much."""
    return b'"protocolVersion":%s,"capabilities":%s,"clientInfo":%s' % (
        json_bytes(LATEST_HANDSHAKE_VERSION),
        abilities.to_json(),
        CLIENT_INFO,
    )


@lru_cache(256)  # clients send the same few for ever
def _merged(meta: bytes, capabilities: bytes, is_modern: bool) -> bytes:
    """Return the caller's `_meta` with ours in it, or nothing."""
    try:
        parts = members(meta or b"{}")
    except Malformed as error:
        raise UpstreamError("cannot be asked: the request's _meta is no object") from error
    said = capabilities or _relayed(parts.get(CLIENT_CAPABILITIES_META_KEY, b"{}"))
    own = _OWN_META | {CLIENT_CAPABILITIES_META_KEY: said} if is_modern else {}
    # A token is unique to its sender.
    kept = {k: v for k, v in parts.items() if k not in _OWN_META and k != _PROGRESS_TOKEN}
    return joined(kept | own) if kept or own else b""


def _relayed(capabilities: bytes) -> bytes:
    try:
        said = members(capabilities)
    except Malformed:
        return b"{}"
    return joined({name: said[name] for name in _RELAYED_CAPABILITIES if name in said})


def is_modern_answer(discover_result: bytes) -> bool:
    """Whether the answer to `server/discover` offers a modern revision that we speak."""
    versions = _member(discover_result, "supportedVersions")
    offered = cast("list[object]", versions) if isinstance(versions, list) else []
    return any(version in MODERN_PROTOCOL_VERSIONS for version in offered)


def announces_changes(server_answer: bytes) -> bool:
    """Whether the answer to `server/discover` promises to tell when a list changes."""
    era = Era.discovered(server_answer)
    return any(era.has(name, "listChanged") for name in ("tools", "prompts", "resources"))


def _member(data: bytes, key: str) -> object:
    try:
        return value_of(members(data).get(key, b"null"))
    except Malformed:
        return None
