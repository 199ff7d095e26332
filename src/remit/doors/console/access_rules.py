"""The rules behind the cells of a matrix: each has a short code, which a legend explains."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from remit.client.authority import Matrix, MatrixDecision

LETTERS: Final[Mapping[str, str]] = {
    "tenant": "N",
    "server": "S",
    "deny": "D",
    "ceiling": "C",
    "access": "A",
    "tool": "T",
}
"""What a code begins with, by the layer that decided."""

ALLOWED: Final = ("yes", "\N{CHECK MARK}")
DENIED: Final = ("no", "\N{MULTIPLICATION X}")
CLOSED: Final = ("no closed", "\N{MULTIPLICATION X}")
"""Classes and sign of a cell; what is closed by name stands out among what nothing opens."""

_NAMED: Final = re.compile(r"'[^']*'")
"""A name in a reason: reasons that differ in names alone have one code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What cells of one decision show.

    Attributes:
        tone: Their classes: `yes`, `no` or `no closed`.
        code: Of the rule, such as `C1`.
        told: The whole of it, in a line.
    """

    tone: str
    sign: str
    code: str
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a code stands for.

    Attributes:
        path: Into the declaration, or empty: no single rule decided.
        reason: One of those that it was given with.
    """

    code: str
    allowed: bool
    layer: str
    path: str
    reason: str
    cells: int


def marks_of(matrix: Matrix) -> tuple[Sequence[Mark], Sequence[Rule]]:
    """Return a mark for each decision, and the rules behind their codes."""
    counts = [0] * len(matrix.decisions)
    for row in matrix.cells:
        for decision in row:
            counts[decision] += 1
    codes: dict[tuple[bool, str, str], str] = {}
    used = dict.fromkeys(LETTERS.values(), 0)
    marks: list[Mark] = []
    rules: dict[str, Rule] = {}
    for one, cells in zip(matrix.decisions, counts, strict=True):
        alike = _alike(one)
        code = codes.get(alike)
        if code is None:
            letter = LETTERS.get(one.layer, "?")
            used[letter] = used.get(letter, 0) + 1
            code = codes[alike] = f"{letter}{used[letter]}"
        before = rules[code].cells if code in rules else 0
        rules[code] = Rule(
            code=code, allowed=one.allowed, layer=one.layer, path=one.rule,
            reason=rules[code].reason if before else one.reason, cells=before + cells,
        )  # fmt: skip
        tone, sign = ALLOWED if one.allowed else CLOSED if one.layer == "deny" else DENIED
        marks.append(Mark(tone=tone, sign=sign, code=code, told=_told(one)))
    return marks, list(rules.values())


def _alike(one: MatrixDecision) -> tuple[bool, str, str]:
    return one.allowed, one.layer, one.rule or _NAMED.sub("''", one.reason)


def _told(one: MatrixDecision) -> str:
    return f"{'allow' if one.allowed else 'deny'}: {one.rule or one.reason}"
