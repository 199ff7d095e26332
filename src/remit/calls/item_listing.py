"""The prompts, resources and templates that a caller sees, by the same `decide()` (R10, R15)."""

from enum import StrEnum

from remit.calls.directory import CatalogueSource, Directory, PolicySource
from remit.model.contents import Contents, Item, Kind, kind_of
from remit.model.principals import Principal
from remit.model.tools import ToolId
from remit.policy.callers import standing_of
from remit.policy.engine import decide
from remit.policy.standing import Standing
from remit.upstreams.wire import joined, json_bytes, members

MOST_CACHED = 4096
"""Lists kept per catalogue and policy, by what callers are; beyond it the cache starts anew."""


class Listed(StrEnum):
    """What there is a list of beside tools; the value is its member in the result."""

    PROMPTS = "prompts"
    RESOURCES = "resources"
    TEMPLATES = "resourceTemplates"

    def among(self, contents: Contents) -> tuple[Item, ...]:
        """Return those that one server lists."""
        match self:
            case Listed.PROMPTS:
                return contents.prompts
            case Listed.RESOURCES:
                return contents.resources
            case Listed.TEMPLATES:
                return contents.templates

    @property
    def key(self) -> str:
        """The member of an entry that says which one it is."""
        keys = {Listed.PROMPTS: "name", Listed.RESOURCES: "uri", Listed.TEMPLATES: "uriTemplate"}
        return keys[self]


class ItemListing:
    """Each caller's lists, as bytes that are ready to send and remembered while nothing changes."""

    def __init__(
        self, *, directory: Directory, catalogues: CatalogueSource, policies: PolicySource
    ) -> None:
        self._directory = directory
        self._catalogues = catalogues
        self._policies = policies
        self._current: tuple[object, object] | None = None
        self._lists: dict[tuple[Listed, Standing, str | None], bytes] = {}
        self._beside: tuple[ToolId, ...] = ()
        self._capable: dict[tuple[Standing, str | None], dict[str, object]] = {}

    def list_json(self, which: Listed, principal: Principal, scope: str | None) -> bytes:
        """Return the JSON array of one list for one caller and endpoint."""
        self._refresh()
        key = (which, self._standing(principal), scope)
        listed = self._lists.get(key)
        if listed is None:
            items = [
                item
                for server, contents in sorted(self._catalogues.catalogue.contents.items())
                if scope in (None, server)
                for item in which.among(contents)
                if self.may(principal, item.id)
            ]
            entries = [self._published(which, item, scope) for item in items]
            listed = self._lists[key] = b"[" + b",".join(entries) + b"]"
        return listed

    def capabilities(self, principal: Principal, scope: str | None) -> dict[str, object]:
        """Return what to announce beside tools: only what the caller may use here.

        What a server offered when it was last connected counts too, so that a client that comes
        before the server is back is told of it.
        """
        self._refresh()
        key = (self._standing(principal), scope)
        if key not in self._capable:
            self._capable[key] = dict(self._announced(principal, scope))
        return self._capable[key]

    def _standing(self, principal: Principal) -> Standing:
        return standing_of(self._policies.snapshot, principal)

    def may(self, principal: Principal, item: ToolId) -> bool:
        """Whether *principal* may use *item*, which a server may have spelled as it likes."""
        return self._directory.is_meaningful(item) and self._is_allowed(principal, item)

    def _is_allowed(self, principal: Principal, item: ToolId) -> bool:
        return decide(self._policies.snapshot, principal, item).allowed

    def published(self, item: ToolId, scope: str | None) -> str:
        """Return what *item* is called on the endpoint of *scope*."""
        return self._directory.published(item, scope)

    def _announced(self, principal: Principal, scope: str | None) -> dict[str, object]:
        known = [
            item
            for item in self._beside
            if scope in (None, item.server) and self.may(principal, item)
        ]
        contents = self._catalogues.catalogue.contents
        open_to_all_uris = {
            server
            for server in contents
            if contents[server].has_resources
            and scope in (None, server)
            and self._is_allowed(principal, Kind.RESOURCE.id(server, ""))
        }
        reading = open_to_all_uris | {
            item.server for item in known if kind_of(item.name) is Kind.RESOURCE
        }
        announced: dict[str, object] = {}
        if any(kind_of(item.name) is Kind.PROMPT for item in known):
            announced["prompts"] = {"listChanged": True}
        if reading:
            announced["resources"] = {"listChanged": True}
        if any(server in contents and contents[server].subscribable for server in reading):
            announced["resources"] = {"subscribe": True, "listChanged": True}
        usable = reading | {item.server for item in known}
        if any(server in contents and contents[server].completes for server in usable):
            announced["completions"] = {}
        return announced

    def _published(self, which: Listed, item: Item, scope: str | None) -> bytes:
        parts = members(item.wire)
        published = json_bytes(self.published(item.id, scope))
        if parts[which.key] == published:
            return item.wire
        return joined({**parts, which.key: published})

    def _refresh(self) -> None:
        now = (self._catalogues.catalogue, self._policies.snapshot)
        stale = self._current is None or any(
            old is not new for old, new in zip(self._current, now, strict=True)
        )
        if stale or len(self._lists) > MOST_CACHED or len(self._capable) > MOST_CACHED:
            self._current = now
            self._lists = {}
            self._capable = {}
            self._beside = tuple(
                item for item in self._directory.known if kind_of(item.name) is not Kind.TOOL
            )
