"""SUBJECT (contract, product.md): whom an administrator asks about (R5)."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final, NamedTuple, Protocol

from remit.admin.agents import AgentStore as RegisteredAgents
from remit.admin.agents import told_agents
from remit.admin.names import told
from remit.errors import BadCall, NotFound, Refused
from remit.identity.authenticate import principal_of
from remit.model.agents import KnownAgent
from remit.model.keys import HeldKey, Key
from remit.model.principals import AgentType, Principal, PrincipalKind, UserRole

SPELLINGS: Final = "role:NAME, user:NAME, user-role:NAME, agent:ID, agent-type:TYPE or key:NAME"


class KeyStore(Protocol):
    """Where keys are kept."""

    async def named(self, tenant: str, name: str) -> Sequence[Key]:
        """Return the keys of *tenant* of that name, and the one with that id; oldest first."""
        ...

    async def holding(self, tenant: str, now: datetime) -> Sequence[HeldKey]:
        """Return the keys of *tenant* that hold at *now*, oldest first."""
        ...


class AgentStore(RegisteredAgents, Protocol):
    """Where agents are kept."""

    async def known(self, tenant: str) -> Sequence[KnownAgent]:
        """Return every agent of *tenant*, by id, with no more than what it may depends on."""
        ...


class UserStore(Protocol):
    """Which users are kept out."""

    async def is_disabled(self, tenant: str, name: str) -> bool:
        """Whether that user is kept out."""
        ...

    async def all_disabled(self, tenant: str) -> Collection[str]:
        """Return the names of all users that are kept out."""
        ...


class Found(NamedTuple):
    """Whom a SUBJECT means.

    Attributes:
        barred: Why it may not come in at all, or empty.
    """

    principal: Principal
    barred: str = ""


class Rights(NamedTuple):
    """What a caller is to the rules beside its name; of thousands, many are the same."""

    kind: PrincipalKind
    roles: tuple[str, ...] = ()
    user_roles: tuple[UserRole, ...] = ()
    agent_type: AgentType | None = None
    service: bool = False


class NamedCaller(NamedTuple):
    """A caller, and how it is asked about.

    Attributes:
        kind: The first half of its SUBJECT; the key of an agent stands as a key, too.
        name: The second half of it.
        tenant: Its tenant.
        acts_as: The name that its calls have: that of its agent, if it is the key of one.
        rights: The rest of what decisions depend on.
    """

    kind: PrincipalKind
    name: str
    tenant: str
    acts_as: str
    rights: Rights

    @property
    def subject(self) -> str:
        """SUBJECT, such as `key:ci`."""
        return f"{self.kind}:{self.name}"

    @property
    def principal(self) -> Principal:
        """Who calls, with all that decisions depend on, and no more."""
        rights = self.rights
        return Principal(
            kind=rights.kind,
            name=self.acts_as,
            tenant=self.tenant,
            roles=rights.roles,
            user_roles=rights.user_roles,
            agent_type=rights.agent_type,
            service=rights.service,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Subjects:
    """Finds the principal that a SUBJECT of a tenant means.

    Attributes:
        roles: Those that are declared.
        now: Aware UTC; keys that do not hold then are nobody's.
    """

    tenant: str
    roles: Iterable[str]
    keys: KeyStore
    agents: AgentStore
    users: UserStore
    now: datetime

    async def find(self, text: str) -> Principal:
        """Return the principal that *text* means.

        A user stands there without the claims of a token: it has no roles and no groups.

        Raises:
            BadCall: It is no SUBJECT.
            NotFound: There is none of that name; the text names those that there are.
            Refused: The user is disabled, or the key has ended.
        """
        found = await self.find_any(text)
        if found.barred:
            raise Refused(found.barred)
        return found.principal

    async def find_any(self, text: str) -> Found:
        """Return the same for one that may not come in, with the reason.

        Raises:
            BadCall: It is no SUBJECT.
            NotFound: There is none of that name; the text names those that there are.
        """
        kind, _, name = text.partition(":")
        find = self._finders().get(kind)
        if find is None or not name:
            raise BadCall(f"{text[:80]!r} is no subject: write {SPELLINGS}")
        found = await find(name)
        return found if isinstance(found, Found) else Found(found)

    async def all_of(self, kind: PrincipalKind) -> Sequence[NamedCaller]:
        """Return every caller of a kind that may come in, to be decided on as `find` gives it.

        Roles come in the order of the declaration, keys oldest first, agents by id. What a user
        may is in its token, so no user is known here.
        """
        found: Mapping[str, Rights] = {}
        match kind:
            case PrincipalKind.KEY:
                return await self._held_keys(await self._agents())
            case PrincipalKind.ROLE:
                found = {name: Rights(kind, roles=(name,)) for name in self.roles}
            case PrincipalKind.AGENT:
                found = await self._agents()
            case PrincipalKind.USER_ROLE:
                found = {role.value: Rights(kind, user_roles=(role,)) for role in UserRole}
            case PrincipalKind.AGENT_TYPE:
                found = {each.value: Rights(kind, agent_type=each) for each in AgentType}
            case PrincipalKind.USER:
                pass
        return self._named(kind, found)

    async def all_stored(self) -> Sequence[NamedCaller]:
        """Return the same of keys and then of agents, which are stored and may be thousands."""
        agents = await self._agents()
        keys = await self._held_keys(agents)
        return [*keys, *self._named(PrincipalKind.AGENT, agents)]

    async def _held_keys(self, agents: Mapping[str, Rights]) -> Sequence[NamedCaller]:
        held = await self.keys.holding(self.tenant, self.now)
        is_owned = any(key.owner for key in held)
        disabled = await self.users.all_disabled(self.tenant) if is_owned else ()
        kind, bearer_of = PrincipalKind.KEY, cache(_bearer_of)
        keys: dict[str, NamedCaller] = {}
        for name, owner, agent, *rights in held:
            if name not in keys and owner not in disabled:
                may = agents.get(agent, _NOBODY) if agent else bearer_of(*rights)
                keys[name] = NamedCaller(kind, name, self.tenant, agent or name, may)
        return list(keys.values())

    async def _agents(self) -> Mapping[str, Rights]:
        agent_of = cache(_agent_of)
        known = await self.agents.known(self.tenant)
        return {agent_id: agent_of(of_type, role) for agent_id, of_type, role in known}

    def _named(self, kind: PrincipalKind, found: Mapping[str, Rights]) -> Sequence[NamedCaller]:
        return [NamedCaller(kind, name, self.tenant, name, held) for name, held in found.items()]

    def _finders(self) -> Mapping[str, Callable[[str], Awaitable[Principal | Found]]]:
        return {
            PrincipalKind.ROLE: self._role,
            PrincipalKind.USER: self._user,
            PrincipalKind.USER_ROLE: self._user_role,
            PrincipalKind.AGENT: self._agent,
            PrincipalKind.AGENT_TYPE: self._agent_type,
            PrincipalKind.KEY: self._key,
        }

    async def _role(self, name: str) -> Principal:
        roles = tuple(self.roles)
        if name not in roles:
            raise _unknown("role", name, roles, "declared roles")
        return Principal(kind=PrincipalKind.ROLE, name=name, tenant=self.tenant, roles=(name,))

    async def _user(self, name: str) -> Found:
        user = Principal(kind=PrincipalKind.USER, name=name, tenant=self.tenant)
        if not await self.users.is_disabled(self.tenant, name):
            return Found(user)
        return Found(
            user, f"user {name!r} is disabled: `remit users enable {name}` lets it in again"
        )

    async def _user_role(self, name: str) -> Principal:
        known = [role.value for role in UserRole]
        if name not in known:
            raise _unknown("user role", name, known, "user roles")
        return Principal(
            kind=PrincipalKind.USER_ROLE,
            name=name,
            tenant=self.tenant,
            user_roles=(UserRole(name),),
        )

    async def _agent(self, name: str) -> Principal:
        agent = await self.agents.find(self.tenant, name)
        if agent is None:
            known = await told_agents(self.agents, self.tenant)
            raise NotFound(f"no agent {name[:80]!r} is known; agents: {known}")
        return agent.principal

    async def _agent_type(self, name: str) -> Principal:
        known = [each.value for each in AgentType]
        if name not in known:
            raise _unknown("agent type", name, known, "agent types")
        return Principal(
            kind=PrincipalKind.AGENT_TYPE,
            name=name,
            tenant=self.tenant,
            agent_type=AgentType(name),
        )

    async def _key(self, name: str) -> Found:
        of_name = [k for k in await self.keys.named(self.tenant, name) if k.name == name]
        key = next((key for key in of_name if key.holds_at(self.now)), None)
        if key is None and not of_name:
            held = [key.name for key in await self.keys.holding(self.tenant, self.now)]
            raise NotFound(f"no key {name[:80]!r} holds; keys that do: {told(held)}")
        key = key or of_name[-1]
        agent = await self.agents.find(key.tenant, key.agent) if key.agent else None
        barred = _why_ended(key, self.now) or await self._why_owner_is_out(key)
        return Found(principal_of(key, agent), barred)

    async def _why_owner_is_out(self, key: Key) -> str:
        owner = key.owner
        if not owner or not await self.users.is_disabled(self.tenant, owner):
            return ""
        return (
            f"key {key.name!r} belongs to user {owner!r}, who is disabled: "
            f"`remit users enable {owner}` lets both in again"
        )


_NOBODY: Final = Rights(PrincipalKind.AGENT)
"""What an agent's key is worth without the agent."""


def _bearer_of(roles: tuple[str, ...], user_roles: tuple[UserRole, ...], service: bool) -> Rights:
    return Rights(PrincipalKind.KEY, roles=roles, user_roles=user_roles, service=service)


def _agent_of(of_type: AgentType, role: str) -> Rights:
    return Rights(PrincipalKind.AGENT, roles=(role,) if role else (), agent_type=of_type)


def _why_ended(key: Key, now: datetime) -> str:
    if key.holds_at(now):
        return ""
    if key.revoked is not None and key.revoked <= now:
        return f"key {key.name!r} was revoked at {key.revoked.isoformat(timespec='seconds')}"
    ended = key.expires.isoformat(timespec="seconds") if key.expires else "some time"
    return f"key {key.name!r} expired at {ended}"


def _unknown(noun: str, name: str, known: Iterable[str], title: str) -> NotFound:
    verb = "is declared" if noun == "role" else "is known"
    return NotFound(f"no {noun} {name[:80]!r} {verb}; {title}: {told(known)}")
