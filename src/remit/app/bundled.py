"""The servers that remit brings along."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from remit.servers.git.server import open_server as open_git
from remit.upstreams.fleet import BuiltinServer


class OpenBuiltin(Protocol):
    """What opens a bundled server."""

    def __call__(self, args: Sequence[str], /, folder: Path) -> BuiltinServer:
        """Open it with its arguments, relative paths taken from *folder*."""
        ...


BUILTINS: Mapping[str, OpenBuiltin] = {"git": open_git}
"""The one registry of bundled servers: `builtin:` name to what opens it."""


def builtins_in(folder: Path) -> Mapping[str, Callable[[Sequence[str]], BuiltinServer]]:
    """Return the bundled servers, with relative paths of their arguments taken from *folder*."""
    return {name: partial(make, folder=folder) for name, make in BUILTINS.items()}
