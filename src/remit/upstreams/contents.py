"""From a server's own lists of prompts, resources and templates to what remit offers of them.

What cannot be offered is left out alone, with a note, as with tools (`offer.py`), and so is what no
client can read of the rest (`entries.py`).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

import anyio

from remit.errors import UpstreamProtocolError
from remit.model.contents import Contents, Item, Kind
from remit.model.members import members_of
from remit.upstreams.entries import PROMPT, RESOURCE, TEMPLATE, Fit, fitted
from remit.upstreams.era import Era
from remit.upstreams.listing import read_list
from remit.upstreams.session import Session
from remit.upstreams.wire import Malformed, joined, json_bytes, members, value_of


@dataclass(frozen=True, slots=True, kw_only=True)
class _List:
    """One of the lists.

    Attributes:
        key: The member of an entry that identifies it.
        known: What its other members are.
        texts: Members that have to be texts; every other client refuses the whole list else.
    """

    capability: str
    method: str
    member: str
    kind: Kind
    key: str
    known: Mapping[str, Fit]
    texts: tuple[str, ...] = ()


PROMPTS: Final = _List(
    capability="prompts",
    method="prompts/list",
    member="prompts",
    kind=Kind.PROMPT,
    key="name",
    known=PROMPT,
)
RESOURCES: Final = _List(
    capability="resources",
    method="resources/list",
    member="resources",
    kind=Kind.RESOURCE,
    key="uri",
    known=RESOURCE,
    texts=("name",),
)
TEMPLATES: Final = _List(
    capability="resources",
    method="resources/templates/list",
    member="resourceTemplates",
    kind=Kind.RESOURCE,
    key="uriTemplate",
    known=TEMPLATE,
    texts=("name",),
)


async def read_contents(
    server: str, session: Session, before: Contents, patience: float
) -> tuple[Contents, tuple[str, ...]]:
    """Return what the server offers beside tools, with notes on what looked odd.

    Only what it says it has is asked for, and that it fails never costs a server its tools.

    Args:
        server: Its name.
        session: With it.
        before: What it offered the last time, which stands while nothing newer can be had.
        patience: Seconds that it has.

    Raises:
        UpstreamUnavailable: The connection is lost.
    """
    problem = "it did not answer in time"
    with anyio.move_on_after(patience):
        try:
            return await _read_contents(server, session)
        except UpstreamProtocolError as error:
            problem = f"it {error}"
    return before, (f"its prompts and resources could not be read: {problem}",)


async def _read_contents(server: str, session: Session) -> tuple[Contents, tuple[str, ...]]:
    notes: list[str] = []
    found: dict[str, tuple[Item, ...]] = {}
    era = session.era
    for which in (PROMPTS, RESOURCES, TEMPLATES):
        found[which.member] = ()
        if era.may_have(which.capability):
            listed, odd = await read_list(session, which.method, which.member)
            # A server need not have both lists of resources.
            notes += [note for note in odd if which is not TEMPLATES or "has no" not in note]
            found[which.member] = build_items(server, which, listed, notes.append)
    contents = Contents(
        prompts=found["prompts"],
        resources=found["resources"],
        templates=found["resourceTemplates"],
        has_resources=era.has("resources"),
        completes=era.has("completions"),
        subscribable=_is_subscribable(era),
    )
    return contents, tuple(notes)


def in_own_words(completion: bytes, kind: Kind, own: str) -> bytes:
    """Return the params of `completion/complete` with what they refer to named as its server does.

    Args:
        completion: JSON object with the member `ref`.
        kind: What that is.
        own: The server's name or URI of it.
    """
    parts = members(completion)
    key = PROMPTS.key if kind is Kind.PROMPT else RESOURCES.key
    parts["ref"] = joined({**members(parts["ref"]), key: json_bytes(own)})
    return joined(parts)


def build_items(
    server: str, which: _List, listed: Sequence[bytes], note: Callable[[str], None]
) -> tuple[Item, ...]:
    """Return the entries that can be offered, in the server's order."""
    items: dict[str, Item] = {}
    for position, raw in enumerate(listed, start=1):
        try:
            own, required, parts = _read(which, raw, items)
        except Malformed as error:
            note(f"left out entry {position} of its {which.method}: {error}")
            continue
        kept, wrong = fitted(parts, which.known)
        if wrong:
            note(f"{which.method}: left out what is wrong in {own!r}: {wrong}")
        wire = raw if kept == parts else joined(kept)
        items[own] = Item(id=which.kind.id(server, own), wire=wire, required=required)
    return tuple(items.values())


def _read(
    which: _List, raw: bytes, seen: Collection[str]
) -> tuple[str, tuple[str, ...], Mapping[str, bytes]]:
    try:
        parts = members(raw)
    except Malformed as error:
        raise Malformed("it is no object") from error
    own = value_of(parts.get(which.key, b"null"))
    if not isinstance(own, str) or not own:
        raise Malformed(f"it has no {which.key}")
    if own in seen:
        raise Malformed(f"{own!r} is listed more than once")
    for text in (own, *(value_of(parts.get(key, b"null")) for key in which.texts)):
        if not isinstance(text, str):
            raise Malformed(f"{own!r} has no name")
        try:
            text.encode()
        except UnicodeEncodeError as error:  # a lone surrogate
            raise Malformed(f"{own!r}: its {which.key} or name is no text") from error
    return own, tuple(_required(own, parts)) if which is PROMPTS else (), parts


def _required(own: str, parts: Mapping[str, bytes]) -> Iterator[str]:
    """Give the names of the arguments that a prompt requires."""
    declared = value_of(parts.get("arguments", b"null"))
    if declared is None:
        return
    if not isinstance(declared, list):
        raise Malformed(f"prompt {own!r}: its arguments are no list")
    for entry in cast("list[object]", declared):
        argument = members_of(entry)
        name = argument.get("name")
        if not isinstance(name, str):
            raise Malformed(f"prompt {own!r}: one of its arguments has no name")
        if argument.get("required") is True:
            yield name


def _is_subscribable(era: Era) -> bool:
    return era.has("resources", "subscribe")
