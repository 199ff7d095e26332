"""What bridges to all frameworks have in common."""

from collections.abc import Awaitable, Callable
from functools import partial

import structlog

from remit.client.tools import Progress

log = structlog.get_logger(__name__)

ToolProgress = Callable[[str, float, float | None, str], Awaitable[None] | None]
"""Hears how far a call is: the tool, what is done, of how much if that is known, and a text."""


def progress_of(on_progress: ToolProgress | None, tool: str) -> Progress | None:
    """Return what a call of *tool* tells of its progress, where anybody wants to hear."""
    return None if on_progress is None else partial(on_progress, tool)


def not_installed(extra: str, missing: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return what a bridge raises where its framework is missing: with the way to get it.

    Args:
        extra: Of remit, by which the framework is installed.
        missing: What importing it raised.
    """
    return ModuleNotFoundError(
        f"remit's bridge to {extra} needs {missing.name}, which is not installed:"
        f" pip install 'remit[{extra}]'",
        name=missing.name,
    )


class LeftOut(dict[str, str]):
    """Tools that a framework cannot take, each with the reason; each is logged when it is new.

    Args:
        framework: Its name, for people.
    """

    def __init__(self, framework: str) -> None:
        super().__init__()
        self._framework = framework

    def note(self, name: str, reason: str) -> None:
        """Leave a tool out, and say so once."""
        if self.get(name) != reason:
            self[name] = reason
            log.warning(
                "a tool cannot be one of the framework's and is left out",
                framework=self._framework,
                tool=name,
                reason=reason,
            )
