"""The servers that remit brings along."""

from collections.abc import Callable, Mapping, Sequence

from remit.servers.git.server import open_server as open_git
from remit.upstreams.fleet import BuiltinServer

BUILTINS: Mapping[str, Callable[[Sequence[str]], BuiltinServer]] = {"git": open_git}
"""The one registry of bundled servers: `builtin:` name to what opens it."""
