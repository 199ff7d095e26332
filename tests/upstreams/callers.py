"""Callers with something beside their arguments."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from remit.model.conversation import Abilities, Answering, Conversation, Extras
from remit.model.principals import Principal, PrincipalKind
from remit.model.tools import ToolId
from remit.upstreams.fleet import Fleet


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet:
    """A caller that is never told anything."""

    is_modern: bool = False
    abilities: Abilities = Abilities.NONE
    key: Hashable = "session"
    progress_token: bytes = b""
    log_level: str = ""
    asked_level: str = ""

    async def tell(self, method: str, params: bytes) -> None:
        raise AssertionError(f"was told {method} {params!r}")

    async def ask(self, method: str, params: bytes, answer: Answering) -> None:
        raise AssertionError(f"was asked {method} {params!r} {answer!r}")

    async def take_back(self, answer: Answering, params: bytes) -> None:
        raise AssertionError(f"was told that nobody asks {params!r} {answer!r}")


async def call(fleet: Fleet, conversation: Conversation | None, **extras: Any) -> None:
    await fleet.invoke(
        ToolId("s", "t"),
        arguments=b"{}",
        meta=b"",
        principal=Principal(kind=PrincipalKind.KEY, name="ann"),
        timeout=20,
        extras=Extras(conversation=conversation, **extras),
    )
