"""The servers that remit brings along."""

from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

from remit.upstreams.fleet import BuiltinServer, MakeBuiltin

BUILTINS: Mapping[str, str] = {
    "git": "remit.servers.git.server",
    "github": "remit.servers.github.server",
    "jira": "remit.servers.jira.server",
}
"""The one registry of bundled servers: `builtin:` name to the module whose `open_server` opens it.

Modules are imported when an entry names them: what they need is not small.
"""


def builtins_in(folder: Path) -> Mapping[str, MakeBuiltin]:
    """Return the bundled servers, with relative paths of their arguments taken from *folder*."""
    return {name: partial(_open, module, folder) for name, module in BUILTINS.items()}


def _open(
    module: str, folder: Path, args: Sequence[str], environ: Mapping[str, str]
) -> BuiltinServer:
    return import_module(module).open_server(args, environ, folder)
