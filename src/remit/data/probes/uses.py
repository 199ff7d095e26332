"""What a column is good for, by what was seen of it."""

from collections.abc import Sequence
from typing import Final

from remit.data.probes.columns import FEW, ColumnProfile
from remit.data.probes.families import Family
from remit.model.ontology import ColumnRole, ForeignKey

JOINABLE: Final = frozenset({"primary_key", "foreign_key", "unique_values", "many_values"})
"""Reasons for which a column is fit to join by."""

_UNIQUE: Final = 0.999
_NEARLY_ALL: Final = 0.95
_LONGEST_KEY: Final = 64
_CHOICES: Final = frozenset({Family.TIME, Family.BOOLEAN})
_NEVER_KEYS: Final = _CHOICES | {Family.BINARY}


def joinability(seen: ColumnProfile, foreign_keys: Sequence[ForeignKey]) -> str:
    """Return why a column is fit to join by (one of `JOINABLE`), or why it is not.

    Args:
        seen: The column.
        foreign_keys: Its table's, to tables that may be used.
    """
    findings = (
        ("primary_key", seen.column.is_primary_key),
        ("foreign_key", any(key.column == seen.column.name for key in foreign_keys)),
        ("type_excluded", seen.family in _NEVER_KEYS),
        ("no_values", not seen.distinct),
        ("nearly_all_null", seen.null_rate >= _NEARLY_ALL),
        ("too_long", (seen.longest or 0) > _LONGEST_KEY),
        ("unique_values", seen.cardinality_ratio >= _UNIQUE),
        ("few_values", seen.distinct <= FEW),
    )
    return next((reason for reason, holds in findings if holds), "many_values")


def inferred_role(seen: ColumnProfile, reason: str) -> ColumnRole:
    """Return what a column is most likely for, where the ontology says nothing.

    Args:
        seen: The column.
        reason: What `joinability` says of it.
    """
    is_named_key = seen.column.name.lower().endswith(("id", "key", "uuid"))
    if reason in {"primary_key", "foreign_key"} or (reason == "unique_values" and is_named_key):
        return ColumnRole.IDENTIFIER
    if seen.family in _CHOICES or reason == "few_values":
        return ColumnRole.DIMENSION
    return ColumnRole.MEASURE if seen.family is Family.NUMBER else ColumnRole.ATTRIBUTE
