"""What forms that ask about callers and tools suggest, and the command that asks the same."""

import shlex
from collections.abc import Sequence
from typing import Final

from remit.client import authority, keys
from remit.doors.console.visitor import Visitor
from remit.model.principals import DEFAULT_TENANT

MOST_CALLERS: Final = 100
"""Callers of each kind that are suggested; any other can be typed."""
MOST_TOOLS: Final = 500
"""Tools that are suggested, likewise."""

_FEW: Final = ("role", "agent", "user_role", "agent_type")
_STEP: Final = 100  # as many tools as one answer has


def command_of(visitor: Visitor, *words: str) -> str:
    """Return the command that asks the same in a shell."""
    meant = () if visitor.tenant == DEFAULT_TENANT else ("--tenant", visitor.tenant)
    return shlex.join(["remit", *words, *meant])


async def callers_known_to(visitor: Visitor) -> Sequence[str]:
    """Return callers to choose from; a few of each kind are enough to see how they are written."""
    found: list[str] = []
    for kind in _FEW:
        part = authority.matrix(kind=kind, callers_limit=MOST_CALLERS, tools_limit=1)
        found += [caller.subject for caller in (await visitor.ask(part)).callers]
    # Of keys there may be thousands, which a matrix would read all.
    some = await visitor.ask(keys.list_all(limit=MOST_CALLERS))
    return [*found, *(f"key:{key.name}" for key in some.items)]


async def tools_known_to(visitor: Visitor) -> Sequence[str]:
    """Return tools to choose from."""
    found: list[str] = []
    for offset in range(0, MOST_TOOLS, _STEP):
        part = authority.matrix(callers_limit=1, tools_limit=_STEP, tools_offset=offset)
        page = await visitor.ask(part)
        found += [each.tool for each in page.tools]
        if len(found) >= page.tools_total:
            break
    return found
