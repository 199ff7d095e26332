"""How something of the ontology is written: by whom, over whom, and without losing what others do.

    read what is known ──▶ decide ──▶ write, with the versions that were seen
            ▲                              │
            └───────── look again ◀────────┘ somebody else was faster

What a tool writes is `mcp`, what the API and the console write is `manual`; a lower source never
overwrites a higher one (S2.43).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from remit.data.desk import Desk
from remit.data.engines.allowing import declared
from remit.data.ontology.knowledge import Knowledge, read_knowledge
from remit.data.ontology.names import ARROW, folded
from remit.data.settling import settled
from remit.errors import DataFailure
from remit.model.data import DataCode, Datasource
from remit.model.ontology import PRECEDENCE, Item, ItemKind, Provenance, Source

LONGEST_NAME: Final = 200
"""Characters of a name, and of an alias."""

LONGEST_TEXT: Final = 10_000
"""Characters of a description, a definition, a fact or a reason."""

MOST_NAMES: Final = 100
"""Aliases, key columns."""

MOST_VALUES: Final = 500
"""Possible values of a column."""


class Stateable(Protocol):
    """A value that can be written."""

    @property
    def key(self) -> str:
        """Under which it is stored."""
        ...

    def to_body(self) -> Mapping[str, object]:
        """Return it as it is stored."""
        ...


Value = TypeVar("Value", bound=Stateable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated(Generic[Value]):
    """What was written.

    Attributes:
        created: Whether there was none before.
    """

    value: Value
    provenance: Provenance
    created: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted(Generic[Value]):
    """What is to be written.

    Attributes:
        held: Items that it relies on: it is not written if one of them changes meanwhile.
    """

    value: Value
    held: Sequence[Item] = ()


async def look(desk: Desk, datasource: Datasource) -> Knowledge:
    """Read what is known of a datasource."""
    return await read_knowledge(desk, datasource, declared(datasource))


def source_of(desk: Desk) -> Source:
    """Return what the caller's statements count as (S2.43)."""
    return Source.MCP if desk.came_by == "mcp" else Source.MANUAL


def outranks(before: Item | None, source: Source) -> bool:
    """Say whether what is there comes from a higher source."""
    return before is not None and PRECEDENCE[before.provenance.edited_source] > PRECEDENCE[source]


def _rises(before: Item, source: Source) -> bool:
    return PRECEDENCE[source] > PRECEDENCE[before.provenance.edited_source]


def require_precedence(before: Item | None, source: Source, what: str) -> None:
    """Let nothing be overwritten or taken away that comes from a higher source (S2.43).

    Raises:
        DataFailure: `precedence_blocked`.
    """
    if before is not None and outranks(before, source):
        there = before.provenance.edited_source
        raise DataFailure(
            DataCode.PRECEDENCE_BLOCKED,
            f"{what} was last edited by a {there} source, which {source} may not overwrite;"
            " have it changed through the management API",
            details={"kind": before.kind.value, "key": before.key, "source": there.value},
        )


def provenance(desk: Desk, before: Item | None, source: Source) -> Provenance:
    """Return the provenance of what is written now over what was there before."""
    now = desk.clock()
    by = "remit" if source is Source.INFERRED else desk.user
    first = before.provenance if before is not None else None
    return Provenance(
        created_source=first.created_source if first is not None else source,
        created_by=first.created_by if first is not None else by,
        created=first.created if first is not None else now,
        edited_source=source,
        edited_by=by,
        edited=now,
    )


def stated(
    desk: Desk,
    datasource: Datasource,
    kind: ItemKind,
    value: Stateable,
    *,
    before: Item | None,
    source: Source | None = None,
) -> Item:
    """Return the item to write for *value*.

    Args:
        desk: Who writes.
        datasource: What it is about.
        kind: What it is.
        value: What is stated.
        before: What is there under its key, or None.
        source: None for the caller's.
    """
    return Item(
        tenant=desk.tenant,
        datasource=datasource.id,
        kind=kind,
        key=value.key,
        body=value.to_body(),
        provenance=provenance(desk, before, source or source_of(desk)),
        version=before.version if before is not None else 0,
    )


async def state(
    desk: Desk,
    datasource: Datasource,
    kind: ItemKind,
    decide: Callable[[Knowledge], Wanted[Value]],
) -> Stated[Value]:
    """Write one thing; what such a source has said already, word for word, is left as it is.

    Args:
        desk: Who writes.
        datasource: What it is about.
        kind: What it is.
        decide: Says what to write over what is known; asked again where that has changed.

    Raises:
        DataFailure: `precedence_blocked`, or what *decide* raises.
    """

    async def attempt() -> Stated[Value]:
        known = await look(desk, datasource)
        wanted = decide(known)
        value = wanted.value
        before = known.item(kind, value.key)
        is_there = before is not None and not before.body.get("is_deleted")
        desk.require_seen(before.version if before is not None and is_there else 0)
        source = source_of(desk)
        if before is not None and before.body == value.to_body() and not _rises(before, source):
            return Stated(value=value, provenance=before.provenance)
        require_precedence(before, source, f"{kind.value} {value.key!r}")
        item = stated(desk, datasource, kind, value, before=before)
        await desk.stores.ontology.write(items=[item, *wanted.held])
        return Stated(value=value, provenance=item.provenance, created=not is_there)

    return await settled(attempt)


async def unstate(
    desk: Desk, datasource: Datasource, kind: ItemKind, find_key: Callable[[Knowledge], str]
) -> bool:
    """Take one thing away, and say whether it was there.

    Args:
        desk: Who does.
        datasource: What it is about.
        kind: What it is.
        find_key: Says which one it is; asked again where something has changed.

    Raises:
        DataFailure: `precedence_blocked`, or what *find_key* raises.
    """

    async def attempt() -> bool:
        known = await look(desk, datasource)
        key = find_key(known)
        before = known.item(kind, key)
        desk.require_seen(0 if before is None else before.version)
        if before is None:
            return False
        require_precedence(before, source_of(desk), f"{kind.value} {key!r}")
        await desk.stores.ontology.write(removed=[before])
        return True

    return await settled(attempt)


def require_name(name: str, what: str) -> str:
    """Return a name that can be a key, without spaces around it.

    Raises:
        DataFailure: `validation_error`.
    """
    if not folded(name):
        raise DataFailure(DataCode.VALIDATION_ERROR, f"{what} is blank: give it a name")
    if ARROW in name:
        raise DataFailure(DataCode.VALIDATION_ERROR, f"{what} has {ARROW!r} in it: use words")
    return name.strip()


def require_free(names: Sequence[str], taken: Mapping[str, str], what: str) -> None:
    """Let no name be that of something else.

    Args:
        names: A name with its aliases.
        taken: Names and aliases of everything else, each with the name of what it means.
        what: Such as `an entity`.

    Raises:
        DataFailure: `resource_conflict`.
    """
    for name in names:
        other = taken.get(folded(name))
        if other is not None:
            raise DataFailure(
                DataCode.RESOURCE_CONFLICT,
                f"{name!r} means {what} already, {other!r}: update that one, or take the name"
                " from it first",
                details={"name": name, "taken_by": other},
            )


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Return names without blank ones and without those that come twice, as they were spelled."""
    by_key = {folded(name): name.strip() for name in reversed(names) if folded(name)}
    return tuple(reversed(by_key.values()))
