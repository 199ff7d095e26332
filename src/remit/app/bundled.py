"""The servers that remit brings along."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final

from remit.app.data import DataPlace
from remit.policy.snapshot import DATA
from remit.storage.database import Database
from remit.storage.notices import Notices
from remit.upstreams.fleet import BuiltinServer, MakeBuiltin

BUILTINS: Mapping[str, str] = {
    "git": "remit.servers.git.server",
    "github": "remit.servers.github.server",
    "jira": "remit.servers.jira.server",
}
"""Bundled servers that stand alone: `builtin:` name to the module whose `open_server` opens it.

Modules are imported when an entry names them: what they need is not small.
"""

CREW: Final = ("mail", "agent", "system", "task", "epic", "orchestrator", "supervisor")
"""Bundled servers that work on the database of the gateway, and know who calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What the servers of a gateway have to themselves.

    Attributes:
        notices: Tells of changes, here and in other processes.
        silence: How long an agent of the crew may be without activity.
        data: What `data` servers share.
    """

    database: Database
    notices: Notices
    silence: timedelta
    data: DataPlace


def builtins_in(folder: Path, place: Place | None = None) -> Mapping[str, MakeBuiltin]:
    """Return the bundled servers, with relative paths of their arguments taken from *folder*.

    Args:
        folder: Of the declaration.
        place: Of the gateway; without one the crew's servers and `data` list their tools alone.
    """
    alone = {name: partial(_open, module, folder) for name, module in BUILTINS.items()}
    crew = {name: partial(_open_of_crew, name, place) for name in CREW}
    return {**alone, **crew, DATA: partial(_open_data, place)}


def _open(
    module: str, folder: Path, args: Sequence[str], environ: Mapping[str, str]
) -> BuiltinServer:
    return import_module(module).open_server(args, environ, folder)


def _open_of_crew(
    name: str, place: Place | None, args: Sequence[str], environ: Mapping[str, str]
) -> BuiltinServer:
    del environ
    if args:
        raise ValueError(f"{name} server: takes no arguments")
    # Deferred: most installations declare none of them.
    from remit.crew.inbox import MailServer  # noqa: PLC0415 - see above
    from remit.crew.servers import CrewServer, list_only  # noqa: PLC0415 - see above
    from remit.storage.crew import Crew  # noqa: PLC0415 - see above

    if place is None:
        return list_only(name)
    kind = MailServer if name == "mail" else CrewServer
    store = Crew(place.database, place.notices)
    return kind(name, store, place.notices, silence=place.silence)


def _open_data(
    place: Place | None, args: Sequence[str], environ: Mapping[str, str]
) -> BuiltinServer:
    del environ
    if args:
        raise ValueError(f"{DATA} server: takes no arguments; add datasources to it instead")
    # Deferred: most installations declare none, and the parser of SQL is an extra.
    try:
        import_module("sqlglot")
    except ImportError as error:
        raise ValueError(f"{DATA} server: sqlglot is missing; install remit[data]") from error
    from remit.data.servers import DataServer, list_only  # noqa: PLC0415 - see above

    if place is None:
        return list_only()
    data = place.data
    return DataServer(data.stores, data.sources, data.screening)
