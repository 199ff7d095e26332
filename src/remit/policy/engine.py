"""The one place that says yes or no (R10): every list, call, search and explanation asks here."""

from remit.model.decisions import Decision, Explanation, Layer, Verdict
from remit.model.principals import Principal, PrincipalKind
from remit.model.tools import ToolId
from remit.policy.layers import ask
from remit.policy.snapshot import PolicySnapshot


def decide(snapshot: PolicySnapshot, principal: Principal, tool: ToolId) -> Decision:
    """Say whether *principal* may use *tool*, and which rule says so.

    The same as the decision of `explain`; remembered, since a snapshot never changes its mind.
    """
    question = (principal.tenant, principal.roles, tool)
    decision = snapshot.memo.find(question)
    if decision is None:
        decision = explain(snapshot, principal, tool).decision
        snapshot.memo.keep(question, decision)
    return decision


def explain(snapshot: PolicySnapshot, principal: Principal, tool: ToolId) -> Explanation:
    """Say what every layer says, also those after the one that decided.

    The first layer that denies decides. When none does, the ceiling's grant is the rule that
    allows, so without a grant there is no yes.
    """
    verdicts = {layer: ask(layer, snapshot, principal, tool) for layer in Layer}
    denials = (verdict for verdict in verdicts.values() if verdict.verdict is Verdict.DENY)
    deciding = next(denials, verdicts[Layer.CEILING])
    decision = Decision(
        allowed=deciding.verdict is Verdict.ALLOW,
        layer=deciding.layer,
        rule=deciding.rule,
        reason=deciding.reason,
        revision=snapshot.revision,
    )
    return Explanation(decision=decision, layers=tuple(verdicts.values()))


def roles_that_can(snapshot: PolicySnapshot, tool: ToolId) -> tuple[str, ...]:
    """Return the roles that alone may use *tool*, in the order of the declaration."""
    return tuple(
        name for name in snapshot.roles if decide(snapshot, _in(snapshot, name), tool).allowed
    )


def explains_denials(snapshot: PolicySnapshot, principal: Principal) -> bool:
    """Whether a refusal tells *principal* layer, rule and reason (R14, `denials: explain`)."""
    return principal.tenant == snapshot.tenant and any(
        snapshot.roles[name].explains_denials for name in principal.roles if name in snapshot.roles
    )


def _in(snapshot: PolicySnapshot, role: str) -> Principal:
    return Principal(kind=PrincipalKind.ROLE, name=role, tenant=snapshot.tenant, roles=(role,))
