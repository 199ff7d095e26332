"""From a call to an authorized call: what does the name mean, and may this caller?"""

from collections.abc import Mapping, Sequence
from typing import Final

from remit.calls.directory import CatalogueSource, Directory, PolicySource
from remit.calls.words import words_of
from remit.errors import BadCall, CallDenied
from remit.model.calls import AuthorizedCall, Call, Permit
from remit.model.contents import Kind, own_name
from remit.model.decisions import Decision
from remit.model.tools import ToolId
from remit.policy.engine import decide, decide_for
from remit.policy.memo import Memo
from remit.policy.snapshot import PolicySnapshot
from remit.upstreams.catalogue import Catalogue
from remit.upstreams.uris import qualified

MOST_PERMITS: Final = 16_384
"""How many permits are remembered: callers times the tools that each of them uses."""

UNKNOWN = "no tool by that name"

NO_SUCH: Mapping[Kind, str] = {
    Kind.TOOL: UNKNOWN,
    Kind.PROMPT: "no prompt by that name",
    Kind.RESOURCE: "no resource by that URI",
}

_Question = tuple[int, str, str | None]
"""The `id()` of a caller, which is its own while its permit is remembered, a name and a scope."""


class Authorizer:
    """Resolves the alias and asks `decide()` (R2, R10).

    An alias that fits several tools means the one that the caller may use; only when it may use
    several is it ambiguous, so that an answer never tells of a tool that is hidden (R14).

    What was found for a tool is remembered until a name can mean something else or the rules
    change (R17); what was refused is looked up every time.
    """

    def __init__(
        self, directory: Directory, catalogues: CatalogueSource, policies: PolicySource
    ) -> None:
        self._directory = directory
        self._catalogues = catalogues
        self._policies = policies
        self._permits = Memo[_Question, Permit](MOST_PERMITS)
        self._found_under: tuple[Catalogue, PolicySnapshot] | None = None

    def __call__(self, call: Call) -> AuthorizedCall:
        """Return the call with the permit that allows it.

        Raises:
            CallDenied: Policy says no, or the name means nothing.
            BadCall: The caller may use several tools that the name fits.
        """
        # URIs are too many, and too long, to be remembered; an agent that is acted for is looked
        # up for every call.
        if call.kind is not Kind.TOOL or call.agent is not None:
            return AuthorizedCall(call=call, permit=self._permit(call))
        permits = self._permits_now()
        question = (id(call.principal), call.requested, call.scope)
        permit = permits.find(question)
        if permit is None:
            permit = self._permit(call)
            permits.keep(question, permit)
        return AuthorizedCall(call=call, permit=permit)

    def _permits_now(self) -> Memo[_Question, Permit]:
        catalogue, snapshot = self._catalogues.catalogue, self._policies.snapshot
        found = self._found_under
        if found is None or found[0] is not catalogue or found[1] is not snapshot:
            self._permits = Memo[_Question, Permit](MOST_PERMITS)
            self._found_under = (catalogue, snapshot)
        return self._permits

    def _permit(self, call: Call) -> Permit:
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
            return self._permit_for(call, tool, decision)
        if allowed:
            raise self._ambiguous(call, [tool for tool, _ in allowed])
        raise self._denial(call, decided)

    def _permit_for(self, call: Call, tool: ToolId, decision: Decision) -> Permit:
        limits = self._policies.snapshot.limits
        allowances = limits.allowances(call.principal, tool)
        if call.agent is not None:  # it has to fit into those of both
            allowances = (*allowances, *limits.allowances(call.agent, tool))
        return Permit(
            principal=call.principal,
            tool_id=tool,
            decision=decision,
            allowances=tuple(dict.fromkeys(allowances)),
            words=words_of(call.principal, tool, decision, call.agent),
        )

    def _decided(self, call: Call, candidates: Sequence[ToolId]) -> list[tuple[ToolId, Decision]]:
        snapshot = self._policies.snapshot
        if call.agent is None:
            return [(tool, decide(snapshot, call.principal, tool)) for tool in candidates]
        return [
            (tool, decide_for(snapshot, call.principal, call.agent, tool)) for tool in candidates
        ]

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

    def _denial(self, call: Call, decided: list[tuple[ToolId, Decision]]) -> CallDenied:
        if not decided:
            return CallDenied(NO_SUCH[call.kind], tool=call.requested, server=call.scope or "")
        tool, decision = decided[0]  # of several none is allowed, so any one's rule says why
        return CallDenied(
            decision.reason,
            tool=tool.name,
            server=tool.server,
            layer=decision.layer.value,
            rule=decision.rule,
            is_of_agent=call.agent is not None
            and decide(self._policies.snapshot, call.principal, tool).allowed,
        )
