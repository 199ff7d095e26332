"""A list of pattern rules, indexed so that a long list costs no more than a short one.

Each pattern is kept under its longest literal piece, by where that piece stands: at the start of
the text, at its end, or somewhere within. A look-up asks for the pieces that the tool's spelling
has there, so its cost grows with how many lengths of pieces there are, not with how many rules.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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


Bucket = Mapping[int, Mapping[str, Sequence[PatternRule]]]
"""Length of a piece to the piece to the rules kept under it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spelled:
    """The rules written in one spelling."""

    literals: Mapping[str, PatternRule]
    starts: Bucket
    ends: Bucket
    within: Bucket

    def candidates(self, text: str) -> Iterator[PatternRule]:
        """Yield every rule that can fit *text*."""
        if (literal := self.literals.get(text)) is not None:
            yield literal
        for length, by_piece in self.starts.items():
            yield from by_piece.get(text[:length], ())
        for length, by_piece in self.ends.items():
            yield from by_piece.get(text[-length:], ())
        for length, by_piece in self.within.items():
            for at in range(len(text) - length + 1):
                yield from by_piece.get(text[at : at + length], ())


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternRules:
    """A list of pattern rules; order decides only which of several fitting rules is named.

    Attributes:
        reaches_any_server: Whether a pattern of the list names no server literally.
    """

    reaches_any_server: bool
    _slashed: _Spelled
    _mcp: _Spelled

    @classmethod
    def index(cls, rules: Iterable[PatternRule]) -> Self:
        """Build the index over *rules*, given in the order of the list."""
        listed = tuple(rules)
        return cls(
            reaches_any_server=any(rule.pattern.literal_server is None for rule in listed),
            _slashed=_spelled(rule for rule in listed if not rule.pattern.is_mcp),
            _mcp=_spelled(rule for rule in listed if rule.pattern.is_mcp),
        )

    def find(self, tool: ToolId) -> LayerVerdict | None:
        """Return the verdict of the first rule of the list that fits *tool*, or None."""
        rule = self.find_rule(tool)
        return None if rule is None else rule.verdict

    def find_rule(self, tool: ToolId) -> PatternRule | None:
        """Return the first rule of the list that fits *tool*, or None."""
        first: PatternRule | None = None
        for spelled, text in ((self._slashed, str(tool)), (self._mcp, mcp_spelling(tool))):
            for rule in spelled.candidates(text):
                if (first is None or rule.position < first.position) and rule.pattern.matches(tool):
                    first = rule
        return first


def _spelled(rules: Iterable[PatternRule]) -> _Spelled:
    literals: dict[str, PatternRule] = {}
    starts: dict[int, dict[str, list[PatternRule]]] = {}
    ends: dict[int, dict[str, list[PatternRule]]] = {}
    within: dict[int, dict[str, list[PatternRule]]] = {}
    for rule in rules:
        if rule.pattern.is_literal:
            literals.setdefault(rule.pattern.text, rule)
            continue
        at, piece = rule.pattern.longest_piece
        bucket = starts if at == 0 else ends if at < 0 else within
        bucket.setdefault(len(piece), {}).setdefault(piece, []).append(rule)
    return _Spelled(literals=literals, starts=starts, ends=ends, within=within)
