"""From a call to an authorized call: what does the name mean, and may this caller?"""

from collections.abc import Mapping, Sequence

from remit.calls.directory import Directory, PolicySource
from remit.errors import BadCall, CallDenied
from remit.model.calls import AuthorizedCall, Call
from remit.model.contents import Kind, own_name
from remit.model.decisions import Decision
from remit.model.tools import ToolId
from remit.policy.engine import decide
from remit.upstreams.uris import qualified

UNKNOWN = "no tool by that name"

NO_SUCH: Mapping[Kind, str] = {
    Kind.TOOL: UNKNOWN,
    Kind.PROMPT: "no prompt by that name",
    Kind.RESOURCE: "no resource by that URI",
}


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
        decided = self._decided(call, self._directory.find(call.kind, call.requested, call.scope))
        allowed = [(tool, decision) for tool, decision in decided if decision.allowed]
        if not decided and call.kind is Kind.RESOURCE:
            # What a tool's result links to need not be listed. It is read where only one server
            # can be meant: nothing is asked of one that the caller may not use.
            unlisted = self._decided(call, self._directory.with_resources(call.requested))
            allowed = [(tool, decision) for tool, decision in unlisted if decision.allowed]
            allowed = allowed if len(allowed) == 1 else []
        if len(allowed) == 1:
            tool, decision = allowed[0]
            return AuthorizedCall(call=call, tool_id=tool, decision=decision)
        if allowed:
            raise self._ambiguous(call, [tool for tool, _ in allowed])
        raise _denial(call, decided)

    def _decided(self, call: Call, candidates: Sequence[ToolId]) -> list[tuple[ToolId, Decision]]:
        snapshot = self._policies.snapshot
        return [(tool, decide(snapshot, call.principal, tool)) for tool in candidates]

    def _ambiguous(self, call: Call, candidates: Sequence[ToolId]) -> BadCall:
        kind = call.kind
        names = (
            qualified(item.server, own_name(item)) if kind is Kind.RESOURCE else str(item)
            for item in candidates
        )
        return BadCall(
            f"the name {call.requested!r} fits several {kind.value}s: "
            f"{', '.join(sorted(names))}; use one of them"
        )


def _denial(call: Call, decided: list[tuple[ToolId, Decision]]) -> CallDenied:
    if not decided:
        return CallDenied(NO_SUCH[call.kind], tool=call.requested, server=call.scope or "")
    tool, decision = decided[0]  # of several none is allowed, so any one's rule says why
    return CallDenied(
        decision.reason,
        tool=tool.name,
        server=tool.server,
        layer=decision.layer.value,
        rule=decision.rule,
    )
