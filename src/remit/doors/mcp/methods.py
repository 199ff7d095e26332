"""What remit says about itself and its list, as raw results of both eras."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from remit.doors.mcp.answers import Answer
from remit.doors.mcp.changes import Topic
from remit.doors.mcp.envelope import Message, decoded
from remit.model.protocol import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    MODERN_PROTOCOL_VERSIONS,
    SERVER_INFO_META_KEY,
)

TTL_MS: Final = 2000
"""How long a client may keep a list, in milliseconds; a change shows within 2 seconds (R17)."""

TOOLS: Final[Mapping[str, object]] = {"tools": {"listChanged": True}, "logging": {}}
"""What is announced to everybody; the rest only to callers that may use it."""

EMPTY_RESULT: Final = b"{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    """Who we are, for people who read a client's list of servers."""

    name: str
    version: str
    title: str = ""

    def to_wire(self) -> dict[str, str]:
        """Return the protocol's `Implementation` object."""
        wire = {"name": self.name, "version": self.version}
        return wire | {"title": self.title} if self.title else wire


class OwnResults:
    """Builds the results of `server/discover`, `initialize` and the lists."""

    def __init__(self, info: ServerInfo) -> None:
        self._info = info.to_wire()
        self.meta: Mapping[str, object] = {SERVER_INFO_META_KEY: self._info}
        self._cacheable: dict[str, object] = {
            "ttlMs": TTL_MS,
            "cacheScope": "private",
            "resultType": "complete",
            "_meta": self.meta,
        }
        self._list_tail = b"," + msgspec.json.encode(self._cacheable)[1:] + b"}"

    def discover(self, instructions: str, also: Mapping[str, object]) -> bytes:
        """Return the result of `server/discover`; it differs by caller, so it is private.

        Args:
            instructions: For the caller's model, or empty.
            also: The capabilities beside tools that the caller may use.
        """
        return msgspec.json.encode(
            {
                "supportedVersions": list(MODERN_PROTOCOL_VERSIONS),
                "capabilities": {**TOOLS, **also},
            }
            | _instructions(instructions)
            | self._cacheable
        )

    def initialize(self, version: str, instructions: str, also: Mapping[str, object]) -> bytes:
        """Return the result of `initialize` that settles on *version*; the rest as `discover`."""
        return msgspec.json.encode(
            {
                "protocolVersion": version,
                "capabilities": {**TOOLS, **also},
                "serverInfo": self._info,
            }
            | _instructions(instructions)
        )

    def listed(self, message_id: bytes, member: str, entries: bytes, *, modern: bool) -> Answer:
        """Return the answer whose result is a list, all on one page.

        Args:
            message_id: Raw JSON.
            member: What the list is called in the result.
            entries: The raw array, which may be large and is not copied.
            modern: Whether its client knows how long it may keep a list.
        """
        return Answer(
            body=b'{"jsonrpc":"2.0","id":%b,"result":{"%b":' % (message_id, member.encode()),
            rest=(entries, self._list_tail if modern else b"}}"),
        )


def negotiated_version(initialize: Message) -> str | None:
    """Return the revision to settle on, or None when the request names none."""
    asked = decoded(initialize.param("protocolVersion"))
    if not isinstance(asked, str):
        return None
    return asked if asked in HANDSHAKE_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller of `subscriptions/listen` asks to be told of."""

    toolsListChanged: bool = False  # noqa: N815 - the protocol's spelling
    promptsListChanged: bool = False  # noqa: N815
    resourcesListChanged: bool = False  # noqa: N815
    resourceSubscriptions: list[str] = []  # noqa: N815

    @property
    def topics(self) -> list[Topic]:
        """The lists whose changes it wants."""
        asked = (self.toolsListChanged, self.promptsListChanged, self.resourcesListChanged)
        return [topic for topic, wants in zip(Topic, asked, strict=True) if wants]


def wanted_of(listen: Message) -> Wanted | None:
    """Return what `subscriptions/listen` asks for; None when it is misshapen."""
    raw = listen.param("notifications")
    try:
        return None if raw is None else msgspec.json.decode(raw, type=Wanted)
    except (msgspec.MsgspecError, RecursionError):
        return None


def honoured(topics: Collection[Topic], uris: Sequence[str]) -> bytes:
    """Return what is honoured of what was asked for, as JSON."""
    told: dict[str, object] = {f"{topic.value}ListChanged": True for topic in topics}
    if uris:
        told["resourceSubscriptions"] = list(uris)
    return msgspec.json.encode(told)


def _instructions(text: str) -> dict[str, object]:
    return {"instructions": text} if text else {}
