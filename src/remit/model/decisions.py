"""A decision: yes or no, with the layer, rule and revision that decided.

Verdicts and decisions are structs, since every new question makes some.
"""

from dataclasses import dataclass
from enum import StrEnum

import msgspec


class Layer(StrEnum):
    """The layers in the order in which they are asked (R9, A to F)."""

    TENANT = "tenant"
    SERVER = "server"
    DENY = "deny"
    CEILING = "ceiling"
    ACCESS = "access"
    TOOL = "tool"


class Verdict(StrEnum):
    """What one layer says."""

    ALLOW = "allow"
    DENY = "deny"
    SILENT = "silent"


class LayerVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What one layer said.

    Attributes:
        rule: Path into the declaration, such as `roles.designer.tools.github[0]`; empty when no
            single rule decided.
        reason: One line for people.
    """

    layer: Layer
    verdict: Verdict
    rule: str = ""
    reason: str = ""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Yes or no.

    Attributes:
        layer: The layer that decided: the first that denied, or the one whose grant allowed.
        rule: The rule that decided, a path into the declaration; empty when nothing matched.
        revision: The policy's revision number.
    """

    allowed: bool
    layer: Layer
    rule: str
    reason: str
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A decision with every layer's verdict, in order."""

    decision: Decision
    layers: tuple[LayerVerdict, ...]
