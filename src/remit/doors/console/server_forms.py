"""What the form of a server shows of its entry, and what it changes there (S4.29).

    entry, secrets masked ──▶ shown ──▶ form ──▶ entered ──▶ patch: only what was changed

Members that the form does not show, or could not give back as they are, are never part of a patch.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from remit.doors.console.forms import Form
from remit.doors.console.server_fields import (
    BUILTIN,
    FIELDS,
    HTTP,
    SSE,
    STDIO,
    WAYS,
    Field,
    Kind,
)

Entry = Mapping[str, Any]
"""A server's entry of the declaration, as the API shows it."""

Pairs = tuple[tuple[str, str], ...]
"""Names and values, in the order of the form."""

Value = str | Pairs
"""What stands in one field."""

_ELSEWHERE: Final = frozenset({"transport", "enabled"})
"""Members that have a place of their own in the console."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """What stands in the form.

    Attributes:
        transport: How the server is reached.
        values: Field to what stands in it; a field that is not offered is not there.
        problems: Field to what is wrong with it already.
    """

    transport: str
    values: Mapping[str, Value]
    problems: Mapping[str, str]


def transport_of(entry: Entry) -> str:
    """Return how a server is reached, as the declaration's rules take it."""
    declared = str(entry.get("transport") or "").strip().lower()
    if declared in WAYS:
        return declared
    found = (way for way in (BUILTIN, HTTP, STDIO) if entry.get(WAYS[way]))
    return next(found, STDIO)


def shown(entry: Entry) -> Entered:
    """Return the form of an entry; of `{}` that of a new server."""
    values = {field.key: _spelled(field, entry.get(field.key)) for field in FIELDS}
    offered = {key: value for key, value in values.items() if value is not None}
    return Entered(transport=transport_of(entry), values=offered, problems={})


def kept(entry: Entry) -> Sequence[str]:
    """Return the members of an entry that its form leaves as they are."""
    offered = shown(entry).values
    return sorted(entry.keys() - offered.keys() - _ELSEWHERE)


def entered(form: Form, seen: Entry) -> Entered:
    """Return what was sent by the form of an entry that was *seen*."""
    offered = shown(seen).values
    transport = form.get("transport")
    transport = transport if transport in WAYS else STDIO
    values = {field.key: _sent(field, form) for field in FIELDS if field.key in offered}
    counting = {field.key for field in FIELDS if transport in field.transports}
    problems = {
        key: _problem(value)
        for key, value in values.items()
        if isinstance(value, tuple) and key in counting and _problem(value)
    }
    return Entered(transport=transport, values=values, problems=problems)


def patch(seen: Entry, new: Entered) -> dict[str, Any]:
    """Return what makes the entry that was *seen* say what was entered (RFC 7396).

    Args:
        seen: `{}` for a new server: then it is the whole entry.
        new: What was entered.
    """
    before = shown(seen).values
    found: dict[str, Any] = {}
    for field in FIELDS:
        declared = field.key in seen
        if new.transport not in field.transports:
            if declared:
                found[field.key] = None
        elif field.key in new.values and new.values[field.key] != before.get(field.key):
            value = _read(field, new.values[field.key])
            if declared or not _is_nothing(value):
                found[field.key] = _changed(seen.get(field.key), value)
    return {**found, **_transport(seen, new)}


def seen_in(text: str) -> Entry:
    """Return the entry that a form carries of when it was loaded; `{}` if that cannot be read."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("Entry", value) if isinstance(value, dict) else {}


def problems_by_field(name: str, problems: Sequence[str]) -> Mapping[str, str]:
    """Return what the API says of single fields, by field; `name` is one of them.

    Args:
        name: Of the server.
        problems: As `ProblemDetails` has them: `CODE: 'PLACE' MESSAGE`.
    """
    found: dict[str, str] = {}
    for problem in problems:
        code, _, told = problem.partition(": ")
        place, _, message = told.removeprefix("'").partition("' ")
        below = place.removeprefix(f"mcp_servers.{name}")
        if code == "bad-name":
            found.setdefault("name", message)
        elif below != place:
            key = next((f.key for f in FIELDS if _is_of(f.key, below, message)), "")
            found.setdefault(key, message)
    return found


def _is_of(key: str, below: str, message: str) -> bool:
    if not below:
        return message.startswith(f"needs `{key}`")
    rest = below.removeprefix(f".{key}")
    return rest != below and rest[:1] in ("", ".", "[")


def _transport(seen: Entry, new: Entered) -> Entry:
    way = new.values.get(WAYS[new.transport], "")
    # said where it has to be: what has a `command` is stdio anyway
    is_told = "transport" in seen or new.transport == SSE or not way
    return {"transport": new.transport} if is_told and new.transport != _declared(seen) else {}


def _declared(entry: Entry) -> str:
    return transport_of(entry) if entry.get("transport") else ""


def _changed(before: object, value: object) -> object:
    """Return a patch from one value to another; of a mapping only what differs."""
    if _is_nothing(value):
        return None
    if not isinstance(value, dict) or not isinstance(before, dict):
        return cast("object", value)
    old, new = cast("dict[str, object]", before), cast("dict[str, object]", value)
    gone = dict.fromkeys(old.keys() - new.keys())
    return {**gone, **{k: v for k, v in new.items() if k not in old or _text(old[k]) != v}}


def _is_nothing(value: object) -> bool:
    """Whether a field was left empty; a zero was not."""
    return value in ("", [], {})


def _spelled(of: Field, value: object) -> Value | None:
    """Return what a field shows of a value; None where it could not be given back as it is."""
    if of.kind is Kind.PAIRS:
        return _pairs({} if value is None else value)
    if of.kind is Kind.LINES:
        return _lines([] if value is None else value)
    if value is None:
        return of.options[0][0] if of.options else ""
    text = _text(value)
    if text is None or text != text.strip() or not _is_one_line(text):
        return None
    if of.kind is not Kind.CHOICE:
        return text
    return text.lower() if text.lower() in dict(of.options) else None


def _lines(value: object) -> str | None:
    if not isinstance(value, list):
        return None
    texts = [_text(one) for one in cast("list[object]", value)]
    lines = [text for text in texts if text is not None and text.strip() and _is_one_line(text)]
    return "\n".join(lines) if len(lines) == len(texts) else None


def _pairs(value: object) -> Pairs | None:
    if not isinstance(value, dict):
        return None
    found: list[tuple[str, str]] = []
    for name, one in cast("dict[str, object]", value).items():
        text = _text(one)
        if text is None or not name or name != name.strip() or not _is_one_line(name + text):
            return None
        found.append((name, text))
    return tuple(found)


def _text(value: object) -> str | None:
    """Return a text or a number as it is written; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return str(int(value) if value.is_integer() else value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _is_one_line(text: str) -> bool:
    """Whether a browser gives back a line as it was: it leaves out line breaks and NUL."""
    return not {"\n", "\r", "\0"} & set(text)


def _sent(field: Field, form: Form) -> Value:
    if field.kind is Kind.PAIRS:
        names, given = form.all(f"{field.key}.name"), form.all(f"{field.key}.value")
        rows = ((name.strip(), value) for name, value in zip(names, given, strict=False))
        return tuple(row for row in rows if any(row))
    text = form.get(field.key).replace("\r\n", "\n")
    if field.kind is Kind.LINES:
        return "\n".join(line for line in text.split("\n") if line.strip())
    return text.strip()


def _read(field: Field, value: Value) -> object:
    """Return what stands in the entry for what a field holds."""
    if isinstance(value, tuple):
        return dict(value)
    if field.kind is Kind.LINES:
        return value.split("\n") if value else []
    if field.kind is Kind.NUMBER:
        return _number(value)
    return value


def _number(text: str) -> int | float | str:
    """Return a number, or the text for the declaration's rules to refuse."""
    for read in (int, float):
        try:
            number = read(text)
        except ValueError:
            continue
        return number if abs(number) < float("inf") else text
    return text


def _problem(pairs: Pairs) -> str:
    names = [name for name, _ in pairs]
    if "" in names:
        return "a value has no name: name it, or empty its row"
    twice = sorted({name for name in names if names.count(name) > 1})
    return f"given twice: {', '.join(twice)}; keep one of each" if twice else ""
