"""The inbox of each agent as a resource that clients can follow: `mail://inbox`."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from remit.crew.desk import Request
from remit.crew.mailbox import LOOK_EVERY, list_inbox
from remit.crew.servers import CrewServer
from remit.errors import (
    AgentNotFound,
    InvalidAgentState,
    StorageUnavailable,
    UpstreamProtocolError,
    UpstreamUnavailable,
)
from remit.model.principals import Principal, PrincipalKind
from remit.model.protocol import INVALID_PARAMS
from remit.servers.arguments import Arguments

INBOX: Final = "mail://inbox"

_AGENT: Final = f"{PrincipalKind.AGENT.value}:"


class MailServer(CrewServer):
    """The server `mail`: its tools, and the reader's own unread mail as a resource."""

    def resources(self) -> Sequence[Mapping[str, object]]:
        """Return the inbox; whose it is depends on who reads it."""
        return [
            {
                "uri": INBOX,
                "name": "inbox",
                "title": "Your unread mail",
                "description": "What mail__list_inbox returns; it is updated by mail to you.",
                "mimeType": "application/json",
            }
        ]

    async def read_for(self, principal: Principal, uri: str) -> Mapping[str, object]:
        """Return the unread mail of an agent.

        Raises:
            UpstreamProtocolError: There is no such resource, or the caller has no inbox.
            UpstreamUnavailable: The database cannot be used now.
        """
        if uri != INBOX:
            raise _refused(f"has no resource {uri[:200]!r}")
        desk = self.desk(principal, Request(tool="mail/inbox", key="", digest=""))
        try:
            inbox = await list_inbox(desk, Arguments({}))
        except (InvalidAgentState, AgentNotFound) as error:
            raise _refused(str(error)) from error
        except StorageUnavailable as error:
            raise UpstreamUnavailable(f"cannot: {error}", transient=True) from error
        text = json.dumps(inbox, ensure_ascii=False)
        return {"contents": [{"uri": INBOX, "mimeType": "application/json", "text": text}]}

    async def version_for(self, tenant: str, subject: str, uri: str) -> object:
        """Return what is another once mail came or was read.

        Raises:
            UpstreamProtocolError: There is no such resource, or the caller has no inbox.
            UpstreamUnavailable: The database cannot be used now.
        """
        if uri != INBOX or not subject.startswith(_AGENT):
            raise _refused(f"tells {subject} of no updates to {uri[:200]!r}")
        agent_id = subject.removeprefix(_AGENT)
        try:
            unread = await self._store.count_unread(tenant, agent_id)
            newest = await self._store.inbox(tenant, agent_id, include_read=True, limit=1)
        except StorageUnavailable as error:
            raise UpstreamUnavailable(f"cannot: {error}", transient=True) from error
        return unread, [mail.id for mail in newest]

    async def stirred(self) -> None:
        """Return when something was changed, or soon where nobody tells."""
        await self._changes.changed(self._changes.told, within=LOOK_EVERY)


def _refused(message: str) -> UpstreamProtocolError:
    error = {"code": INVALID_PARAMS, "message": message}
    return UpstreamProtocolError(message, rpc_error=json.dumps(error).encode())
