"""The other side of a call that is under way: what its caller wants to hear, and can be asked."""

from collections.abc import Callable, Hashable, Mapping
from enum import IntFlag
from typing import Final, Protocol

import msgspec

from remit.model.members import members_of

PAUSES: Final = (0.05, 0.1, 0.2, *[0.25] * 7)
"""Seconds before each further round of a call whose server asks for that and nothing else; what
the protocol's own libraries wait."""

ELICIT: Final = "elicitation/create"
SAMPLE: Final = "sampling/createMessage"
LIST_ROOTS: Final = "roots/list"

LEVELS: Final = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
"""Levels of log messages, the least first (RFC 5424)."""

Answering = Callable[[bytes], None]
"""Takes the answer to a question: the raw member `"result":…` or `"error":…`."""


class Abilities(IntFlag):
    """What a client says it can be asked; each bit is one capability of the protocol.

    That it tells when its roots change is none: nobody would tell the server.
    """

    NONE = 0
    ELICIT_FORM = 1
    ELICIT_URL = 2
    SAMPLE = 4
    SAMPLE_TOOLS = 8
    SAMPLE_CONTEXT = 16
    LIST_ROOTS = 32

    @classmethod
    def of(cls, capabilities: object) -> "Abilities":
        """Read a `ClientCapabilities` object; whatever else is in it is none of ours."""
        found = members_of(capabilities)
        able = cls.NONE
        if "elicitation" in found:
            asked = members_of(found["elicitation"])
            if "url" in asked:
                able |= cls.ELICIT_URL
            if "form" in asked or "url" not in asked:  # an empty object means forms
                able |= cls.ELICIT_FORM
        if "sampling" in found:
            able |= cls.SAMPLE
            able |= cls.SAMPLE_TOOLS if "tools" in members_of(found["sampling"]) else cls.NONE
            able |= cls.SAMPLE_CONTEXT if "context" in members_of(found["sampling"]) else cls.NONE
        if "roots" in found:
            able |= cls.LIST_ROOTS
        return able

    def to_json(self) -> bytes:
        """Return the `ClientCapabilities` object that says the same."""
        said: dict[str, dict[str, object]] = {}
        if self & (Abilities.ELICIT_FORM | Abilities.ELICIT_URL):
            said["elicitation"] = self._parts(
                {"form": Abilities.ELICIT_FORM, "url": Abilities.ELICIT_URL}
            )
        if self & Abilities.SAMPLE:
            said["sampling"] = self._parts(
                {"tools": Abilities.SAMPLE_TOOLS, "context": Abilities.SAMPLE_CONTEXT}
            )
        if self & Abilities.LIST_ROOTS:
            said["roots"] = {}
        return msgspec.json.encode(said)

    def can_answer(self, method: str, params: object) -> bool:
        """Whether a request of a server is one that such a client understands."""
        if method == ELICIT:
            is_url = members_of(params).get("mode") == "url"
            return bool(self & (Abilities.ELICIT_URL if is_url else Abilities.ELICIT_FORM))
        wanted = {SAMPLE: Abilities.SAMPLE, LIST_ROOTS: Abilities.LIST_ROOTS}
        return bool(self & wanted.get(method, Abilities.NONE))

    def _parts(self, names: Mapping[str, "Abilities"]) -> dict[str, object]:
        return {name: {} for name, bit in names.items() if self & bit}


class Conversation(Protocol):
    """A caller while its request is answered, as the servers behind us may know it."""

    @property
    def key(self) -> Hashable:
        """Equal for two requests only if they are of one caller in one session."""
        ...

    @property
    def is_modern(self) -> bool:
        """Whether its requests stand alone, so that nothing can be asked on the way."""
        ...

    @property
    def abilities(self) -> Abilities:
        """What it can be asked on the way; a modern caller says it in the request instead."""
        ...

    @property
    def progress_token(self) -> bytes:
        """The raw token under which it wants to hear of progress, or empty."""
        ...

    @property
    def log_level(self) -> str:
        """The least level of messages that it wants to hear, or empty for none."""
        ...

    @property
    def asked_level(self) -> str:
        """The level that it named itself, or empty."""
        ...

    async def tell(self, method: str, params: bytes) -> None:
        """Send a notification, if there still is somebody to send it to."""
        ...

    async def ask(self, method: str, params: bytes, answer: Answering) -> None:
        """Send a request; *answer* is called once, at once if it cannot be asked."""
        ...

    async def take_back(self, answer: Answering, params: bytes) -> None:
        """Tell the caller that what *answer* was to be called for needs no answer any more.

        Args:
            answer: Is not called any more.
            params: Raw, as the server's `notifications/cancelled` has them.
        """
        ...


class Extras(msgspec.Struct, frozen=True, kw_only=True):
    """What goes with a request beside its arguments and its `_meta`.

    Attributes:
        responses: Raw `inputResponses` of another round, or empty (2026-07-28).
        state: Raw `requestState` of another round: sealed as the caller sends it, the server's
            own as it is sent on; empty for none.
        headers: Mirrored arguments that no schema of ours explains, to be passed on.
        conversation: Who hears what the server says meanwhile.
    """

    responses: bytes = b""
    state: bytes = b""
    headers: Mapping[str, str] = {}
    conversation: Conversation | None = None

    def __repr__(self) -> str:
        """Name nothing of what it holds."""
        return "Extras()"

    @property
    def parts(self) -> bytes:
        """The members that it adds to a request's params, each with a comma before it."""
        responses = b',"inputResponses":' + self.responses if self.responses else b""
        return responses + (b',"requestState":' + self.state if self.state else b"")
