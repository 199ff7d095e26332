"""What resources are called on the endpoint of all servers, as one table (R1, R2).

A URI stays as its server writes it, unless two servers offer the same one, or templates that make
the same ones: then all of them are published as `remit://{server}/{the server's own}`, whichever
came first. That form is accepted for every resource of every server.

What a server lists is meant by exactly its text. Any other URI is one of many spellings, and means
something only in its normal form (`normal_form.py`): here, before any rule is asked.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, Self

from remit.model.contents import Kind, own_name
from remit.model.tools import ToolId
from remit.upstreams.normal_form import scheme_with_free_host, why_not_normal

SCHEME: Final = "remit://"

_EXPRESSION = re.compile(r"\{[^{}]*\}")  # RFC 6570


def qualified(server: str, uri: str) -> str:
    """Return the form of *uri* that says which server's it is."""
    return f"{SCHEME}{server}/{uri}"


class Uris:
    """What every known resource is called, and what a URI may mean: immutable, built once."""

    __slots__ = ("_by_uri", "_free_hosts", "_listed", "_shared", "_templates")

    def __init__(
        self,
        *,
        by_uri: Mapping[str, Sequence[ToolId]],
        templates: Sequence[tuple[Sequence[str], ToolId]],
        shared: Collection[ToolId],
        listed: Collection[ToolId],
    ) -> None:
        self._by_uri = by_uri
        self._templates = templates
        self._shared = shared
        self._listed = listed
        self._free_hosts = _free_hosts(listed)

    @classmethod
    def build(cls, listed: Iterable[ToolId], declared: Iterable[ToolId] = ()) -> Self:
        """Return the table.

        Args:
            listed: The resources that servers list or listed, templates among them.
            declared: Those that rules name exactly, listed or not.
        """
        listed = frozenset(listed)
        by_uri: dict[str, list[ToolId]] = defaultdict(list)
        by_shape: dict[tuple[str, ...], list[ToolId]] = defaultdict(list)
        for item in sorted(listed.union(declared)):
            uri = own_name(item)
            by_uri[uri].append(item)
            by_shape[tuple(_EXPRESSION.split(uri))].append(item)
        shared = {
            item
            for pieces, items in by_shape.items()
            for item in items
            # What looks like a qualified form could pass for another server's.
            if len({one.server for one in items}) > 1 or pieces[0].startswith(SCHEME)
        }
        templates = [
            (pieces, item)
            for pieces, items in by_shape.items()
            for item in items
            if len(pieces) > 1
        ]
        return cls(
            by_uri=dict(by_uri), templates=templates, shared=frozenset(shared), listed=listed
        )

    def published(self, item: ToolId) -> str:
        """Return what *item* is called on the endpoint of all servers."""
        uri = own_name(item)
        return qualified(item.server, uri) if item in self._shared else uri

    def why_meaningless(self, item: ToolId) -> str | None:
        """Say why *item* can be no resource, whatever its server says, or None where it can."""
        if item in self._listed:
            return None
        return why_not_normal(own_name(item), self._free_hosts.get(item.server, frozenset()))

    def find(self, uri: str, scope: str | None, servers: Collection[str]) -> tuple[ToolId, ...]:
        """Return every resource that *uri* may mean: none, the one, or all candidates in order.

        Args:
            uri: As a caller wrote it: the URI of a resource, or the text of a template.
            scope: The server of the endpoint, whose every URI is meant; None on the endpoint of
                all servers.
            servers: Those that are declared.
        """
        return self._with_a_meaning(self._candidates(uri, scope, servers))

    def find_unlisted(
        self, uri: str, having: Iterable[str], servers: Collection[str]
    ) -> tuple[ToolId, ...]:
        """Return what *uri*, which `find` knows nothing of, would be on each server.

        Nothing if it says itself which server's it is.

        Args:
            uri: As a caller wrote it, on the endpoint of all servers.
            having: The servers that have resources, be they listed or not.
            servers: Those that are declared.
        """
        if _read_qualified(uri, servers) is not None:
            return ()
        return self._with_a_meaning(Kind.RESOURCE.id(server, uri) for server in having)

    def why_unknown(self, uri: str, scope: str | None, servers: Collection[str]) -> str | None:
        """Say what is odd about a *uri* that means nothing, for the record; None: nothing is."""
        meant = _read_qualified(uri, servers)
        server, own = meant if meant is not None and scope in (None, meant[0]) else (scope, uri)
        return why_not_normal(own, self._free_hosts.get(server or "", frozenset()))

    def _with_a_meaning(self, items: Iterable[ToolId]) -> tuple[ToolId, ...]:
        return tuple(item for item in items if self.why_meaningless(item) is None)

    def _candidates(
        self, uri: str, scope: str | None, servers: Collection[str]
    ) -> tuple[ToolId, ...]:
        meant = _read_qualified(uri, servers)
        if scope is not None:
            own = meant[1] if meant is not None and meant[0] == scope else uri
            return (Kind.RESOURCE.id(scope, own),)
        if meant is not None:
            return (Kind.RESOURCE.id(*meant),)
        return tuple(self._by_uri.get(uri, ())) or self._made_from_templates(uri)

    def _made_from_templates(self, uri: str) -> tuple[ToolId, ...]:
        """Return what *uri* is by those of the fitting templates that say most about it."""
        fitting = [
            (sum(map(len, pieces)), item) for pieces, item in self._templates if _fits(pieces, uri)
        ]
        most = max((length for length, _ in fitting), default=0)
        servers = sorted({item.server for length, item in fitting if length == most})
        return tuple(Kind.RESOURCE.id(server, uri) for server in servers)


def _free_hosts(listed: Iterable[ToolId]) -> Mapping[str, frozenset[str]]:
    """Return server to the schemes in which its templates have a value in the host's place."""
    found: dict[str, set[str]] = defaultdict(set)
    for item in listed:
        scheme = scheme_with_free_host(own_name(item))
        if scheme is not None:
            found[item.server].add(scheme)
    return {server: frozenset(schemes) for server, schemes in found.items()}


def _read_qualified(uri: str, servers: Collection[str]) -> tuple[str, str] | None:
    """Return server and own URI of a qualified form; a server's name never holds a slash."""
    if not uri.startswith(SCHEME):
        return None
    server, slash, own = uri.removeprefix(SCHEME).partition("/")
    return (server, own) if slash and own and server in servers else None


def _fits(pieces: Sequence[str], uri: str) -> bool:
    """Whether *uri* holds the pieces in order, the first at its start and the last at its end."""
    first, *middle, last = pieces
    if not uri.startswith(first):
        return False
    at = len(first)
    for piece in middle:
        found = uri.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return uri.endswith(last) and len(uri) - len(last) >= at
