"""For programs and frameworks that do not await."""

from collections.abc import Callable, Coroutine
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

from anyio.from_thread import start_blocking_portal

P = ParamSpec("P")
R = TypeVar("R")


def waiting(function: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, R]:
    """Return *function* for those who call it without `await`, maybe under a loop that is running.

    It runs on a loop in a thread of its own, so it must not lean on its caller's; the context
    variables are its caller's. An interrupt (Ctrl-C) cancels it.
    """

    @wraps(function)
    def wait(*args: P.args, **kwargs: P.kwargs) -> R:
        with start_blocking_portal() as portal:
            return portal.call(partial(function, *args, **kwargs))

    return wait
