"""Which tool, prompt or resource a name means, for all that is offered now or declared (R1, R2)."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final, Protocol

from remit.model.contents import Kind, kind_of, own_name
from remit.model.declaration import Declaration
from remit.model.tools import ToolId
from remit.policy.snapshot import PolicySnapshot, governed_tools
from remit.upstreams.catalogue import Catalogue
from remit.upstreams.names import Names
from remit.upstreams.uris import Uris

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
    """The one naming table for each kind, rebuilt when the catalogue or the declaration changes.

    Declared tools are in it too, so that a name keeps its meaning while its server is away and
    `explain` can decide before a server was ever seen.
    """

    def __init__(
        self, catalogues: CatalogueSource, policies: PolicySource, seen: Iterable[ToolId] = ()
    ) -> None:
        self._catalogues = catalogues
        self._policies = policies
        self._known = set(seen)
        self._all_known = frozenset(self._known)
        self._built_from: tuple[Catalogue, Declaration] | None = None
        self._names = Names.build(())
        self._prompts = Names.build(())
        self._uris = Uris.build(())

    @property
    def names(self) -> Names:
        """The table of tools, for what is known now."""
        self._refresh()
        return self._names

    @property
    def prompts(self) -> Names:
        """The table of prompts, in which each is the pair of its server and its own name."""
        self._refresh()
        return self._prompts

    @property
    def uris(self) -> Uris:
        """The table of resources and their templates."""
        self._refresh()
        return self._uris

    def find(self, kind: Kind, name: str, scope: str | None) -> tuple[ToolId, ...]:
        """Return everything of that kind that *name* may mean, as policy knows it.

        Args:
            kind: What is asked for.
            name: As a caller spelled it; the URI of a resource.
            scope: The server of the endpoint, or None on the endpoint of all servers.
        """
        match kind:
            case Kind.TOOL:
                return self.names.find(name, scope)
            case Kind.PROMPT:
                found = self.prompts.find(name, scope)
                return tuple(Kind.PROMPT.id(prompt.server, prompt.name) for prompt in found)
            case Kind.RESOURCE:
                return self.uris.find(name, scope, self._policies.declaration.servers)

    def published(self, item: ToolId, scope: str | None) -> str:
        """Return what *item*, of any kind, is called on the endpoint of *scope* (R2).

        Raises:
            KeyError: It is a tool or a prompt that is not known.
        """
        kind = kind_of(item.name)
        if kind is Kind.RESOURCE:
            return self.uris.published(item) if scope is None else own_name(item)
        names = self.names if kind is Kind.TOOL else self.prompts
        named = ToolId(item.server, own_name(item))
        return names.published(named) if scope is None else names.local(named)

    def find_unlisted(self, uri: str, scope: str | None) -> tuple[ToolId, ...]:
        """Return what *uri*, which `find` knows nothing of, would be on each server that has any.

        Nothing at the endpoint of one server, where `find` has said all there is to say.
        """
        if scope is not None:
            return ()
        contents = self._catalogues.catalogue.contents
        having = [server for server in contents if contents[server].has_resources]
        return self.uris.find_unlisted(uri, having, self._policies.declaration.servers)

    def why_unknown(self, uri: str, scope: str | None) -> str | None:
        """Say what is odd about a URI that means nothing, for the record; None: nothing is."""
        return self.uris.why_unknown(uri, scope, self._policies.declaration.servers)

    def is_meaningful(self, item: ToolId) -> bool:
        """Whether *item* may be asked about: every spelling of a resource but one means nothing."""
        return kind_of(item.name) is not Kind.RESOURCE or self.uris.why_meaningless(item) is None

    def _refresh(self) -> None:
        catalogue, declaration = self._catalogues.catalogue, self._policies.declaration
        built = self._built_from
        if built is None or built[0] is not catalogue or built[1] is not declaration:
            self._known |= catalogue.tools.keys() | catalogue.items.keys()
            self._forget(catalogue)
            self._all_known = frozenset(self._known)
            known, declared = _by_kind(self._known), _by_kind(declared_tools(declaration))
            self._names = Names.build(known[Kind.TOOL] | declared[Kind.TOOL])
            self._prompts = Names.build(
                ToolId(item.server, own_name(item))
                for item in known[Kind.PROMPT] | declared[Kind.PROMPT]
            )
            self._uris = Uris.build(known[Kind.RESOURCE], declared[Kind.RESOURCE])
            self._built_from = (catalogue, declaration)

    @property
    def known(self) -> Collection[ToolId]:
        """Everything of every kind that is offered, or was ever seen."""
        self._refresh()
        return self._all_known

    def _forget(self, catalogue: Catalogue) -> None:
        """Bound what a server that keeps renaming its tools leaves behind."""
        offered = catalogue.tools.keys() | catalogue.items.keys()
        gone = Counter(tool.server for tool in self._known - offered)
        full = {name for name in catalogue.by_server if gone[name] > MOST_GONE}
        if full:
            self._known = {t for t in self._known if t.server not in full or t in offered}


def _by_kind(items: Iterable[ToolId]) -> Mapping[Kind, set[ToolId]]:
    found: dict[Kind, set[ToolId]] = {kind: set() for kind in Kind}
    for item in items:
        found[kind_of(item.name)].add(item)
    return found
