"""Which of several connections to one server a call takes: one that is like its caller.

modern caller ──▶ the server's newest era
older caller  ──▶ the older era, opened with what the caller can be asked, if the server speaks it;
                  else the newest, bridged (`bridge.py`)
"""

from collections.abc import Hashable
from typing import Final

import msgspec

from remit.model.conversation import Abilities, Conversation
from remit.model.principals import Principal
from remit.upstreams.era import Era


class Way(msgspec.Struct, frozen=True):
    """What distinguishes one connection to a server from another; calls with equal ones share it.

    Attributes:
        owner: Tenant and subject where callers do not share connections (R27), else nothing.
        is_legacy: Whether it begins with a handshake although the server is modern, too.
        abilities: What the handshake says that we can be asked.
    """

    owner: Hashable = ()
    is_legacy: bool = False
    abilities: Abilities = Abilities.NONE

    @property
    def is_plain(self) -> bool:
        """Whether it is opened as the server likes best, by whoever comes first."""
        return not self.is_legacy and not self.abilities


PLAIN: Final = Way()
"""The way of the connection that lists what the server offers."""


def way_for(
    principal: Principal,
    conversation: Conversation | None,
    *,
    era: Era | None,
    is_shared: bool,
    is_modern_only: bool,
) -> Way:
    """Return the way of a call.

    Args:
        principal: Who calls.
        conversation: The caller's side of it; None takes the plain way.
        era: What the server speaks; None while that is not known.
        is_shared: Whether callers share connections.
        is_modern_only: Whether the server is known to refuse the handshake.
    """
    owner = () if is_shared else (principal.tenant, principal.subject)
    if conversation is None or conversation.is_modern or era is None:
        return Way(owner)
    if era.is_modern:
        abilities = Abilities.NONE if is_modern_only else conversation.abilities
        return Way(owner, not is_modern_only, abilities)
    return Way(owner, False, conversation.abilities)
