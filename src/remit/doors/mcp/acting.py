"""The acting member of a call that came over MCP, as `AgentMCPService.execute_tool` takes one."""

from typing import Final
from uuid import UUID

from remit.doors.mcp.envelope import Message, decoded
from remit.errors import BadCall
from remit.upstreams.wire import Malformed, members

MEMBER: Final = "remit/member"
"""What a caller puts into `_meta`: the UUID of the member that acts, for the record alone (S0.23).

It passes to the server as the rest of `_meta` does, so that a server that is an agent can name it
in calls of its own.
"""

_NAME: Final = f'"{MEMBER}"'.encode()


def member_of(message: Message) -> str | None:
    """Return the acting member that the caller named, or None.

    Raises:
        BadCall: What stands there is no UUID.
    """
    if _NAME not in message.meta:
        return None
    try:
        named = decoded(bytes(members(message.meta).get(MEMBER, b"null")))
    except Malformed:
        return None  # whoever the request goes to says so
    if named is None:
        return None
    try:
        return str(UUID(str(named)))
    except ValueError as error:
        raise BadCall(f"{MEMBER} in _meta must be a UUID") from error
