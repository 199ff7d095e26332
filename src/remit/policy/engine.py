"""The one place that says yes or no (R10): every list, call, search and explanation asks here."""

from collections.abc import Iterable, Iterator, Sequence

from remit.model.decisions import Decision, Explanation, Layer, LayerVerdict, Verdict
from remit.model.principals import AgentType, Principal, PrincipalKind, UserRole
from remit.model.tools import ToolId
from remit.policy.callers import standing_of
from remit.policy.layers import LAYERS
from remit.policy.snapshot import PolicySnapshot
from remit.policy.standing import Standing

_CEILING = tuple(LAYERS).index(Layer.CEILING)


def decide(snapshot: PolicySnapshot, principal: Principal, tool: ToolId) -> Decision:
    """Say whether *principal* may use *tool*, and which rule says so.

    The same as the decision of `explain`; remembered, since a snapshot never changes its mind.
    """
    standing = standing_of(snapshot, principal)
    question = (standing, tool)
    decision = snapshot.decisions.find(question)
    if decision is None:
        decision = _decision(snapshot, _verdicts(snapshot, standing, tool))
        snapshot.decisions.keep(question, decision)
    return decision


def decide_for(
    snapshot: PolicySnapshot, actor: Principal, on_behalf_of: Principal, tool: ToolId
) -> Decision:
    """Say whether *actor* may use *tool* for another principal: both must be allowed to (R9).

    Delegation can only shrink power: the answer is a yes only where each alone gets one.
    """
    own = decide(snapshot, actor, tool)
    return decide(snapshot, on_behalf_of, tool) if own.allowed else own


def may_name(
    snapshot: PolicySnapshot, principal: Principal, spelling: str, readings: Sequence[ToolId]
) -> bool:
    """Say whether *principal* might use a tool by a name that means none, if there were one.

    A caller is told that there is no such tool only where this is so; anybody else hears what it
    hears of a tool that is hidden.

    Args:
        snapshot: The rules.
        principal: Whoever asks.
        spelling: The name, in the spelling `mcp__…`.
        readings: What it would mean on the servers that are declared. On no declared server it is
            a matter of the agent type alone (S3.9): deny, allow, else no.
    """
    if readings:
        return any(decide(snapshot, principal, reading).allowed for reading in readings)
    rules = standing_of(snapshot, principal).type_rules
    return (
        rules is not None
        and not rules.deny.fits_spelled(spelling)
        and rules.allow.fits_spelled(spelling)
    )


def explain(snapshot: PolicySnapshot, principal: Principal, tool: ToolId) -> Explanation:
    """Say what every layer says, also those after the one that decided."""
    verdicts = tuple(_verdicts(snapshot, standing_of(snapshot, principal), tool))
    return Explanation(decision=_decision(snapshot, verdicts), layers=verdicts)


def _verdicts(snapshot: PolicySnapshot, standing: Standing, tool: ToolId) -> Iterator[LayerVerdict]:
    return (ask(snapshot, standing, tool) for ask in LAYERS.values())


def _decision(snapshot: PolicySnapshot, verdicts: Iterable[LayerVerdict]) -> Decision:
    """Decide: the first layer that denies, and no layer is asked after it.

    When none does, the ceiling's yes is the rule that allows; without one there is no yes.
    """
    said: list[LayerVerdict] = []
    for verdict in verdicts:
        if verdict.verdict is Verdict.DENY:
            return _decided_by(snapshot, verdict)
        said.append(verdict)
    return _decided_by(snapshot, said[_CEILING])


def _decided_by(snapshot: PolicySnapshot, verdict: LayerVerdict) -> Decision:
    return Decision(
        allowed=verdict.verdict is Verdict.ALLOW,
        layer=verdict.layer,
        rule=verdict.rule,
        reason=verdict.reason,
        revision=snapshot.revision,
    )


def roles_that_can(snapshot: PolicySnapshot, tool: ToolId) -> tuple[str, ...]:
    """Return the roles that alone may use *tool*, in the order of the declaration."""
    return tuple(_able_roles(snapshot, tool))


def _able_roles(snapshot: PolicySnapshot, tool: ToolId) -> Iterator[str]:
    for name, rules in snapshot.roles.items():
        if not rules.may_reach(tool.server):
            continue  # whoever asks about every tool asks it of every role
        role = Principal(kind=PrincipalKind.ROLE, name=name, tenant=snapshot.tenant, roles=(name,))
        if decide(snapshot, role, tool).allowed:
            yield name


def is_for_somebody(snapshot: PolicySnapshot, tool: ToolId) -> bool:
    """Whether a role, a user role or an agent type alone may use *tool*."""
    return (
        next(_able_roles(snapshot, tool), None) is not None
        or bool(user_roles_that_can(snapshot, tool))
        or bool(agent_types_that_can(snapshot, tool))
    )


def user_roles_that_can(snapshot: PolicySnapshot, tool: ToolId) -> tuple[UserRole, ...]:
    """Return the user roles that alone may use *tool*."""
    return tuple(
        role
        for role in UserRole
        if decide(
            snapshot,
            Principal(
                kind=PrincipalKind.USER_ROLE, name=role, tenant=snapshot.tenant, user_roles=(role,)
            ),
            tool,
        ).allowed
    )


def agent_types_that_can(snapshot: PolicySnapshot, tool: ToolId) -> tuple[AgentType, ...]:
    """Return the agent types that alone may use *tool*."""
    return tuple(
        name
        for name in AgentType
        if decide(
            snapshot,
            Principal(
                kind=PrincipalKind.AGENT_TYPE, name=name, tenant=snapshot.tenant, agent_type=name
            ),
            tool,
        ).allowed
    )


def explains_denials(snapshot: PolicySnapshot, principal: Principal) -> bool:
    """Whether a refusal tells *principal* layer, rule and reason (R14, `denials: explain`)."""
    return principal.tenant == snapshot.tenant and any(
        snapshot.roles[name].explains_denials for name in principal.roles if name in snapshot.roles
    )
