"""Long lists in pages: `limit`, `cursor`, `next`."""

import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final, Generic, TypeVar, cast

from fastapi import Query
from pydantic import BaseModel, Field

from remit.errors import BadCall

MOST: Final = 1000
USUAL: Final = 100
LONGEST_CURSOR: Final = 1024

T = TypeVar("T")

Limit = Annotated[int, Query(ge=1, le=MOST, description="Most entries of the answer.")]
Cursor = Annotated[
    str | None,
    Query(
        max_length=LONGEST_CURSOR,
        description="The `next` of the answer before; without it the list begins.",
    ),
]


class Page(BaseModel, Generic[T]):
    """One page of a list."""

    items: list[T]
    next: str | None = Field(
        default=None, description="The `cursor` of the next page; null on the last."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut(Generic[T]):
    """A page as values, before they are shown."""

    items: Sequence[T]
    next: str | None


def cut(
    items: Sequence[T], key: Callable[[T], str], *, of: str, cursor: str | None, limit: int
) -> Cut[T]:
    """Return the page after *cursor*, in the order of *key*, which is unique.

    What is added or removed meanwhile neither repeats nor hides another entry.

    Raises:
        BadCall: The cursor is none of this list.
    """
    after = position(cursor, of=of)
    ordered = sorted(items, key=key)
    rest = ordered if after is None else [item for item in ordered if key(item) > after]
    page = rest[:limit]
    more = len(rest) > limit
    return Cut(items=page, next=cursor_at(key(page[-1]), of=of) if more else None)


async def read(
    after: Callable[[str | None, int], Awaitable[Sequence[T]]],
    key: Callable[[T], str],
    *,
    of: str,
    cursor: str | None,
    limit: int,
) -> Cut[T]:
    """Return the same as `cut` of a list that may be long, of which no more is read.

    Args:
        after: Reads so many entries behind a place, in the order of the list.
        key: The place of an entry.
        of: What the list is called in cursors.
        cursor: The one that was given.
        limit: Most entries.

    Raises:
        BadCall: The cursor is none of this list.
    """
    found = await after(position(cursor, of=of), limit + 1)
    more = cursor_at(key(found[limit - 1]), of=of) if len(found) > limit else None
    return Cut(items=found[:limit], next=more)


def place_by_age(made: datetime, id_: str) -> str:
    """Return the place in a list, oldest first, of what was made then."""
    return f"{made.astimezone(UTC).isoformat(timespec='microseconds')} {id_}"


def age_at(place: str) -> tuple[datetime, str]:
    """Return when what has that place by its age was made, aware UTC, and its id.

    Raises:
        BadCall: It is no such place.
    """
    made, _, id_ = place.partition(" ")
    try:
        return datetime.fromisoformat(made).astimezone(UTC), id_
    except (ValueError, OverflowError):
        raise BadCall("the cursor is none of this list: begin without one") from None


def cursor_at(place: str, *, of: str) -> str:
    """Return an opaque cursor after *place* in the list *of*."""
    text = json.dumps([of, place], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def position(cursor: str | None, *, of: str) -> str | None:
    """Return the place that a cursor of the list *of* stands for; None for the beginning.

    Raises:
        BadCall: It is none of this list.
    """
    if cursor is None:
        return None
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        parts = cast("object", json.loads(raw))
    except (binascii.Error, ValueError, RecursionError):
        parts = None
    if isinstance(parts, list):
        match cast("list[object]", parts):
            case [str(listed), str(place)] if listed == of:
                return place
            case _:
                pass
    raise BadCall("the cursor is none of this list: begin without one, and pass `next` on as it is")
