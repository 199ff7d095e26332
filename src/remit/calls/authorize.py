"""From a call to an authorized call: what does the name mean, and may this caller?"""

from remit.calls.directory import Directory, PolicySource
from remit.errors import BadCall, CallDenied
from remit.model.calls import AuthorizedCall, Call
from remit.model.decisions import Decision
from remit.model.tools import ToolId
from remit.policy.engine import decide

UNKNOWN = "no tool by that name"


class Authorizer:
    """Resolves the alias and asks `decide()` (R2, R10).

    An alias that fits several tools means the one that the caller may use; only when it may use
    several is it ambiguous, so that an answer never tells of a tool that is hidden (R14).
    """

    def __init__(self, directory: Directory, policies: PolicySource) -> None:
        self._directory = directory
        self._policies = policies

    def __call__(self, call: Call) -> AuthorizedCall:
        """Return the call with the tool it means and the decision that allows it.

        Raises:
            CallDenied: Policy says no, or the name means nothing.
            BadCall: The caller may use several tools that the name fits.
        """
        candidates = self._directory.names.find(call.requested, call.scope)
        snapshot = self._policies.snapshot
        decided = [(tool, decide(snapshot, call.principal, tool)) for tool in candidates]
        allowed = [(tool, decision) for tool, decision in decided if decision.allowed]
        if len(allowed) == 1:
            tool, decision = allowed[0]
            return AuthorizedCall(call=call, tool_id=tool, decision=decision)
        if allowed:
            names = ", ".join(sorted(str(tool) for tool, _ in allowed))
            raise BadCall(
                f"the name {call.requested!r} fits several tools: {names}; use one of them"
            )
        raise _denial(call, decided)


def _denial(call: Call, decided: list[tuple[ToolId, Decision]]) -> CallDenied:
    if not decided:
        return CallDenied(UNKNOWN, tool=call.requested, server=call.scope or "")
    tool, decision = decided[0]  # of several none is allowed, so any one's rule says why
    return CallDenied(
        decision.reason,
        tool=tool.name,
        server=tool.server,
        layer=decision.layer.value,
        rule=decision.rule,
    )
