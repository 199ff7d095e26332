"""Which tool a name means, for everything that is known: offered now, or declared (R1, R2)."""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final, Protocol

from remit.model.declaration import Declaration
from remit.model.tools import ToolId
from remit.policy.snapshot import PolicySnapshot, governed_tools
from remit.upstreams.catalogue import Catalogue
from remit.upstreams.names import Names

MOST_GONE: Final = 1000
"""Tools of one server that it no longer offers; beyond it they are forgotten."""


class CatalogueSource(Protocol):
    """Where the current catalogue comes from."""

    @property
    def catalogue(self) -> Catalogue:
        """The tools on offer now; immutable, swapped whole."""
        ...


class PolicySource(Protocol):
    """Where the current policy comes from."""

    @property
    def snapshot(self) -> PolicySnapshot:
        """The tenant's rules now; immutable, swapped whole."""
        ...

    @property
    def declaration(self) -> Declaration:
        """The declaration that the snapshot was compiled from."""
        ...


def declared_tools(declaration: Declaration) -> frozenset[ToolId]:
    """Return every tool that *declaration* knows by its exact name.

    Those that a role grants, and those of the servers that toolsets and agent types govern, whose
    names are data.
    """
    named = {
        ToolId(server, name)
        for role in declaration.roles.values()
        for server, names in role.tools.items()
        for name in names
    }
    governed = {
        ToolId(server, name) for server in declaration.servers for name in governed_tools(server)
    }
    return frozenset(named | governed)


class Directory:
    """The one naming table, rebuilt when the catalogue or the declaration changes.

    Declared tools are in it too, so that a name keeps its meaning while its server is away and
    `explain` can decide before a server was ever seen.
    """

    def __init__(
        self, catalogues: CatalogueSource, policies: PolicySource, seen: Iterable[ToolId] = ()
    ) -> None:
        self._catalogues = catalogues
        self._policies = policies
        self._known = set(seen)
        self._built_from: tuple[Catalogue, Declaration] | None = None
        self._names = Names.build(())

    @property
    def names(self) -> Names:
        """The table for what is known now."""
        catalogue, declaration = self._catalogues.catalogue, self._policies.declaration
        built = self._built_from
        if built is None or built[0] is not catalogue or built[1] is not declaration:
            self._known |= catalogue.tools.keys()
            self._forget(catalogue)
            self._names = Names.build(self._known | declared_tools(declaration))
            self._built_from = (catalogue, declaration)
        return self._names

    @property
    def known(self) -> Collection[ToolId]:
        """Every tool that is offered, or was ever seen."""
        return frozenset(self._known | self._catalogues.catalogue.tools.keys())

    def _forget(self, catalogue: Catalogue) -> None:
        """Bound what a server that keeps renaming its tools leaves behind."""
        gone = Counter(tool.server for tool in self._known - catalogue.tools.keys())
        full = {name for name in catalogue.by_server if gone[name] > MOST_GONE}
        if full:
            self._known = {t for t in self._known if t.server not in full or t in catalogue.tools}
