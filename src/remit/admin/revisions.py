"""The declaration's life: what a file may write, what is in force, and going back (R18).

    a file that says what the last applied one said  →  the latest revision counts, whoever wrote it
    a file that says something else                  →  a new revision, and refused if that would
                                                        overwrite what others wrote since

"Others" are the console, the API and `remit rollback`: whatever no file has said yet.
"""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import structlog
import yaml

from remit.admin.change_record import Progress
from remit.admin.changes import document_changes
from remit.admin.declaration import Loaded, parse_document
from remit.admin.yaml_source import read_text
from remit.errors import Conflict, DeclarationError, Outdated, StartupError
from remit.model.declaration import Declaration
from remit.model.revisions import Revision, RevisionSummary
from remit.model.servers import ServerConfig
from remit.storage.revisions import digest_of

log = structlog.get_logger(__name__)

Recording = Callable[[str, int], AbstractAsyncContextManager[Progress]]
"""From a reason and the revision in force to the record of what the block changes."""

MOST_SHOWN = 20
"""Lines of a difference that a refusal shows."""

MOST_TOLD = 5
"""Revisions that a refusal names."""


class RevisionStore(Protocol):
    """Where revisions are kept."""

    async def latest(self, tenant: str, *, before: int | None = None) -> Revision | None:
        """Return the current revision, or the last before that number; None if there is none."""
        ...

    async def last_applied(self, tenant: str) -> Revision | None:
        """Return the last revision that a file said the same as, or None."""
        ...

    async def get_revision(self, tenant: str, number: int) -> Revision:
        """Return one revision.

        Raises:
            NotFound: The tenant has no revision of that number.
        """
        ...

    async def summaries(
        self,
        tenant: str,
        *,
        before: int | None = None,
        after: int = 0,
        limit: int | None = None,
    ) -> Sequence[RevisionSummary]:
        """Return revisions between two numbers without what they say, newest first."""
        ...

    async def write(
        self,
        tenant: str,
        document: Mapping[str, object],
        *,
        author: str,
        reason: str,
        now: datetime,
        from_file: bool = False,
        after: int | None = None,
    ) -> Revision:
        """Make *document* the current revision; return the current one if it says the same.

        Raises:
            Outdated: *after* is given and is not the current one's number.
            Conflict: Others kept writing revisions.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a document of a file stands against the chain.

    Attributes:
        latest: The current revision, or None before the first.
        is_latest: Whether the document says the same as the current revision.
        was_applied: Whether it says the same as the last revision that came from a file.
        newer: What others wrote since a file last said the same, newest first, as far as it is
            told.
    """

    latest: Revision | None
    is_latest: bool
    was_applied: bool
    newer: tuple[RevisionSummary, ...]

    @property
    def number(self) -> int:
        """The current revision's number, 0 for none."""
        return 0 if self.latest is None else self.latest.number

    @property
    def overwrites(self) -> bool:
        """Whether the document would undo what others wrote since a file last said the same."""
        return bool(self.newer) and not self.is_latest


async def standing_of(
    store: RevisionStore, tenant: str, document: Mapping[str, object]
) -> Standing:
    """Hold *document* against the revisions of *tenant*."""
    latest = await store.latest(tenant)
    digest = digest_of(document)
    if latest is None or latest.from_file:
        same = latest is not None and latest.digest == digest
        return Standing(latest=latest, is_latest=same, was_applied=same, newer=())
    applied = await store.last_applied(tenant)
    since = 0 if applied is None else applied.number
    return Standing(
        latest=latest,
        is_latest=latest.digest == digest,
        was_applied=applied is not None and applied.digest == digest,
        newer=tuple(await store.summaries(tenant, after=since, limit=MOST_TOLD)),
    )


def how_to_apply(file: str, standing: Standing) -> str:
    """Return how to make *file* count, of which *standing* says that it does not."""
    apply = f"remit apply {shlex.quote(file)}"
    if standing.newer:
        return f"{apply!r} says what it would overwrite, and with --replace makes it count"
    return f"{apply!r} makes it count"


async def apply_file(
    store: RevisionStore,
    tenant: str,
    loaded: Loaded,
    *,
    author: str,
    reason: str,
    now: datetime,
    replace: bool = False,
) -> Revision:
    """Make what a file says the current revision; return that.

    Args:
        store: Where revisions are kept.
        tenant: Whose declaration it is.
        loaded: The file, which is valid.
        author: Who applies it.
        reason: Why, in a line.
        now: Aware UTC.
        replace: Whether it may overwrite what others wrote since.

    Raises:
        Conflict: It would overwrite newer revisions; the text shows the difference.
    """
    document = loaded.declaration.document

    async def apply(standing: Standing) -> Revision:
        if standing.overwrites and not replace:
            raise Conflict(_refusal(loaded.file, document, standing))
        return await store.write(
            tenant,
            document,
            author=author,
            reason=reason,
            now=now,
            from_file=True,
            after=standing.number,
        )

    try:
        return await apply(await standing_of(store, tenant, document))
    except Outdated:
        # Every worker applies the file at a hangup: another may just have written the same.
        standing = await standing_of(store, tenant, document)
        if not standing.is_latest:
            raise
        return await apply(standing)


async def declaration_in_force(
    store: RevisionStore,
    tenant: str,
    loaded: Loaded,
    *,
    author: str,
    now: datetime,
    recording: Recording,
    replace: bool = False,
) -> tuple[Loaded, int]:
    """Return what counts, and its revision number, for whoever starts beside a file.

    Args:
        store: Where revisions are kept.
        tenant: Whose declaration it is.
        loaded: The file, which is valid.
        author: Who applies a file that changed; empty to write nothing, and to decide by the
            changed file under the number that it would get.
        now: Aware UTC.
        recording: Makes the record of a revision that is written.
        replace: Whether a changed file may overwrite what others wrote since.

    Raises:
        Conflict: *author* may not overwrite newer revisions; the text shows the difference.
        DeclarationError: The current revision cannot be used.
    """
    standing = await standing_of(store, tenant, loaded.declaration.document)
    if standing.latest is not None and standing.is_latest and not author:
        return loaded, standing.number
    if standing.latest is not None and standing.was_applied and not standing.is_latest:
        return parse_revision(standing.latest), standing.number
    if not author:
        if standing.latest is None or not standing.newer:
            return loaded, standing.number + 1
        log.warning(
            "the file and the current revision differ; the revision counts",
            file=loaded.file,
            revision=standing.number,
        )
        return parse_revision(standing.latest), standing.number
    reason = f"from {loaded.file.rpartition('/')[2]}"
    async with (
        nullcontext(Progress(revision=standing.number))
        if standing.is_latest or (standing.overwrites and not replace)
        else recording(reason, standing.number)
    ) as progress:
        written = await apply_file(
            store, tenant, loaded, author=author, reason=reason, now=now, replace=replace
        )
        progress.revision = written.number
    return loaded, written.number


async def latest_usable(store: RevisionStore, tenant: str) -> tuple[Loaded, int]:
    """Return the newest revision that this version can use, and its number.

    Raises:
        StartupError: There is none.
    """
    found = await newest_usable(store, tenant)
    if found is None:
        raise StartupError("there is no revision that can be used: apply a declaration")
    return found


async def newest_usable(store: RevisionStore, tenant: str) -> tuple[Loaded, int] | None:
    """Return the newest revision that this version can use, and its number, or None."""
    revision = await store.latest(tenant)
    while revision is not None:
        try:
            return parse_revision(revision), revision.number
        except DeclarationError:  # what runs says so when it follows
            revision = await store.latest(tenant, before=revision.number)
    return None


async def roll_back(
    store: RevisionStore, tenant: str, number: int, *, author: str, reason: str, now: datetime
) -> Revision:
    """Make what revision *number* says the current revision again.

    Raises:
        NotFound: There is no such revision.
        DeclarationError: This version cannot use it any more.
    """
    old = await store.get_revision(tenant, number)
    parse_revision(old)
    return await store.write(tenant, old.document, author=author, reason=reason, now=now)


def parse_revision(revision: Revision) -> Loaded:
    """Read the document of a revision.

    Raises:
        DeclarationError: It is not valid, or not in this version.
    """
    return parse_document(revision.document, file=f"revision {revision.number}")


def as_yaml(document: Mapping[str, object]) -> str:
    """Return *document* as YAML, or as JSON where YAML would not read back as exactly the same."""
    text = yaml.dump(  # pyright: ignore[reportUnknownMemberType] - its stub leaves `width` open
        dict(document), Dumper=yaml.SafeDumper, sort_keys=False, allow_unicode=True, width=100
    )
    try:
        same = digest_of(read_text(text).data) == digest_of(document)
    except DeclarationError:
        same = False
    return text if same else json.dumps(document, indent=2) + "\n"


class Swappable(Protocol):
    """The policy in force."""

    @property
    def revision(self) -> int:
        """The number of the revision in force."""
        ...

    def swap(self, declaration: Declaration, *, revision: int) -> None:
        """Put another revision in force, whole or not at all."""
        ...


class Reconfigurable(Protocol):
    """The servers behind us."""

    def reconfigure(self, servers: Mapping[str, ServerConfig]) -> None:
        """Start what is new, retire what is gone, restart what is reached in another way."""
        ...


class Follower:
    """Puts the latest revision in force while a gateway runs (R17).

    What does not validate leaves what runs as it is; nothing is ever widened by an error.
    """

    def __init__(
        self,
        store: RevisionStore,
        policy: Swappable,
        fleet: Reconfigurable,
        *,
        tenant: str,
        then: Callable[[], None] = lambda: None,
    ) -> None:
        """Follow the chain of one tenant.

        Args:
            store: Where revisions are kept.
            policy: The tenant's.
            fleet: Its servers.
            tenant: Its name.
            then: Called when another revision is in force.
        """
        self._store = store
        self._policy = policy
        self._fleet = fleet
        self._tenant = tenant
        self._then = then

    async def follow(self) -> bool:
        """Put the latest revision in force unless it is; return whether another one is now.

        Raises:
            StorageUnavailable: Nobody can say which one it is; what runs stays in force.
        """
        latest = await self._store.latest(self._tenant)
        if latest is None or latest.number <= self._policy.revision:
            return False
        try:
            declaration = parse_revision(latest).declaration
            self._policy.swap(declaration, revision=latest.number)
        except DeclarationError as error:
            log.error(  # noqa: TRY400 - one line
                "a revision cannot be used; the one before stays in force",
                tenant=self._tenant,
                revision=latest.number,
                in_force=self._policy.revision,
                problems=[str(problem) for problem in error.problems],
            )
            return False
        self._fleet.reconfigure(declaration.servers)
        self._then()
        log.warning(
            "revision in force",
            tenant=self._tenant,
            revision=latest.number,
            author=latest.author,
            reason=latest.reason,
        )
        return True


def _refusal(file: str, document: Mapping[str, object], standing: Standing) -> str:
    latest = standing.latest
    told = ", ".join(f"{one.number} by {one.author}" for one in standing.newer)
    lines = [
        f"{file} would overwrite what was changed since it was last applied: revision {told}",
        *(
            f"  {change}"
            for change in document_changes({} if latest is None else latest.document, document)
        ),
    ]
    if len(lines) > MOST_SHOWN:
        lines[MOST_SHOWN:] = [f"  … and {len(lines) - MOST_SHOWN} more"]
    return "\n".join(
        [
            *lines,
            "take over what is in force with `remit export`, or overwrite it with --replace",
        ]
    )
