"""What can be measured, and what was: the shapes behind `/metrics`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Something that is measured.

    Attributes:
        name: As Prometheus has it, with the unit.
        help: One line for people.
        labels: What its samples are told apart by, in order; `worker` comes on top.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One number.

    Attributes:
        suffix: What a histogram's parts add to the name: `_bucket`, `_sum`, `_count`.
    """

    labels: Mapping[str, str]
    value: float
    suffix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """All numbers of one measure."""

    measure: Measure
    samples: tuple[Sample, ...]
