"""What a request of every operation is written as."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.api.worlds import Api


@dataclass(frozen=True, kw_only=True)
class Example:
    """What to send, and what comes back.

    Attributes:
        path: Below `/api/v1`, or whole.
    """

    path: str
    status: int = 200
    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


Make = Callable[[Api], Example]


def plain(path: str, **query: str) -> Make:
    return lambda _: Example(path=path, query=query)
