"""From a call to an authorized call: what does the name mean, and may this caller?"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from remit.calls.directory import CatalogueSource, Directory, PolicySource
from remit.calls.words import words_of
from remit.errors import (
    BadCall,
    CallDenied,
    InsufficientScope,
    StorageUnavailable,
    Unauthenticated,
    UpstreamUnavailable,
)
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

WITHDRAWN: Final = (
    "the credential of the call holds no longer: it ended, or was revoked, while the call waited;"
    " the call was not sent"
)

NOT_KNOWN: Final = (
    "was not asked: nobody can say now whether the caller's credential still holds; try again later"
)

NO_SUCH: Mapping[Kind, str] = {
    Kind.TOOL: UNKNOWN,
    Kind.PROMPT: "no prompt by that name",
    Kind.RESOURCE: "no resource by that URI",
}

Decided = tuple[ToolId, Decision]
"""What a name may mean, and whether its caller may use that."""

_Question = tuple[int, str, str | None]
"""The `id()` of a caller, which is its own while its permit is remembered, a name and a scope."""


def meant_of(
    candidates: Sequence[Decided], requested: str, kind: Kind = Kind.TOOL
) -> Decided | None:
    """Return what a name means to one caller: to whoever calls, and to whoever asks about it (R10).

    Of several candidates it is the one that the caller may use; only when it may use several is the
    name ambiguous, so that an answer never tells of a tool that is hidden (R14).

    Args:
        candidates: All that it fits, in order.
        requested: The name.
        kind: Of what.

    Returns:
        The first where none is allowed: any one's rule says why. None without candidates.

    Raises:
        BadCall: The caller may use several; the text lists those.
    """
    allowed = [candidate for candidate in candidates if candidate[1].allowed]
    if len(allowed) > 1:
        raise several(requested, [item for item, _ in allowed], kind)
    return next(iter(allowed or candidates), None)


def several(requested: str, items: Sequence[ToolId], kind: Kind = Kind.TOOL) -> BadCall:
    """Return the refusal of a name that may mean any of *items*; the text lists them."""
    names = (
        qualified(item.server, own_name(item)) if kind is Kind.RESOURCE else str(item)
        for item in items
    )
    return BadCall(
        f"the name {requested!r} fits several {kind.value}s: "
        f"{', '.join(sorted(names))}; use one of them"
    )


class Authorizer:
    """Resolves the alias and asks `decide()` (R2, R10).

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

    async def again(self, authorized: AuthorizedCall) -> None:
        """Look once more at a call that had to wait, just before it is sent (R17).

        What its name means is settled; whether its credential still holds, and whether whoever
        that stands for now may still use it, is not.

        Raises:
            CallDenied: Policy says no by now.
            Unauthenticated: The credential holds no longer.
            UpstreamUnavailable: Nobody can say whether it holds.
        """
        call = await _by_now(authorized.call)
        decided = self._decided(call, [authorized.permit.tool_id])
        if not decided[0][1].allowed:
            raise self._denial(call, decided[0])

    def _permits_now(self) -> Memo[_Question, Permit]:
        catalogue, snapshot = self._catalogues.catalogue, self._policies.snapshot
        found = self._found_under
        if found is None or found[0] is not catalogue or found[1] is not snapshot:
            self._permits = Memo[_Question, Permit](MOST_PERMITS)
            self._found_under = (catalogue, snapshot)
        return self._permits

    def _permit(self, call: Call) -> Permit:
        decided = self._decided(call, self._directory.find(call.kind, call.requested, call.scope))
        meant = meant_of(decided, call.requested, call.kind)
        if meant is None and call.kind is Kind.RESOURCE:
            meant = self._unlisted(call)
        if meant is None or not meant[1].allowed:
            raise self._denial(call, meant)
        return self._permit_for(call, *meant)

    def _unlisted(self, call: Call) -> Decided | None:
        # What a tool's result links to need not be listed. It is read where only one server
        # can be meant: nothing is asked of one that the caller may not use.
        decided = self._decided(call, self._directory.find_unlisted(call.requested, call.scope))
        allowed = [one for one in decided if one[1].allowed]
        return allowed[0] if len(allowed) == 1 else None

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

    def _decided(self, call: Call, candidates: Sequence[ToolId]) -> list[Decided]:
        snapshot = self._policies.snapshot
        if call.agent is None:
            return [(tool, decide(snapshot, call.principal, tool)) for tool in candidates]
        return [
            (tool, decide_for(snapshot, call.principal, call.agent, tool)) for tool in candidates
        ]

    def _denial(self, call: Call, meant: Decided | None) -> CallDenied:
        if meant is None:
            return CallDenied(self._no_such(call), tool=call.requested, server=call.scope or "")
        tool, decision = meant
        return CallDenied(
            decision.reason,
            tool=tool.name,
            server=tool.server,
            layer=decision.layer.value,
            rule=decision.rule,
            is_of_agent=call.agent is not None
            and decide(self._policies.snapshot, call.principal, tool).allowed,
        )

    def _no_such(self, call: Call) -> str:
        """Say for the record that the name means nothing, and what may be the cause (R14)."""
        reason = NO_SUCH[call.kind]
        if call.kind is not Kind.RESOURCE:
            return reason
        odd = self._directory.why_unknown(call.requested, call.scope)
        return reason if odd is None else f"{reason}: it is not listed, and {odd}"


async def _by_now(call: Call) -> Call:
    """Return the call as its credential stands for it now.

    Raises:
        Unauthenticated: It holds no longer.
        UpstreamUnavailable: Nobody can say whether it holds.
    """
    if call.again is None:
        return call
    try:
        principal = await call.again()
    except (Unauthenticated, InsufficientScope) as refusal:
        raise Unauthenticated(WITHDRAWN) from refusal
    except StorageUnavailable as error:
        raise UpstreamUnavailable(NOT_KNOWN) from error
    return call if principal == call.principal else replace(call, principal=principal)
