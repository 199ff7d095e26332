"""Bring every text of the drafts to remit's form: variables first, then secrets out.

All drafts go through together, so that one variable never stands for two values.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from remit.admin.imports.clear_text import Hidden, clear, hide_whole
from remit.admin.imports.entries import Draft
from remit.admin.imports.notes import Code, Notebook
from remit.admin.imports.variable_names import VariableNames
from remit.admin.imports.variables import (
    Untranslatable,
    names_in,
    translate,
    variable_name,
)
from remit.admin.yaml_source import child_path
from remit.upstreams.environment import OWN_PREFIX, is_own

Entry = Mapping[str, object]

_RUN_THERE = ("env.", "headers.", "url")
"""Where Crush runs commands in `$(…)`; elsewhere they are for a shell that is started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A draft with the name it has in `remit.yaml`, and where to say something of it."""

    name: str
    draft: Draft
    notebook: Notebook = field(repr=False)


def in_own_form(named: Sequence[Named]) -> list[Entry]:
    """Return the entry of each draft as it can be written, after noting what changed."""
    unread: list[dict[str, str]] = [{} for _ in named]
    entries = [_translated(one, left) for one, left in zip(named, unread, strict=True)]
    names = VariableNames({name for entry in entries for name in names_in(_texts(entry))})
    written: list[Entry] = []
    for one, entry, left in zip(named, entries, unread, strict=True):
        hidden: list[Hidden] = []
        for at, text in left.items():
            reference, note = hide_whole(one.name, at, text, names)
            entry = _replaced(entry, at, reference)  # noqa: PLW2901 - one field after the other
            hidden.append(note)
        _note_unread(one, hidden)
        cleared = clear(one.name, entry, names)
        _note_hidden(one, cleared.hidden)
        written.append(cleared.entry)
    return written


def _texts(entry: Entry) -> Iterator[str]:
    for value in entry.values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from cast("list[str]", value)
        elif isinstance(value, Mapping):
            yield from cast("Mapping[str, str]", value).values()


def _translated(one: Named, unread: dict[str, str]) -> Entry:
    """Return the entry with its variables in remit's form; *unread* takes what has no form."""

    def read(at: str, text: str) -> str:
        if "$(" in text and at.startswith(_RUN_THERE):
            unread[at] = text
            return ""
        try:
            translated = translate(text, one.draft.inputs, is_url=at == "url")
        except Untranslatable:
            unread[at] = text
            return ""
        for written, becomes in dict.fromkeys(translated.read):
            _note(one, "read-as", at, f"`{written[:80]}` is `{becomes}` here")
        for written, variable, meaning in dict.fromkeys(translated.needs):
            message = f"`{written[:80]}` is `${{{variable}}}` here, for {meaning}"
            remedy = f"set {variable} in the environment of remit"
            _note(one, "needs-variable", at, message, remedy)
        return _without_own(one, at, translated.text)

    return _mapped(one.draft.entry, read)


def _mapped(entry: Entry, read: Callable[[str, str], str]) -> Entry:
    changed: dict[str, object] = dict(entry)
    for key in ("command", "cwd", "url"):
        if key in entry:
            changed[key] = read(key, str(entry[key]))
    if "args" in entry:
        args = cast("list[str]", entry["args"])
        changed["args"] = [read(f"args[{index}]", text) for index, text in enumerate(args)]
    for key in ("env", "headers"):
        if key in entry:
            members = cast("Mapping[str, str]", entry[key])
            changed[key] = {name: read(f"{key}.{name}", text) for name, text in members.items()}
    return changed


def _replaced(entry: Entry, at: str, text: str) -> Entry:
    def put(where: str, kept: str) -> str:
        return text if where == at else kept

    return _mapped(entry, put)


def _without_own(one: Named, at: str, text: str) -> str:
    """Give another name to variables that belong to remit and that no server ever sees (R21)."""
    for name in sorted(names_in([text])):
        if not is_own(name):
            continue
        other = variable_name(one.name, name)
        other = f"SERVER_{other}" if is_own(other) else other
        for end in ("}", ":", "-"):
            text = text.replace(f"${{{name}{end}", f"${{{other}{end}")
        message = f"`{name}` begins with {OWN_PREFIX}, which is remit's own: `${{{other}}}` here"
        _note(one, "needs-variable", at, message, f"set {other} in the environment of remit")
    return text


def _note_unread(one: Named, hidden: Sequence[Hidden]) -> None:
    for gone in hidden:
        message = f"holds what cannot be read here: `${{{gone.variable}}}` stands for all of it"
        remedy = f"set {gone.variable} in the environment of remit to what was meant"
        _note(one, "needs-variable", gone.field, message, remedy)


def _note_hidden(one: Named, hidden: Sequence[Hidden]) -> None:
    for gone in hidden:
        remedy = f"set {gone.variable} in the environment of remit"
        if gone.is_known:
            message = f"its value is not written: `${{{gone.variable}}}` stands in its place"
            _note(one, "secret-in-clear", gone.field, message, remedy)
        else:
            message = f"a credential is needed that the file does not hold: `${{{gone.variable}}}`"
            _note(one, "needs-variable", gone.field, message, remedy)


def _note(one: Named, code: Code, at: str, message: str, remedy: str = "") -> None:
    one.notebook.write(
        code,
        message,
        path=child_path(one.draft.path, at),
        server=one.draft.name,
        field=at,
        remedy=remedy,
    )
