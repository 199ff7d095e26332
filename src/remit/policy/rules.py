"""A list of pattern rules, indexed so that a long list costs no more than a short one.

Each pattern is kept under its longest literal piece, by where that piece stands: at the start of
the text, at its end, or somewhere within. A look-up asks for the pieces that the tool's spelling
has there, so its cost grows with how many lengths of pieces there are, not with how many rules.
"""

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


ByPiece = Mapping[str, Sequence[PatternRule]]
"""The rules kept under each literal piece."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spelled:
    """The rules written in one spelling, those with a star by where their piece stands.

    Attributes:
        literals: Patterns without a star, by their text.
        starts: Length of the piece, and the rules whose text begins with it.
        ends: The same for those whose text ends with it.
        within: First character of the piece, and the other rules by its length.
    """

    literals: Mapping[str, PatternRule]
    starts: Sequence[tuple[int, ByPiece]]
    ends: Sequence[tuple[int, ByPiece]]
    within: Sequence[tuple[str, Sequence[tuple[int, ByPiece]]]]

    def candidates(self, text: str) -> list[PatternRule]:
        """Return every rule that can fit *text*; one may come twice."""
        found: list[PatternRule] = []
        if (literal := self.literals.get(text)) is not None:
            found.append(literal)
        for length, by_piece in self.starts:
            found += by_piece.get(text[:length], ())
        for length, by_piece in self.ends:
            found += by_piece.get(text[-length:], ())
        for first, by_length in self.within:
            at = text.find(first)
            while at >= 0:
                for length, by_piece in by_length:
                    found += by_piece.get(text[at : at + length], ())
                at = text.find(first, at + 1)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternRules:
    """A list of pattern rules; order decides only which of several fitting rules is named.

    Attributes:
        reaches_any_server: Whether a pattern of the list names no server literally.
    """

    reaches_any_server: bool
    _slashed: _Spelled | None
    _mcp: _Spelled | None

    @classmethod
    def index(cls, rules: Iterable[PatternRule]) -> Self:
        """Build the index over *rules*, given in the order of the list."""
        listed = tuple(rules)
        return cls(
            reaches_any_server=any(rule.pattern.literal_server is None for rule in listed),
            _slashed=_spelled([rule for rule in listed if not rule.pattern.is_mcp]),
            _mcp=_spelled([rule for rule in listed if rule.pattern.is_mcp]),
        )

    @property
    def is_empty(self) -> bool:
        """Whether there is no rule."""
        return self._slashed is None and self._mcp is None

    def find(self, tool: ToolId) -> LayerVerdict | None:
        """Return the verdict of the first rule of the list that fits *tool*, or None."""
        rule = self.find_rule(tool)
        return None if rule is None else rule.verdict

    def fits_spelled(self, name: str) -> bool:
        """Whether a rule fits a name spelled `mcp__…` that means no tool.

        A tool's own name is asked for by `find`, in both spellings.
        """
        return self._mcp is not None and any(
            rule.pattern.fits(name) for rule in self._mcp.candidates(name)
        )

    def find_rule(self, tool: ToolId) -> PatternRule | None:
        """Return the first rule of the list that fits *tool*, or None."""
        found = [] if self._slashed is None else self._slashed.candidates(str(tool))
        if self._mcp is not None:
            found += self._mcp.candidates(mcp_spelling(tool))
        if not found:  # the common case, and worth its line on this path
            return None
        fitting = [rule for rule in found if rule.pattern.matches(tool)]
        return min(fitting, key=lambda rule: rule.position, default=None)


def _spelled(rules: Sequence[PatternRule]) -> _Spelled | None:
    if not rules:
        return None
    literals: dict[str, PatternRule] = {}
    starts: dict[int, dict[str, list[PatternRule]]] = {}
    ends: dict[int, dict[str, list[PatternRule]]] = {}
    within: dict[str, dict[int, dict[str, list[PatternRule]]]] = {}
    for rule in rules:
        if rule.pattern.is_literal:
            literals.setdefault(rule.pattern.text, rule)
            continue
        at, piece = rule.pattern.longest_piece
        at_an_end = starts if at == 0 else ends
        by_length = within.setdefault(piece[0], {}) if at > 0 else at_an_end
        by_length.setdefault(len(piece), {}).setdefault(piece, []).append(rule)
    return _Spelled(
        literals=literals,
        starts=tuple(starts.items()),
        ends=tuple(ends.items()),
        within=tuple((first, tuple(by_length.items())) for first, by_length in within.items()),
    )
