"""What is known of a datasource, as routes read and change it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, Protocol, TypeVar

from fastapi import Depends, Response

from remit.data.engines.allowing import declared
from remit.data.ontology.knowledge import Knowledge, read_knowledge
from remit.doors.api.access import ByProjectReviewer, Reason, Reviewer
from remit.doors.api.camel import CamelShape
from remit.doors.api.data_desk import DatasourceName, desk_of, use_tool
from remit.doors.api.envelope import Envelope
from remit.doors.api.paging import Cut, Page, cut
from remit.doors.api.preconditions import IfMatch, require_match, require_tag, version_tag
from remit.errors import DataFailure
from remit.model.data import DataCode
from remit.model.ontology import Item, ItemKind


class Keyed(Protocol):
    """A value of the ontology."""

    @property
    def key(self) -> str:
        """Under which it is stored."""
        ...


Value = TypeVar("Value", bound=Keyed)
Shape = TypeVar("Shape", bound=CamelShape)


def key_of(value: Keyed) -> str:
    """Return the key of a value, which most lists are sorted by."""
    return value.key


class GoneShape(CamelShape):
    """What is known no longer."""

    name: str
    deleted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Generic[Value, Shape]):
    """A kind of thing that the ontology holds, as the API shows it.

    Attributes:
        noun: What people call one.
        missing: The code for one that is not there.
        every: Returns all that are there, by key.
        show: Makes a shape of a value and what is stored of it.
        place: Returns what lists are sorted by, unique to each value; keys without it.
    """

    kind: ItemKind
    noun: str
    missing: DataCode
    every: Callable[[Knowledge], Sequence[Value]]
    show: Callable[[Value, Item], Shape]
    place: Callable[[Value], str] = key_of

    def shown(self, known: Knowledge, value: Value) -> Shape:
        """Show one."""
        return self.show(value, self.item(known, value))

    def item(self, known: Knowledge, value: Value) -> Item:
        """Return what is stored of one."""
        return known.items[self.kind, value.key]

    def find(self, known: Knowledge, key: str) -> Value | None:
        """Return the one of that key, or None."""
        return next((each for each in self.every(known) if each.key == key), None)

    def get(self, known: Knowledge, key: str) -> Value:
        """Return the one of that key.

        Raises:
            DataFailure: There is none.
        """
        found = self.find(known, key)
        if found is None:
            raise DataFailure(self.missing, f"there is no {self.noun} {key[:80]!r}")
        return found

    def page(
        self, known: Knowledge, values: Sequence[Value], *, cursor: str | None, limit: int
    ) -> Envelope[Page[Shape]]:
        """Show a page of *values*, in the order of their places."""
        page: Cut[Value] = cut(values, self.place, of=self.kind.value, cursor=cursor, limit=limit)
        return Envelope(
            data=Page(items=[self.shown(known, each) for each in page.items], next=page.next)
        )

    def answered(self, known: Knowledge, key: str, response: Response) -> Envelope[Shape]:
        """Show the one of that key, with its tag.

        Raises:
            DataFailure: There is none.
        """
        found = self.get(known, key)
        response.headers["ETag"] = version_tag(self.item(known, found).version)
        return Envelope(data=self.shown(known, found))


async def known_of(by: Reviewer, datasource: str) -> Knowledge:
    """Return what is known of a datasource, as far as its tables may be used.

    Raises:
        DataFailure: `no_datasource`.
    """
    desk = desk_of(by, "get_ontology")
    source = await desk.datasource(datasource)
    return await read_knowledge(desk, source, declared(source))


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change that somebody asks for of what is known.

    Attributes:
        if_match: The tags of what the caller has seen; None where it has sent none.
    """

    by: Reviewer
    datasource: str
    response: Response
    reason: str
    if_match: str | None

    async def put(
        self, kind: Kind[Value, Shape], key: str, tool: str, /, **arguments: object
    ) -> Envelope[Shape]:
        """Write one by a tool, where the caller has seen it as it is, and show it.

        Raises:
            RemitError: It has seen another state (412), or none (428); or the tool fails.
        """
        tags = require_tag(self.if_match)
        async with self.by.making(self.reason, datasource=self.datasource, key=key):
            known = await known_of(self.by, self.datasource)
            found = kind.find(known, key)
            version = 0 if found is None else kind.item(known, found).version
            require_match(tags, version_tag(version))
            await use_tool(self.by, tool, tags, datasource=self.datasource, **arguments)
        known = await known_of(self.by, self.datasource)
        return kind.answered(known, key, self.response)

    async def remove(
        self, kind: Kind[Value, Shape], key: str, tool: str, /, **arguments: object
    ) -> Envelope[GoneShape]:
        """Take one away by a tool, where the caller has seen it as it is.

        Raises:
            RemitError: There is none; or as `put`.
        """
        tags = require_tag(self.if_match)
        async with self.by.making(self.reason, datasource=self.datasource, key=key):
            known = await known_of(self.by, self.datasource)
            version = kind.item(known, kind.get(known, key)).version
            require_match(tags, version_tag(version))
            await use_tool(self.by, tool, tags, datasource=self.datasource, **arguments)
        return Envelope(data=GoneShape(name=key, deleted=True))


async def change(
    by: ByProjectReviewer,
    datasource: DatasourceName,
    response: Response,
    *,
    if_match: IfMatch = None,
    reason: Reason = "",
) -> Change:
    """Give what changes what is known of a datasource, to a reviewer."""
    return Change(by=by, datasource=datasource, response=response, reason=reason, if_match=if_match)


Changing = Annotated[Change, Depends(change)]
