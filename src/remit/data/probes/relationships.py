"""Whether the entities of a datasource belong together as is said, and what else might join them.

What may join them is found in `candidates.py`; here it is looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import anyio

from remit.data.desk import Desk
from remit.data.known import Known, look_up
from remit.data.probes.candidates import Candidate, candidates_between, end_of
from remit.data.probes.pairs import Pair, compare, is_comparable
from remit.errors import DataFailure
from remit.model.data import DataCode

MOST_PAIRS: Final = 20
"""Pairs of columns that are looked at in one call."""

_BUDGET: Final = 10.0
"""Seconds after which no further pair is looked at."""

_GOOD: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """Two columns that do not join.

    Attributes:
        reason: `types_differ`, `no_values`, `low_match_rate`, or a code of the database's.
        pair: What was seen of them, or None.
    """

    candidate: Candidate
    reason: str
    pair: Pair | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Relationships:
    """What was found.

    Attributes:
        truncated: Whether there is more to look at than one call does.
    """

    found: Sequence[tuple[Candidate, Pair]]
    rejected: Sequence[Rejected]
    truncated: bool


async def probe_relationships(
    desk: Desk,
    from_entity: str | None = None,
    to_entity: str | None = None,
    *,
    datasource: str | None = None,
) -> Relationships:
    """Look at what joins entities; without either end, at all that is stated.

    Raises:
        DataFailure: `entity_not_found`, or what the database says where it cannot be used.
    """
    known = await look_up(desk, datasource)
    source = end_of(known, from_entity) if from_entity else None
    target = end_of(known, to_entity) if to_entity else None
    candidates = candidates_between(known, source, target)
    end = anyio.current_time() + _BUDGET
    found: list[tuple[Candidate, Pair]] = []
    rejected: list[Rejected] = []
    looked_at = 0
    for candidate in candidates[:MOST_PAIRS]:
        if anyio.current_time() > end:
            break
        looked_at += 1
        outcome = await _look_at(known, candidate)
        if isinstance(outcome, Rejected):
            rejected.append(outcome)
        else:
            found.append((candidate, outcome))
    return Relationships(found=found, rejected=rejected, truncated=looked_at < len(candidates))


async def _look_at(known: Known, candidate: Candidate) -> Pair | Rejected:
    if not is_comparable(known.source, candidate.one, candidate.other):
        return Rejected(candidate=candidate, reason="types_differ")
    try:
        pair = await compare(known.source, candidate.one, candidate.other)
    except DataFailure as failure:
        if failure.code == DataCode.SERVICE_UNAVAILABLE:
            raise
        return Rejected(candidate=candidate, reason=str(failure.code))
    if candidate.origin != "name":
        return pair
    if not pair.with_value:
        return Rejected(candidate=candidate, reason="no_values", pair=pair)
    if pair.match_rate < _GOOD:
        return Rejected(candidate=candidate, reason="low_match_rate", pair=pair)
    return pair
