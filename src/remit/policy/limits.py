"""Which limits a call falls under: looked up, like everything that a revision says."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from remit.model.limits import Allowance, Limit
from remit.model.principals import Principal, PrincipalKind
from remit.model.tools import ToolId
from remit.policy.memo import Memo
from remit.policy.patterns import Pattern

MOST_ANSWERS = 16_384
"""How many pairs of a caller and a tool are remembered with their limits."""

_Question = tuple[PrincipalKind, str, str, tuple[str, ...], ToolId]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """One limit, ready to be asked.

    Attributes:
        path: Its place in the declaration.
        identity: What makes it the limit that it is, whatever its place and its number of calls:
            so that a limit that is raised or moved goes on counting.
    """

    limit: Limit
    path: str
    pattern: Pattern | None
    identity: tuple[object, ...]

    def concerns(self, principal: Principal, tool: ToolId) -> bool:
        """Whether calls of *tool* by *principal* count."""
        limit = self.limit
        return (
            (not limit.role or limit.role in principal.roles)
            and (not limit.principal or limit.principal == principal.subject)
            and (self.pattern is None or self.pattern.matches(tool))
        )


class LimitRules:
    """The limits of one tenant at one revision."""

    def __init__(self, tenant: str, limits: Sequence[Limit] = ()) -> None:
        self._tenant = tenant
        self._rules = _distinct([_rule(at, limit) for at, limit in enumerate(limits)])
        self._memo = Memo[_Question, tuple[Allowance, ...]](MOST_ANSWERS)

    def allowances(self, principal: Principal, tool: ToolId) -> tuple[Allowance, ...]:
        """Return what a call of *tool* by *principal* has to fit into; mostly nothing."""
        if not self._rules:
            return ()
        question = (principal.kind, principal.name, principal.issuer, principal.roles, tool)
        known = self._memo.find(question)
        if known is None:
            known = tuple(
                self._allowance(rule, principal)
                for rule in self._rules
                if rule.concerns(principal, tool)
            )
            self._memo.keep(question, known)
        return known

    def _allowance(self, rule: _Rule, principal: Principal) -> Allowance:
        limit = rule.limit
        # Two issuers may know two people by one name.
        whose = [principal.subject, principal.issuer] if limit.per_caller else []
        return Allowance(
            key=_digest(self._tenant, rule.identity, whose),
            calls=limit.calls,
            seconds=limit.seconds,
            rule=rule.path,
            rate=limit.rate,
        )


def _rule(at: int, limit: Limit) -> _Rule:
    return _Rule(
        limit=limit,
        path=f"limits[{at}]",
        pattern=Pattern.parse(limit.tool) if limit.tool else None,
        identity=limit.subject_matter,
    )


def _distinct(rules: list[_Rule]) -> tuple[_Rule, ...]:
    """Keep the strictest of those that differ in nothing but the number of calls."""
    strictest: dict[tuple[object, ...], _Rule] = {}
    for rule in rules:
        known = strictest.setdefault(rule.identity, rule)
        if rule.limit.calls < known.limit.calls:
            strictest[rule.identity] = rule
    return tuple(strictest.values())


def _digest(*parts: object) -> str:
    """Return a short key of fixed length, since names may be long and are nobody else's business.

    As JSON, so that no two lists of parts read alike.
    """
    text = json.dumps(parts)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
