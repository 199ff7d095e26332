"""A part of a list that the declaration has whole: what holds some words, from a place on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from remit.doors.console.visitor import Visitor

LONGEST_NUMBER: Final = 6
"""Digits of a place in a list."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch(Generic[T]):
    """What one page of a list shows.

    Attributes:
        q: The words that are looked for, in any case.
        offset: Place of the first of the items among all that hold them.
        step: Most items of a page.
        total: How many hold them.
        all: How many there are.
    """

    items: Sequence[T]
    q: str
    offset: int
    step: int
    total: int
    all: int


def stretch_of(
    visitor: Visitor, every: Sequence[T], text_of: Callable[[T], str], *, step: int
) -> Stretch[T]:
    """Return the part that `q` and `offset` of the address ask for; the last one beyond the end."""
    q, place = visitor.asked("q"), visitor.asked("offset")
    kept = [one for one in every if q.casefold() in text_of(one).casefold()]
    asked = int(place) if place.isdecimal() and len(place) <= LONGEST_NUMBER else 0
    offset = min(asked, max(len(kept) - 1, 0) // step * step)
    return Stretch(
        items=kept[offset : offset + step],
        q=q,
        offset=offset,
        step=step,
        total=len(kept),
        all=len(every),
    )
