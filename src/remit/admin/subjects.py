"""SUBJECT (contract, product.md): whom an administrator asks about (R5)."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from remit.admin.names import told
from remit.errors import BadCall, NotFound, Refused
from remit.identity.authenticate import principal_of
from remit.model.agents import Agent
from remit.model.keys import Key
from remit.model.principals import AgentType, Principal, PrincipalKind, UserRole

SPELLINGS: Final = "role:NAME, user:NAME, user-role:NAME, agent:ID, agent-type:TYPE or key:NAME"


class KeyStore(Protocol):
    """Where keys are kept."""

    async def named(self, tenant: str, name: str) -> Sequence[Key]:
        """Return the keys of *tenant* of that name, and the one with that id; oldest first."""
        ...

    async def all_keys(self, tenant: str) -> Sequence[Key]:
        """Return every key of *tenant*, oldest first."""
        ...


class AgentStore(Protocol):
    """Where agents are kept."""

    async def find(self, tenant: str, agent_id: str) -> Agent | None:
        """Return the agent as it is now, or None."""
        ...

    async def all_agents(self, tenant: str) -> Sequence[Agent]:
        """Return every agent of *tenant*, by id."""
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


class NamedCaller(NamedTuple):
    """A caller, and how it is asked about.

    Attributes:
        subject: SUBJECT, such as `key:ci`; the key of an agent stands as a key, too.
        name: The second half of it.
    """

    subject: str
    name: str
    principal: Principal


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
        """Return every caller of a kind that may come in, each as `find` would give it.

        Roles come in the order of the declaration, keys oldest first, agents by id. What a user
        may is in its token, so no user is known here.
        """
        found: Mapping[str, Principal] = {}
        match kind:
            case PrincipalKind.ROLE:
                found = {name: await self._role(name) for name in self.roles}
            case PrincipalKind.KEY:
                found = await self._holding_keys()
            case PrincipalKind.AGENT:
                agents = await self.agents.all_agents(self.tenant)
                found = {agent.id: agent.principal for agent in agents}
            case PrincipalKind.USER_ROLE:
                found = {role.value: await self._user_role(role) for role in UserRole}
            case PrincipalKind.AGENT_TYPE:
                found = {each.value: await self._agent_type(each) for each in AgentType}
            case PrincipalKind.USER:
                pass
        return [NamedCaller(f"{kind.value}:{name}", name, held) for name, held in found.items()]

    async def _holding_keys(self) -> Mapping[str, Principal]:
        agents = {agent.id: agent for agent in await self.agents.all_agents(self.tenant)}
        disabled = await self.users.all_disabled(self.tenant)
        found: dict[str, Principal] = {}
        for key in await self.keys.all_keys(self.tenant):
            if key.name not in found and key.holds_at(self.now) and key.owner not in disabled:
                found[key.name] = principal_of(key, agents.get(key.agent))
        return found

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
            known = [each.id for each in await self.agents.all_agents(self.tenant)]
            raise _unknown("agent", name, known, "agents")
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
            keys = await self.keys.all_keys(self.tenant)
            held = [key.name for key in keys if key.holds_at(self.now)]
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
