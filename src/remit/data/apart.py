"""Long texts looked through beside the event loop, so that one caller's keep no other waiting.

Parsing takes up to some tens of microseconds for each character: a second and more for the longest
statement that is taken. A thread does not make that faster; others are served meanwhile.
"""

from collections.abc import Callable, Collection
from typing import Final, TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

from remit.data.guard.statements import Statement, parse_statement
from remit.model.data import EngineKind

T = TypeVar("T")

SHORT: Final = 1_000
"""Characters up to which a text is looked through at once: some milliseconds."""

AT_ONCE: Final = 2
"""Long texts that are looked through at once; each takes a share of the one interpreter."""

_places: RunVar[CapacityLimiter] = RunVar("_places")


async def apart(size: int, look: Callable[[], T]) -> T:
    """Return what *look* returns, from a worker thread where its text is long.

    Args:
        size: Characters that it looks through.
        look: Has no side effects beyond what its caller waits for.
    """
    if size <= SHORT:
        return look()
    try:
        places = _places.get()
    except LookupError:
        places = CapacityLimiter(AT_ONCE)
        _places.set(places)
    return await to_thread.run_sync(look, limiter=places)


async def parsed(
    sql: str, engine: EngineKind, *, placeholders: bool = False, lists: Collection[str] = ()
) -> Statement:
    """Parse exactly one statement, as `parse_statement` does.

    Raises:
        DataFailure: `invalid_sql`.
    """
    return await apart(
        len(sql), lambda: parse_statement(sql, engine, placeholders=placeholders, lists=lists)
    )
