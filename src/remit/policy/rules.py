"""A list of pattern rules, indexed so that a long list costs no more than a short one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from remit.model.decisions import LayerVerdict
from remit.model.tools import ToolId
from remit.policy.patterns import Pattern, mcp_spelling


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternRule:
    """One pattern of a list, with the verdict it gives.

    Attributes:
        position: Its place in the list.
    """

    pattern: Pattern
    position: int
    verdict: LayerVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternRules:
    """A list of pattern rules; order decides only which of several fitting rules is named.

    Attributes:
        literals: Patterns without a star, by their text.
        by_server: Patterns with a star and a literal server part, by the shelf of that server.
        anywhere: The rest.
    """

    literals: Mapping[str, PatternRule]
    by_server: Mapping[str, Sequence[PatternRule]]
    anywhere: Sequence[PatternRule]

    @classmethod
    def index(cls, rules: Iterable[PatternRule]) -> Self:
        """Build the index over *rules*, given in the order of the list."""
        literals: dict[str, PatternRule] = {}
        by_server: dict[str, list[PatternRule]] = {}
        anywhere: list[PatternRule] = []
        for rule in rules:
            if rule.pattern.is_literal:
                literals.setdefault(rule.pattern.text, rule)
            elif rule.pattern.literal_server is None:
                anywhere.append(rule)
            else:
                by_server.setdefault(_shelf(rule.pattern.literal_server), []).append(rule)
        return cls(literals=literals, by_server=by_server, anywhere=anywhere)

    def find(self, tool: ToolId) -> LayerVerdict | None:
        """Return the verdict of the first rule of the list that fits *tool*, or None."""
        fitting = [
            rule
            for rule in (
                self.literals.get(str(tool)),
                self.literals.get(mcp_spelling(tool)),
                _first(self.by_server.get(_shelf(tool.server), ()), tool),
                _first(self.anywhere, tool),
            )
            if rule is not None
        ]
        return min(fitting, key=lambda rule: rule.position).verdict if fitting else None


def _first(rules: Iterable[PatternRule], tool: ToolId) -> PatternRule | None:
    return next((rule for rule in rules if rule.pattern.matches(tool)), None)


def _shelf(server: str) -> str:
    # `mcp__a__*` fits tool `x` of `a_` as well as tool `_x` of `a` (R15: the text decides), so
    # servers that differ only in an underscore at the end share a shelf.
    return server.removesuffix("_")
