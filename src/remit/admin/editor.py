"""Writing an edit as a revision: validated as a file is, and never over somebody else's (R18).

    current revision ──▶ edit ──▶ read as a file is ──▶ revision ──▶ in force
                           ▲                               │
                           └──── another was faster ◀──────┘

Whoever names the revision that the change was made for is told when another came first. Without
one the edit is made again, of what the other wrote, so that nothing of that is lost either.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Protocol

import anyio.to_thread
import structlog

from remit.admin.changes import AuthorityChange, DocumentChange, document_changes
from remit.admin.check import check_declaration
from remit.admin.declaration import Loaded, parse_document
from remit.admin.edits import Document, Edit
from remit.admin.named_changes import shifts_between
from remit.admin.revisions import RevisionStore, parse_revision
from remit.admin.subjects import Subjects
from remit.calls.redact import recorded_text
from remit.errors import BadCall, DeclarationError, Outdated, Problem, StorageUnavailable
from remit.identity.clock import utc_now
from remit.model.declaration import Declaration
from remit.model.revisions import Revision
from remit.model.tools import Tool

log = structlog.get_logger(__name__)

LONGEST_REASON: Final = 500
"""Characters of a reason."""

ATTEMPTS: Final = 10
"""How often an edit for no certain revision is made before others are too fast for it."""


class SeenStore(Protocol):
    """What servers were seen to offer."""

    async def all_tools(self, tenant: str) -> Sequence[Tool]:
        """Return every tool last seen."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """What an edit did, or would do.

    Attributes:
        number: The revision that counts afterwards; for a rehearsal the one that would.
        is_written: Whether this edit made it; an edit that changes nothing makes none.
        document: What it says; secrets in clear are in it (`masking.masked`).
        authority: Who gains or loses which tool.
        warnings: What is suspicious now and was not before; no error.
    """

    number: int
    is_written: bool
    document: Document
    changes: tuple[DocumentChange, ...]
    authority: tuple[AuthorityChange, ...]
    warnings: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Base:
    """What an edit starts from."""

    number: int
    document: Document
    loaded: Loaded


class Editor:
    """Makes edits of tenants' declarations."""

    def __init__(
        self,
        store: RevisionStore,
        seen: SeenStore,
        *,
        environ: Mapping[str, str],
        subjects: Callable[[str, datetime], Subjects],
        follow: Callable[[str], Awaitable[object]],
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """Change nothing yet.

        Args:
            store: Where revisions are kept.
            seen: What servers were seen to offer.
            environ: What `${NAME}` is looked up in, for warnings alone.
            subjects: Returns what finds the callers of a tenant, as they stand at a moment.
            follow: Puts the latest revision of a tenant in force here; elsewhere it is noticed.
            now: The time, aware UTC.
        """
        self._store = store
        self._seen = seen
        self._environ = environ
        self._subjects = subjects
        self._follow = follow
        self._now = now

    async def current(self, tenant: str) -> tuple[int, Document]:
        """Return the current revision's number and document, 0 and empty before the first."""
        base = _base(await self._store.latest(tenant))
        return base.number, base.document

    async def write(
        self, tenant: str, edit: Edit, *, author: str, reason: str, expected: int | None = None
    ) -> Edited:
        """Make *edit* of the current revision, and put the result in force.

        Args:
            tenant: Whose declaration it is.
            edit: One of `edits.py`; it may be made more than once.
            author: SUBJECT spelling of who makes it.
            reason: Why, in a line.
            expected: The number of the revision that it was made for, 0 for none yet; None to
                make it of whichever is the current one.

        Raises:
            Outdated: Another revision than *expected* is the current one.
            Conflict: What is to be added exists already, or others keep writing revisions.
            NotFound: What is to be changed is not declared.
            DeclarationError: The result is not valid; nothing has changed.
            BadCall: The reason does not do.
        """
        told = checked_reason(reason)
        left = ATTEMPTS if expected is None else 1
        while True:
            left -= 1
            base, edited = await self._prepare(tenant, edit, expected)
            try:
                written = await self._store.write(
                    tenant,
                    edited.document,
                    author=author,
                    reason=told,
                    now=self._now(),
                    after=base.number,
                )
            except Outdated:
                if not left:
                    raise
            else:
                await self._put_in_force(tenant)
                made = written.number != base.number
                return replace(edited, number=written.number, is_written=made)

    async def rehearse(self, tenant: str, edit: Edit, *, expected: int | None = None) -> Edited:
        """Return what *edit* would do, and do nothing.

        Raises:
            RemitError: As `write` would.
        """
        base, edited = await self._prepare(tenant, edit, expected)
        return replace(edited, number=base.number + bool(edited.changes))

    async def _put_in_force(self, tenant: str) -> None:
        try:
            await self._follow(tenant)
        except StorageUnavailable as error:  # it is written; whoever looks for changes finds it
            log.warning("a revision is not in force here yet", tenant=tenant, error=str(error))

    async def _prepare(self, tenant: str, edit: Edit, expected: int | None) -> tuple[_Base, Edited]:
        base = _base(await self._store.latest(tenant))
        if expected not in (None, base.number):
            raise Outdated(
                f"revision {base.number} is the current one, not {expected}:"
                " look at what it says, and make the change anew"
            )
        seen = await self._seen.all_tools(tenant)
        # Thousands of rules take a while: in a thread, so that calls go on meanwhile.
        new, edited = await anyio.to_thread.run_sync(self._edited, edit, base, seen)
        authority = await shifts_between(
            base.loaded.declaration,
            new,
            [tool.id for tool in seen],
            self._subjects(tenant, self._now()),
        )
        return base, replace(edited, authority=authority)

    def _edited(self, edit: Edit, base: _Base, seen: Sequence[Tool]) -> tuple[Declaration, Edited]:
        loaded = parse_document(edit(base.document))
        document = loaded.declaration.document
        edited = Edited(
            number=base.number,
            is_written=False,
            document=document,
            changes=document_changes(base.document, document),
            authority=(),
            warnings=self._new_warnings(base.loaded, loaded, seen),
        )
        return loaded.declaration, edited

    def _new_warnings(self, old: Loaded, new: Loaded, seen: Sequence[Tool]) -> tuple[Problem, ...]:
        names: dict[str, set[str]] = {}
        for tool in seen:
            names.setdefault(tool.id.server, set()).add(tool.id.name)
        offered = {server: frozenset(found) for server, found in names.items()}
        before, after = (
            check_declaration(one, offered=offered, environ=self._environ, now=self._now())
            for one in (old, new)
        )
        known = {problem.message for problem in (*before.errors, *before.warnings)}
        found = (*after.errors, *after.warnings)
        return tuple(problem for problem in found if problem.message not in known)


def checked_reason(text: str) -> str:
    """Return a reason as it is recorded: one line, without secrets.

    Raises:
        BadCall: It is empty, too long, or more than a line.
    """
    reason = text.strip()
    if not reason or len(reason) > LONGEST_REASON or not reason.isprintable():
        raise BadCall(f"say why in one line of up to {LONGEST_REASON} characters")
    return recorded_text(reason, LONGEST_REASON)


def _base(latest: Revision | None) -> _Base:
    """Return what to start from; a revision that this version cannot use can still be mended."""
    empty = Loaded(declaration=Declaration())
    if latest is None:
        return _Base(number=0, document={}, loaded=empty)
    try:
        loaded = parse_revision(latest)
    except DeclarationError:
        return _Base(number=latest.number, document=latest.document, loaded=empty)
    return _Base(number=latest.number, document=loaded.declaration.document, loaded=loaded)
