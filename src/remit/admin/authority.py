"""Who can call what, and why: the questions an administrator asks (R10, R14)."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from remit.admin.subjects import NamedCaller, Rights
from remit.calls.authorize import meant_of, several
from remit.model.calls import Examined
from remit.model.contents import Kind, kind_of
from remit.model.decisions import Decision, Explanation, Layer, LayerVerdict, Verdict
from remit.model.limits import Allowance
from remit.model.principals import Principal, PrincipalKind
from remit.model.tools import ToolId
from remit.policy.callers import standing_of
from remit.policy.engine import (
    agent_types_that_can,
    decide,
    explain,
    roles_that_can,
    user_roles_that_can,
)
from remit.policy.hats import pairs_that_can
from remit.policy.snapshot import PolicySnapshot, list_order
from remit.policy.standing import Standing
from remit.upstreams.names import Names
from remit.upstreams.uris import Uris


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Yes or no to one question, with every layer's verdict.

    Attributes:
        tool: The tool that was meant, or None when the name means none.
        available: Whether its server is known to offer it.
        limits: The limits that an allowed call counts against.
        used: How many calls count against each of them now; None where nobody looked.
        arguments: Whether those that were asked about fit; None where nobody looked.
    """

    tool: ToolId | None
    available: bool
    explanation: Explanation
    limits: tuple[Allowance, ...] = ()
    used: Sequence[int] | None = None
    arguments: Examined | None = None

    def counted(self) -> Sequence[tuple[Allowance, int | None]]:
        """Return each limit with how many calls count against it now, if anybody looked."""
        used = self.used if self.used is not None else [None] * len(self.limits)
        return list(zip(self.limits, used, strict=True))

    def to_json(self) -> dict[str, object]:
        """Return the contract's shape of `remit explain --json`."""
        decision = self.explanation.decision
        return {
            "allowed": decision.allowed,
            "layer": decision.layer.value,
            "rule": decision.rule,
            "reason": decision.reason,
            "revision": decision.revision,
            "tool": str(self.tool) if self.tool is not None else None,
            "available": self.available,
            "limits": [
                {"rule": limit.rule, "calls": limit.calls, "seconds": limit.seconds, "used": used}
                for limit, used in self.counted()
            ],
            "arguments": None if self.arguments is None else _shown(self.arguments),
            "layers": [
                {
                    "layer": verdict.layer.value,
                    "verdict": verdict.verdict.value,
                    "rule": verdict.rule,
                    "reason": verdict.reason,
                }
                for verdict in self.explanation.layers
            ],
        }


def _shown(arguments: Examined) -> dict[str, object]:
    return {
        "checked": arguments.checked,
        "valid": not arguments.problem,
        "problem": arguments.problem or None,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class WhoCan:
    """Everybody who can call a tool, by name.

    Attributes:
        keys: Service keys, too.
        users: Those that a grant opens the server to, if their token says what `hats` adds. What a
            user may is in its token, so most are known by `roles` and `user_roles`.
        user_roles: User roles that alone can.
        agent_types: Agent types that alone can.
        service_keys: Those of `keys` that are callers of the `data` server.
        hats: Pairs that can together and not alone, such as `user:ann + role:reader`.
        available: Whether its server is known to offer the tool.
    """

    roles: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    user_roles: tuple[str, ...] = ()
    agent_types: tuple[str, ...] = ()
    service_keys: tuple[str, ...] = ()
    hats: tuple[str, ...] = ()
    available: bool = False

    def rows(self) -> list[tuple[str, str]]:
        """Return (kind, name) of everybody once, a user that needs a second hat with it."""
        by_two = {pair.partition(" + ")[0] for pair in self.hats}
        kinds = {
            "role": self.roles,
            "user": tuple(name for name in self.users if f"user:{name}" not in by_two),
            "key": tuple(name for name in self.keys if name not in self.service_keys),
            "service key": self.service_keys,
            "agent": self.agents,
            "user-role": self.user_roles,
            "agent-type": self.agent_types,
            "only both": self.hats,
        }
        return [(kind, name) for kind, names in kinds.items() for name in names]

    def to_json(self) -> dict[str, object]:
        """Return the contract's shape of `remit who-can --json`."""
        return {
            "roles": list(self.roles),
            "keys": list(self.keys),
            "users": list(self.users),
            "agents": list(self.agents),
            "user_roles": list(self.user_roles),
            "agent_types": list(self.agent_types),
            "service_keys": list(self.service_keys),
            "hats": list(self.hats),
            "available": self.available,
        }


class Authority:
    """Answers from one snapshot and one naming table, by the same `decide()` as every call."""

    def __init__(self, snapshot: PolicySnapshot, names: Names, available: Iterable[ToolId]) -> None:
        self._snapshot = snapshot
        self._names = names
        self._available = frozenset(available)

    def find_tool(self, alias: str) -> ToolId | None:
        """Return the tool that *alias* or `server/tool` means, or None.

        A resource that no server lists is meant by its normal form only, as in every call.

        Raises:
            BadCall: It fits several tools; the text lists them.
        """
        found = self._names.find(alias, None)
        if len(found) > 1:
            raise several(alias, found)
        return self._with_meaning(found[0] if found else ToolId.parse(alias))

    def _with_meaning(self, tool: ToolId | None) -> ToolId | None:
        return None if tool is None or self._why_meaningless(tool) is not None else tool

    def _why_meaningless(self, tool: ToolId) -> str | None:
        if kind_of(tool.name) is not Kind.RESOURCE:
            return None
        return self._uris.why_meaningless(tool)

    @cached_property
    def _uris(self) -> Uris:
        return Uris.build(item for item in self._available if kind_of(item.name) is Kind.RESOURCE)

    def tools(self) -> Sequence[ToolId]:
        """Return every tool that has a name here: declared, offered or ever seen; in list order."""
        return sorted(self._names.tools, key=list_order)

    def published(self, tool: ToolId) -> str:
        """Return the name of one of `tools()` on `/mcp` (R2)."""
        return self._names.published(tool)

    def is_available(self, tool: ToolId) -> bool:
        """Whether its server is known to offer it."""
        return tool in self._available

    def is_missing(self, tool: ToolId) -> bool:
        """Whether nothing can be meant by it: no server has that name, or a known one lacks it."""
        if self.is_available(tool) or kind_of(tool.name) is not Kind.TOOL:
            return False  # resources are read also where no server lists them
        known = {each.server for each in self._available}
        return tool.server in known or tool.server not in self._snapshot.servers

    def decide(self, principal: Principal, tool: ToolId) -> Decision:
        """Say whether *principal* may call *tool*, without every layer's verdict."""
        return decide(self._snapshot, principal, tool)

    def standings(self, callers: Iterable[NamedCaller]) -> Sequence[Standing]:
        """Return what each is to the rules; whoever has the same is answered the same.

        Thousands are as quick as the different rights that they have: names of which no rule says
        anything make no difference.
        """
        grants, memberships = self._snapshot.grants, self._snapshot.memberships
        found: dict[tuple[Rights, str, str], Standing] = {}
        standings: list[Standing] = []
        for caller in callers:
            subject = f"{caller.rights.kind}:{caller.acts_as}"
            is_named = subject in grants or subject in memberships
            alike = caller.rights, caller.tenant, subject if is_named else ""
            standing = found.get(alike)
            if standing is None:
                standing = found[alike] = standing_of(self._snapshot, caller.principal)
            standings.append(standing)
        return standings

    def explain(self, principal: Principal, alias: str, *, barred: str = "") -> Answer:
        """Say whether *principal* may call the tool, and what each layer says.

        Args:
            principal: Who would call.
            alias: The tool, in any spelling; it means what it would mean in a call of theirs.
            barred: Why its credential would not hold, so that the first layer refuses; or empty.

        Raises:
            BadCall: They may use several tools that the name fits; the text lists those.
        """
        tool = self._meant(principal, alias)
        if tool is None:
            return Answer(tool=None, available=False, explanation=self._unknown(alias))
        explanation = explain(self._snapshot, principal, tool)
        if barred:
            explanation = self._barred(explanation, barred)
        allowed = explanation.decision.allowed
        return Answer(
            tool=tool,
            available=self.is_available(tool),
            explanation=explanation,
            limits=self._snapshot.limits.allowances(principal, tool) if allowed else (),
        )

    def who_can(
        self,
        alias: str,
        callers: Sequence[NamedCaller] = (),
        disabled: Collection[str] = (),
    ) -> WhoCan:
        """Return everybody that can call the tool.

        Args:
            alias: The tool, in any spelling that fits no other.
            callers: Keys, agents and users that are known by name, and that may come in.
            disabled: Names of users that may not.

        Raises:
            BadCall: The name fits several tools; the text lists them.
        """
        tool = self.find_tool(alias)
        if tool is None:
            return WhoCan()
        pairs = [
            pair
            for pair in pairs_that_can(self._snapshot, tool)
            if pair[0].removeprefix("user:") not in disabled
        ]
        opened = [one.removeprefix("user:") for one, _ in pairs if one.startswith("user:")]
        able = self._able(callers, tool)
        keys = _of_kind(PrincipalKind.KEY, able)
        users = _of_kind(PrincipalKind.USER, able)
        return WhoCan(
            roles=roles_that_can(self._snapshot, tool),
            keys=tuple(key.name for key in keys),
            users=tuple(dict.fromkeys((*(user.name for user in users), *opened))),
            agents=tuple(agent.name for agent in _of_kind(PrincipalKind.AGENT, able)),
            user_roles=user_roles_that_can(self._snapshot, tool),
            agent_types=agent_types_that_can(self._snapshot, tool),
            service_keys=tuple(key.name for key in keys if key.principal.service),
            hats=tuple(f"{one} + {hat}" for one, hat in pairs),
            available=self.is_available(tool),
        )

    def _able(self, callers: Sequence[NamedCaller], tool: ToolId) -> Sequence[NamedCaller]:
        standings = self.standings(callers)
        allowed = {
            standing: decide(self._snapshot, caller.principal, tool).allowed
            for standing, caller in dict(zip(standings, callers, strict=True)).items()
        }
        return [one for one, held in zip(callers, standings, strict=True) if allowed[held]]

    def _meant(self, principal: Principal, alias: str) -> ToolId | None:
        candidates = self._names.find(alias, None)
        meant = meant_of([(tool, self.decide(principal, tool)) for tool in candidates], alias)
        return self._with_meaning(ToolId.parse(alias) if meant is None else meant[0])

    def _barred(self, explanation: Explanation, why: str) -> Explanation:
        """Return it with the first layer's no: authentication comes before everything (R9)."""
        decision = Decision(
            allowed=False,
            layer=Layer.TENANT,
            rule="",
            reason=why,
            revision=self._snapshot.revision,
        )
        refused = LayerVerdict(layer=Layer.TENANT, verdict=Verdict.DENY, reason=why)
        return Explanation(decision=decision, layers=(refused, *explanation.layers[1:]))

    def _unknown(self, alias: str) -> Explanation:
        resource = ToolId.parse(alias)
        why = None if resource is None else self._why_meaningless(resource)
        decision = Decision(
            allowed=False,
            layer=Layer.SERVER,
            rule="",
            reason=f"no tool by the name {alias!r} is known; write server/tool to ask about one"
            if why is None
            else f"no resource {alias!r} is listed, so only its normal form would count: {why}",
            revision=self._snapshot.revision,
        )
        return Explanation(decision=decision, layers=())


def _of_kind(kind: PrincipalKind, callers: Iterable[NamedCaller]) -> Sequence[NamedCaller]:
    """Return those that are asked about so: the key of an agent is a key."""
    return [one for one in callers if one.kind is kind]
