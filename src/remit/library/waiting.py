"""For programs and frameworks that do not await."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def waiting(function: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, R]:
    """Return *function* for those who call it without `await`, maybe under a loop that is running.

    It runs on a loop in a thread of its own, so it must not lean on its caller's.
    """

    @wraps(function)
    def wait(*args: P.args, **kwargs: P.kwargs) -> R:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, function(*args, **kwargs)).result()

    return wait
