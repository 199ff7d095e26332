"""The human's side of the mail: what agents, or the gateway, have sent to the human of a tenant.

There is one inbox a tenant. Whoever administers it is the human; the record says who that was.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Protocol

from remit.crew.desk import settled
from remit.crew.mailbox import reply_subject, subjects_of_thread
from remit.errors import BadCall, NotFound
from remit.model.crew import Change, Mail
from remit.model.crew_events import mail_sent

MOST_OF_THREAD: Final = 100
"""Mails of one thread that are shown."""

_HUMAN: Final = ""


class InboxStore(Protocol):
    """Where mail is kept; `storage/crew.py` says more."""

    async def apply(self, change: Change) -> None:
        """Write all of *change*, or raise Outdated and write nothing."""
        ...

    async def find_mail(self, tenant: str, mail_id: str) -> Mail | None:
        """Return a mail, or None."""
        ...

    async def listed_mail(
        self, tenant: str, to_agent: str, *, include_read: bool, after: str = "", limit: int
    ) -> tuple[Sequence[Mail], bool]:
        """Return mails to an agent after one, newest first, and whether there are older ones."""
        ...

    async def between(
        self, tenant: str, agent_id: str, subjects: Collection[str], *, limit: int
    ) -> Sequence[Mail]:
        """Return mails between an agent and the human under these subjects, newest first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanInbox:
    """The mail of a tenant's human.

    Attributes:
        clock: Returns the time, aware UTC.
        new_id: Returns an id that nothing has.
    """

    store: InboxStore
    clock: Callable[[], datetime]
    new_id: Callable[[], str]

    async def mails(
        self, tenant: str, *, include_read: bool, after: str = "", limit: int
    ) -> tuple[Sequence[Mail], bool]:
        """Return the newest mails to the human, newest first, and whether there are older ones.

        They are fewer than *limit* where they are large, however many there are.

        Args:
            tenant: Whose human.
            include_read: Whether those that were read count, too.
            after: The id of the mail to go on after; empty to begin with the newest.
            limit: Most mails.

        Raises:
            BadCall: There is no mail of that id to go on after.
        """
        if after:
            last = await self.store.find_mail(tenant, after)
            if last is None or not last.is_for_human:
                raise BadCall(f"no mail of the inbox has the id {after[:80]!r}: begin with none")
        return await self.store.listed_mail(
            tenant, _HUMAN, include_read=include_read, after=after, limit=limit
        )

    async def thread(self, tenant: str, mail_id: str) -> Sequence[Mail]:
        """Return a mail to the human and what was answered to and fro, oldest first.

        That is all mail between the same agent and the human under the same subject, the newest
        MOST_OF_THREAD of it. Nothing is marked as read.

        Raises:
            NotFound: There is no mail of that id.
        """
        mail = await self._find(tenant, mail_id)
        if not mail.from_agent:
            return [mail]
        subjects = subjects_of_thread(mail.subject)
        found = await self.store.between(tenant, mail.from_agent, subjects, limit=MOST_OF_THREAD)
        return sorted({each.id: each for each in (*found, mail)}.values(), key=_by_age)

    async def read(self, tenant: str, mail_id: str) -> Mail:
        """Return a mail to the human, and mark it as read.

        Raises:
            NotFound: There is none of that id.
        """

        async def attempt() -> Mail:
            mail = await self._find(tenant, mail_id)
            if mail.read is None:
                await self.store.apply(Change(mails=(replace(mail, read=self.clock()),)))
                mail = await self._find(tenant, mail_id)
            return mail

        return await settled(attempt)

    async def reply(self, tenant: str, mail_id: str, body: str, *, author: str) -> Mail:
        """Answer the agent that sent a mail, which is read then.

        *author* is who does, such as `cli:ada`.

        Raises:
            NotFound: There is no such mail.
            BadCall: No agent sent it, or the answer is empty.
        """
        original = await self._find(tenant, mail_id)
        if not body.strip():
            raise BadCall("an answer without words helps nobody: say something")
        if not original.from_agent:
            raise BadCall(f"mail {mail_id!r} is from {original.sender}, which has no inbox")
        await self.read(tenant, mail_id)
        mail = Mail(
            id=self.new_id(),
            tenant=tenant,
            sender=author,
            to_agent=original.from_agent,
            subject=reply_subject(original.subject),
            body=body,
            created=self.clock(),
        )
        event = mail_sent(mail, self.new_id())
        await self.store.apply(Change(mails=(mail,), events=(event,)))
        return mail

    async def _find(self, tenant: str, mail_id: str) -> Mail:
        mail = await self.store.find_mail(tenant, mail_id)
        if mail is None or not mail.is_for_human:
            raise NotFound(f"there is no mail {mail_id[:80]!r} in the inbox")
        return mail


def _by_age(mail: Mail) -> tuple[datetime, str]:
    return mail.created, mail.id
