"""In-memory stores, which pass the same contract suite as the real ones (`tests/storage`)."""

import math
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime

import msgspec

from remit.errors import AuditUnavailable, BadCall, Conflict, NotFound, Outdated
from remit.model.agents import Agent, KnownAgent
from remit.model.crew import CrewEvent
from remit.model.events import (
    ADMINISTRATION,
    ENDS,
    AuditEvent,
    AuditQuery,
    EventKind,
    Looked,
    tool_readings,
)
from remit.model.keys import HeldKey, Key
from remit.model.principals import DEFAULT_TENANT, AgentType
from remit.model.retention import Cut, Retention, oldest_kept
from remit.model.revisions import Revision, RevisionSummary
from remit.storage.revisions import digest_of

_SOME_TIME = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)


def sample_event(number: int = 0, **changes: object) -> AuditEvent:
    """Return an event like those of a successful call; a higher *number* is a later one.

    Args:
        number: Below 2**48; equal numbers give equal ids.
        changes: Fields that differ.
    """
    event = AuditEvent(
        id=str(uuid.UUID(int=(number << 80) | (0x7 << 76) | (0x2 << 62))),
        kind=EventKind.FINISHED,
        call_id=f"call-{number}",
        time=_SOME_TIME,
        tenant=DEFAULT_TENANT,
        principal="key:ci",
        role="backend_developer",
        server="git",
        tool="git_status",
        decision="allow",
        layer="ceiling",
        rule="roles.backend_developer.tools.git[0]",
        revision=1,
        outcome="ok",
        ms=1.5,
        arguments='{"repository":"."}',
        arguments_size=18,
        result='{"content":[]}',
        result_size=14,
    )
    return msgspec.structs.replace(event, **changes)


class InMemoryAudit:
    """An audit in a list.

    Attributes:
        available: Set it to False, and nothing can be recorded.
    """

    def __init__(self) -> None:
        self.available = True
        self._events: dict[str, AuditEvent] = {}
        self._cuts: dict[str, Cut] = {}

    @property
    def events(self) -> Sequence[AuditEvent]:
        """Everything recorded, oldest first."""
        return list(self._events.values())

    async def record(self, event: AuditEvent) -> None:
        """Keep *event*; one that is there already stays as it is.

        Raises:
            AuditUnavailable: `available` is False.
        """
        if not self.available:
            raise AuditUnavailable("the call cannot be recorded: the test says so")
        self._events.setdefault(event.id, event)

    async def search(self, query: AuditQuery) -> Sequence[AuditEvent]:
        """Return the last event of each call that matches, newest first; with `after` oldest first.

        Raises:
            BadCall: `before` or `after` is no event id.
        """
        ended = {(event.tenant, event.call_id) for event in self.events if event.kind in ENDS}
        before = None if query.before is None else _event_id(query.before)
        after = None if query.after is None else _event_id(query.after)
        rows = [
            event
            for event in self.events
            if event.kind is not EventKind.ATTEMPTED
            and (event.kind in ENDS or (event.tenant, event.call_id) not in ended)
            and _matches(event, query)
            and (before is None or event.id < before)
            and (after is None or event.id > after)
        ]
        return sorted(rows, key=lambda event: event.id, reverse=after is None)[: query.limit]

    async def look(self, query: AuditQuery, *, longest: float) -> Looked:
        """Return the same: looking through a list takes no time that counts."""
        del longest
        return Looked(events=await self.search(query))

    async def events_of(self, tenant: str, call: str) -> Sequence[AuditEvent]:
        """Return what happened to one call, in its order."""
        found = [e for e in self.events if (e.tenant, e.call_id) == (tenant, call)]
        return sorted(found, key=lambda event: event.id)

    async def after(
        self, tenant: str, seq: int, limit: int = 1000
    ) -> Sequence[tuple[int, AuditEvent]]:
        """Return all events with a number above *seq*, lowest first."""
        numbered = enumerate(self.events, start=1)
        return [(n, event) for n, event in numbered if n > seq and event.tenant == tenant][:limit]

    async def prune(
        self, tenant: str, retention: Retention, *, author: str, now: datetime
    ) -> Cut | None:
        """Remove the oldest events of *tenant*; return a marker without hashes, if any went."""
        mine = [event for event in self.events if event.tenant == tenant]
        going = 0 if retention.rows is None else len(mine) - retention.rows
        oldest = None if retention.days is None else oldest_kept(now, retention.days)
        if oldest is not None:
            young = (n for n, event in enumerate(mine) if event.time >= oldest)
            going = max(going, next(young, len(mine)))
        if going <= 0:
            return None
        for event in mine[:going]:
            del self._events[event.id]
        before = self._cuts.get(tenant)
        cut = Cut(
            tenant=tenant,
            number=1 if before is None else before.number + 1,
            time=now,
            author=author,
            reason=retention.reason,
            link=going + (0 if before is None else before.link),
            hash="",
            removed=going,
            previous="",
        )
        self._cuts[tenant] = cut
        return cut

    async def flush(self) -> None:
        """Do nothing: there is nowhere further to go."""


def _event_id(given: str) -> str:
    try:
        return str(uuid.UUID(given))
    except ValueError:
        raise BadCall(f"{given!r} is no event id") from None


def _matches(event: AuditEvent, query: AuditQuery) -> bool:
    exact = ("tenant", "principal", "server", "decision", "outcome", "code")
    wanted = {name: getattr(query, name) for name in exact}
    if any(value not in (None, getattr(event, name)) for name, value in wanted.items()):
        return False
    if query.tool not in (None, event.tool) and (event.server, event.tool) not in tool_readings(
        query.tool
    ):
        return False
    one_of = ((query.servers, event.server), (query.tools, event.tool))
    if any(names and name not in names for names, name in one_of):
        return False
    if not query.changes and event.server == ADMINISTRATION:
        return False
    if query.role is not None and query.role not in event.role.split(","):
        return False
    if query.since is not None and event.time < query.since:
        return False
    if query.until is not None and event.time >= query.until:
        return False
    return query.text is None or _mentions(event, query.text)


def _mentions(event: AuditEvent, words: str) -> bool:
    searched = (
        event.call_id,
        event.tool,
        event.server,
        event.principal,
        event.member or "",
        event.arguments,
        event.error or "",
    )
    return any(words.lower() in text.lower() for text in searched)


class InMemoryKeys:
    """Keys in a dictionary."""

    def __init__(self, *keys: Key) -> None:
        self._keys = {key.id: key for key in keys}

    async def add(self, key: Key) -> None:
        """Store a new key.

        Raises:
            Conflict: A key of that name that is not revoked exists.
        """
        if self._in_use(key.tenant, key.name) is not None:
            raise Conflict(
                f"a key named {key.name!r} is in use: revoke it first, or choose another name"
            )
        self._keys[key.id] = key

    async def find(self, key_id: str) -> Key | None:
        """Return the key with that public id, revoked or not."""
        return self._keys.get(key_id)

    async def all_keys(self, tenant: str) -> Sequence[Key]:
        """Return every key of *tenant*, oldest first, revoked ones included."""
        keys = [key for key in self._keys.values() if key.tenant == tenant]
        return sorted(keys, key=lambda key: (key.created, key.id))

    async def keys_after(
        self, tenant: str, after: tuple[datetime, str] | None, limit: int
    ) -> Sequence[Key]:
        """Return keys of *tenant* as `all_keys` does, at most *limit*, those behind a place."""
        keys = await self.all_keys(tenant)
        return [key for key in keys if after is None or (key.created, key.id) > after][:limit]

    async def holding(self, tenant: str, now: datetime) -> Sequence[HeldKey]:
        """Return the keys of *tenant* that hold at *now*, oldest first."""
        held = [key for key in await self.all_keys(tenant) if key.holds_at(now)]
        return [HeldKey(*(getattr(key, name) for name in HeldKey._fields)) for key in held]

    async def named(self, tenant: str, name: str) -> Sequence[Key]:
        """Return the keys of *tenant* of that name, and the one with that id; oldest first."""
        return [key for key in await self.all_keys(tenant) if name in (key.name, key.id)]

    async def owners(self, tenant: str, name: str) -> frozenset[str]:
        """Return whose keys of that name are, or were."""
        keys = await self.all_keys(tenant)
        return frozenset(key.owner for key in keys if key.name == name and key.owner)

    async def revoke(self, tenant: str, name: str, now: datetime) -> Key:
        """End the key of that name.

        Raises:
            NotFound: No key of that name is in use.
        """
        ended = [
            replace(key, revoked=now)
            for key in self._keys.values()
            if (key.tenant, key.name) == (tenant, name)
            and (key.revoked is None or key.revoked > now)
        ]
        if not ended:
            raise NotFound(f"no key named {name!r} is in use")
        self._keys.update({key.id: key for key in ended})
        return max(ended, key=lambda key: (key.created, key.id))

    async def replace(
        self, tenant: str, name: str, change: Callable[[Key], Key], end: datetime
    ) -> Key:
        """End the key of that name at *end*, and put what *change* makes of it in its place.

        What that key replaced ends at *end* as well, if it would hold for longer.
        """
        old = self._in_use(tenant, name)
        if old is None:
            raise NotFound(f"no key named {name!r} is in use")
        new = change(old)
        ended = {
            key.id: replace(key, revoked=end)
            for key in self._keys.values()
            if (key.tenant, key.name) == (tenant, name)
            and (key.revoked is None or key.revoked > end)
        }
        self._keys |= {**ended, new.id: new}
        return new

    async def touch(self, uses: Mapping[str, datetime], *, within: float = math.inf) -> None:
        """Keep when each of these keys, by id, was used, unless a later use is kept."""
        del within
        for key_id in uses.keys() & self._keys.keys():
            key, used = self._keys[key_id], uses[key_id]
            if key.last_used is None or key.last_used < used:
                self._keys[key_id] = replace(key, last_used=used)

    def _in_use(self, tenant: str, name: str) -> Key | None:
        return next(
            (
                key
                for key in self._keys.values()
                if key.tenant == tenant and key.name == name and key.revoked is None
            ),
            None,
        )


class InMemoryAgents:
    """Agents in a dictionary."""

    def __init__(self, *agents: Agent) -> None:
        self._agents = {(agent.tenant, agent.id): agent for agent in agents}

    async def add(self, agent: Agent, told: CrewEvent | None = None) -> None:
        """Store a new agent; nobody is told.

        Raises:
            Conflict: An agent of that id exists, or its epic has an orchestrator.
        """
        del told
        self._require_only_orchestrator(agent)
        if (agent.tenant, agent.id) in self._agents:
            raise Conflict(f"an agent {agent.id!r} exists already")
        self._agents[agent.tenant, agent.id] = agent

    async def change(self, agent: Agent, *, seen: Agent) -> None:
        """Make the agent of that id what *agent* says; when it was created stays as it is.

        Raises:
            Outdated: It is something else now than it was when it was *seen*, or there is none.
            Conflict: Its epic has another orchestrator.
        """
        self._require_only_orchestrator(agent)
        if await self.find(agent.tenant, agent.id) != seen:
            raise Outdated(f"somebody changed agent {agent.id!r} meanwhile")
        self._agents[agent.tenant, agent.id] = replace(agent, created=seen.created)

    def _require_only_orchestrator(self, agent: Agent) -> None:
        if agent.type is not AgentType.ORCHESTRATOR or not agent.epic:
            return
        post = (agent.tenant, agent.type, agent.epic)
        for each in self._agents.values():
            if (each.tenant, each.type, each.epic) == post and each.id != agent.id:
                raise Conflict(f"epic {agent.epic!r} has an orchestrator already, {each.id!r}")

    async def find(self, tenant: str, agent_id: str) -> Agent | None:
        """Return the agent as it is now, or None."""
        return self._agents.get((tenant, agent_id))

    async def all_agents(self, tenant: str) -> Sequence[Agent]:
        """Return every agent of *tenant*, by id."""
        found = [agent for agent in self._agents.values() if agent.tenant == tenant]
        return sorted(found, key=lambda agent: agent.id)

    async def agents_after(self, tenant: str, after: str | None, limit: int) -> Sequence[Agent]:
        """Return agents of *tenant* by id, at most *limit*, those behind an id alone."""
        found = await self.all_agents(tenant)
        return [agent for agent in found if after is None or agent.id > after][:limit]

    async def count(self, tenant: str) -> int:
        """Return how many agents *tenant* has."""
        return len(await self.all_agents(tenant))

    async def known(self, tenant: str) -> Sequence[KnownAgent]:
        """Return every agent of *tenant*, by id, with no more than what it may depends on."""
        found = await self.all_agents(tenant)
        return [KnownAgent(agent.id, agent.type, agent.role) for agent in found]


class InMemoryUsers:
    """Disabled users in a dictionary."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], datetime] = {}

    async def disable(self, tenant: str, name: str, now: datetime) -> None:
        """Keep a user out; one that is disabled already stays so, since when it was."""
        self._since.setdefault((tenant, name), now)

    async def enable(self, tenant: str, name: str) -> bool:
        """Let a user in again; False when it was not disabled."""
        return self._since.pop((tenant, name), None) is not None

    async def is_disabled(self, tenant: str, name: str) -> bool:
        """Whether that user is kept out."""
        return (tenant, name) in self._since

    async def all_disabled(self, tenant: str) -> Mapping[str, datetime]:
        """Return name to since when, by name."""
        names = sorted(name for owner, name in self._since if owner == tenant)
        return {name: self._since[tenant, name] for name in names}

    async def disabled_since(self, tenant: str, name: str) -> datetime | None:
        """Return since when that user is kept out; None when it is not."""
        return self._since.get((tenant, name))

    async def disabled_after(
        self, tenant: str, after: str | None, limit: int
    ) -> Mapping[str, datetime]:
        """Return the same as `all_disabled`, at most *limit*, those behind a name alone."""
        found = (await self.all_disabled(tenant)).items()
        return dict([one for one in found if after is None or one[0] > after][:limit])


def _summary(revision: Revision) -> RevisionSummary:
    return RevisionSummary(**{f.name: getattr(revision, f.name) for f in fields(RevisionSummary)})


class InMemoryRevisions:
    """Revisions in lists."""

    def __init__(self) -> None:
        self._revisions: dict[str, list[Revision]] = {}

    async def latest(self, tenant: str, *, before: int | None = None) -> Revision | None:
        """Return the current revision, or the last before that number; None if there is none."""
        return next(self._between(tenant, before), None)

    async def last_applied(self, tenant: str) -> Revision | None:
        """Return the last revision that a file said the same as (R18), or None."""
        return next((one for one in self._between(tenant) if one.from_file), None)

    async def get_revision(self, tenant: str, number: int) -> Revision:
        """Return one revision.

        Raises:
            NotFound: The tenant has no revision of that number.
        """
        for revision in self._between(tenant):
            if revision.number == number:
                return revision
        raise NotFound(f"there is no revision {number}")

    async def summaries(
        self,
        tenant: str,
        *,
        before: int | None = None,
        after: int = 0,
        limit: int | None = None,
    ) -> Sequence[RevisionSummary]:
        """Return revisions between two numbers without what they say, newest first."""
        found = [_summary(one) for one in self._between(tenant, before) if one.number > after]
        return found[:limit]

    def _between(self, tenant: str, before: int | None = None) -> Iterator[Revision]:
        """Yield the revisions before that number, newest first."""
        known = reversed(self._revisions.get(tenant, []))
        return (one for one in known if before is None or one.number < before)

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
            Outdated: *after* is not the current revision's number, or 0 for none.
        """
        latest, digest = await self.latest(tenant), digest_of(document)
        number = 0 if latest is None else latest.number
        if after is not None and after != number:
            raise Outdated(f"revision {number} was written meanwhile, after revision {after}")
        if latest is not None and latest.digest == digest:
            same = replace(latest, from_file=latest.from_file or from_file)
            self._revisions[tenant][-1] = same
            return same
        revision = Revision(
            number=number + 1,
            tenant=tenant,
            document=document,
            digest=digest,
            author=author,
            reason=reason,
            created=now,
            from_file=from_file,
        )
        self._revisions.setdefault(tenant, []).append(revision)
        return revision
