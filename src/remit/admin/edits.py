"""Pure edits of a declaration's document: one each for what the API and the console can change.

    document ──▶ edit ──▶ new document ──▶ editor.py (validates it, and writes it as a revision)

An edit changes its own place and nothing else; what it was given is never changed. Whether the new
document is valid is not judged here: it is read as a file is. A field that still holds the mask of
a stored secret keeps that secret (T19).
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, cast

from remit.admin.masking import masks_left, restored, restored_document
from remit.admin.names import told
from remit.admin.nested import mapping_at
from remit.admin.spelling import Spelled, nearest, spell
from remit.calls.redact import REDACTED
from remit.errors import BadCall, Conflict, DeclarationError, NotFound, Problem
from remit.policy.toolsets import Audience

Document = Mapping[str, object]
"""A declaration as plain data, in the contract's spelling; `${NAME}` references unexpanded."""

Entry = Mapping[str, object]
"""What stands under one name, or one grant, as JSON."""

Edit = Callable[[Document], Document]
"""From one document to the next.

Raises:
    NotFound: What it changes is not declared.
    Conflict: What it adds is declared already.
"""

LONGEST_ID: Final = 12
"""Hex digits by which a grant is named."""

TOOLSET_OPTIONS: Final[Mapping[str, Audience]] = {
    "allowOntologyMaintenance": Audience.USER,
    "addQueryTools": Audience.DEVELOPER,
    "addOntologyMaintenance": Audience.DEVELOPER,
}
"""The three options of S2.5, each with the group that it stands in."""

_LEFT_OUT: Final = object()


class Kind(StrEnum):
    """What has a name of its own in a document; the value is its section."""

    SERVER = "mcp_servers"
    ROLE = "roles"
    AGENT_TYPE = "agent_types"

    @property
    def noun(self) -> str:
        """What a person calls it."""
        return {"mcp_servers": "server", "roles": "role", "agent_types": "agent type"}[self.value]


def entries(document: Document, kind: Kind) -> Mapping[str, Entry]:
    """Return what is declared of that kind, by name, in the order of the document."""
    return cast("Mapping[str, Entry]", mapping_at(document, kind.value))


def get_entry(document: Document, kind: Kind, name: str) -> Entry:
    """Return what is declared under that name.

    Raises:
        NotFound: Nothing is; the text names what is.
    """
    declared = entries(document, kind)
    if name not in declared:
        raise _unknown(kind.noun, name, tuple(declared))
    return mapping_at(declared[name])


def add(kind: Kind, name: str, entry: Entry) -> Edit:
    """Declare something under a name that nothing has yet."""

    def edit(document: Document) -> Document:
        if name in entries(document, kind):
            raise Conflict(f"a {kind.noun} {name!r} is declared already")
        return _with(document, kind, name, _spelled(kind, name, entry))

    return edit


def replace(kind: Kind, name: str, entry: Entry) -> Edit:
    """Make what is declared under a name what *entry* says, and nothing beside it."""

    def edit(document: Document) -> Document:
        stored = get_entry(document, kind, name)
        new = _spelled(kind, name, entry)
        return _with(document, kind, name, _restored(kind, new, stored))

    return edit


def declare(kind: Kind, name: str, entry: Entry) -> Edit:
    """Make what is declared under a name what *entry* says, whether it was declared or not."""

    def edit(document: Document) -> Document:
        change = replace if name in entries(document, kind) else add
        return change(kind, name, entry)(document)

    return edit


def merge(kind: Kind, name: str, patch: Entry) -> Edit:
    """Change what *patch* names and leave the rest; null removes a key (RFC 7396)."""

    def edit(document: Document) -> Document:
        stored = get_entry(document, kind, name)
        marked = _spelled(kind, name, cast("Entry", _marked(patch)))
        new = mapping_at(_merged(stored, marked))
        return _with(document, kind, name, _restored(kind, new, stored))

    return edit


def remove(kind: Kind, name: str) -> Edit:
    """Declare nothing under that name any more; an agent type then has its rules of S3.6-S3.8."""

    def edit(document: Document) -> Document:
        get_entry(document, kind, name)
        left = {key: one for key, one in entries(document, kind).items() if key != name}
        return {**document, kind.value: left}

    return edit


def switch_server(name: str, *, enabled: bool) -> Edit:
    """Enable or disable a server."""
    return merge(Kind.SERVER, name, {"enabled": enabled})


def grants(document: Document) -> Mapping[str, Entry]:
    """Return every grant by its id, in the order of the document; equal ones are one."""
    return {grant_id(entry): entry for entry in _listed(document)}


def grant_id(entry: Entry) -> str:
    """Return the id of a grant: what it says, in short, so that it outlives its place."""
    canonical = json.dumps(entry, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:LONGEST_ID]


def get_grant(document: Document, wanted: str) -> Entry:
    """Return the grant with that id.

    Raises:
        NotFound: There is none.
    """
    found = grants(document).get(wanted)
    if found is None:
        raise NotFound(f"there is no grant {wanted[:80]!r}; a grant that changed has another id")
    return found


def spelled_grant(entry: Entry) -> Entry:
    """Return a grant as the document will hold it, so that `grant_id` names it."""
    listed = cast("list[Entry]", _sound(spell({"grants": [entry]}, {}, ""))["grants"])
    return listed[0]


def add_grant(entry: Entry) -> Edit:
    """Add a grant after the others; their order never matters."""

    def edit(document: Document) -> Document:
        new = spelled_grant(entry)
        if grant_id(new) in grants(document):
            raise Conflict(f"this very grant is declared already: {grant_id(new)}")
        return {**document, "grants": [*_listed(document), new]}

    return edit


def replace_grant(wanted: str, entry: Entry) -> Edit:
    """Make the grant with that id another one, in its place."""

    def edit(document: Document) -> Document:
        get_grant(document, wanted)
        new = spelled_grant(entry)
        if grant_id(new) != wanted and grant_id(new) in grants(document):
            raise Conflict(f"this very grant is declared already: {grant_id(new)}")
        kept = [new if grant_id(one) == wanted else one for one in _listed(document)]
        return {**document, "grants": kept}

    return edit


def remove_grant(wanted: str) -> Edit:
    """Take the grant with that id out."""

    def edit(document: Document) -> Document:
        get_grant(document, wanted)
        left = [one for one in _listed(document) if grant_id(one) != wanted]
        return {**document, "grants": left}

    return edit


def set_toolset_options(options: Mapping[str, bool]) -> Edit:
    """Set those of the three options that are named; the others stay as they are (S2.13).

    Raises:
        BadCall: It names another.
    """
    for option in options:
        if option not in TOOLSET_OPTIONS:
            known = tuple(TOOLSET_OPTIONS)
            meant = nearest(option, known)
            hint = f"did you mean {meant!r}?" if meant else f"options: {', '.join(known)}"
            raise BadCall(f"unknown option {option[:80]!r}; {hint}")

    def edit(document: Document) -> Document:
        toolsets = dict(mapping_at(document, "toolsets"))
        for option, value in options.items():
            group = TOOLSET_OPTIONS[option].value
            toolsets[group] = {**mapping_at(toolsets, group), option: value}
        return {**document, "toolsets": toolsets} if options else document

    return edit


def set_retention(*, days: int | None, rows: int | None) -> Edit:
    """Say how long the record is kept; None for no such bound."""
    bounds = {"retention_days": days, "retention_rows": rows}

    def edit(document: Document) -> Document:
        audit = {
            key: value for key, value in mapping_at(document, "audit").items() if key not in bounds
        }
        audit |= {key: bound for key, bound in bounds.items() if bound is not None}
        rest = {key: value for key, value in document.items() if key != "audit"}
        return {**rest, "audit": audit} if audit else rest

    return edit


def set_alerts(section: Entry) -> Edit:
    """Make `alerts` what *section* says; what it does not say is as it is by default (S2.48)."""

    def edit(document: Document) -> Document:
        return {**document, "alerts": _sound(spell({"alerts": section}, {}, ""))["alerts"]}

    return edit


def become(document: Document) -> Edit:
    """Make the whole document another one; masked secrets keep the values they have.

    Raises:
        DeclarationError: A mask stands where no secret is stored; in servers their rules say so.
    """

    def edit(stored: Document) -> Document:
        new = restored_document(_sound(spell(document, {}, "")), stored)
        others = {key: value for key, value in new.items() if key != Kind.SERVER.value}
        if left := [_masked_secret(path) for path in masks_left(others, stored)]:
            raise DeclarationError(left)
        return new

    return edit


def _masked_secret(path: str) -> Problem:
    return Problem(
        code="masked-secret",
        message=f"{path!r} holds {REDACTED}, which only stands for a value that was not shown",
        remedy="write the value; left where it was shown it would stay",
    )


def _with(document: Document, kind: Kind, name: str, entry: Entry) -> Document:
    return {**document, kind.value: {**entries(document, kind), name: entry}}


def _listed(document: Document) -> list[Entry]:
    found = document.get("grants")
    return cast("list[Entry]", found) if isinstance(found, list) else []


def _spelled(kind: Kind, name: str, entry: Entry) -> Entry:
    """Return an entry with its keys in the contract's spelling, as `spell` does for a file.

    Raises:
        DeclarationError: A key is given in two spellings, or it is nested too deep.
    """
    spelled = _sound(spell({kind.value: {name: entry}}, {}, ""))
    return mapping_at(spelled, kind.value, name)


def _sound(spelled: Spelled) -> Document:
    if spelled.problems:
        raise DeclarationError(spelled.problems)
    return spelled.data


def _restored(kind: Kind, new: Entry, stored: Entry) -> Entry:
    return restored(new, stored) if kind is Kind.SERVER else new


def _marked(value: object) -> object:
    """Return a patch with a mark for each null: `spell` takes a null for a key left out."""
    if isinstance(value, Mapping):
        return {key: _marked(one) for key, one in cast("Entry", value).items()}
    return _LEFT_OUT if value is None else value


def _merged(stored: object, patch: object) -> object:
    if not isinstance(patch, Mapping):
        return patch
    new = dict(mapping_at(stored))
    for key, value in cast("Entry", patch).items():
        if value is _LEFT_OUT:
            new.pop(key, None)
        else:
            new[key] = _merged(new.get(key), value)
    return new


def _unknown(noun: str, name: str, declared: tuple[str, ...]) -> NotFound:
    meant = nearest(name, declared)
    hint = f"did you mean {meant!r}?" if meant else f"declared: {told(declared)}"
    return NotFound(f"no {noun} {name[:80]!r} is declared; {hint}")
