"""Placeholders `{{name}}`, each of which stands for a value and for nothing else (S2.31)."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from remit.data.guard.lists import ELEMENTS, around
from remit.data.guard.text import Piece, Span, invalid
from remit.model.data import EngineKind

_NAMED: Final = re.compile(r"\{\{([A-Za-z_]\w*)\}\}", re.ASCII)
_OPENED: Final = re.compile(r"\{\{")
_NULL_TEST: Final = re.compile(r"\s*\b(?:is\s+(?:not\s+)?null|isnull|notnull)\b", re.IGNORECASE)
_RAW: Final = {
    EngineKind.SQLITE: re.compile(r"[?:@$#]"),
    EngineKind.POSTGRESQL: re.compile(r"\$"),
    EngineKind.DUCKDB: re.compile(r"[?$]"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A text whose placeholders are the engine's own.

    Attributes:
        text: As the engine gets it.
        parsed: The same, character by character, as the parser can read it: `?` for each
            placeholder, since it knows no `?1` and takes `$1 … $` for a quoted text.
        names: Of the placeholders, in the order of their numbers; on PostgreSQL one has further
            numbers where it is asked whether it is NULL.
        places: Where each one begins.
        lists: Names of those that stand for a list, by where they begin.
    """

    text: str
    parsed: str
    names: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    lists: Mapping[int, str] = field(default_factory=dict[int, str])


def render(
    text: str,
    found: tuple[Span, ...],
    engine: EngineKind,
    *,
    placeholders: bool,
    lists: Collection[str] = (),
) -> Rendered:
    """Number the placeholders of a text; a name that comes again has the number it had.

    PostgreSQL takes the type of a number from all that is done with it, and a test for NULL has
    none: there it is a text, under a number of its own.

    Args:
        text: Of a statement.
        found: Its pieces.
        engine: Whose placeholders it is given.
        placeholders: Whether any may stand in it.
        lists: Names of those that stand for a list; `IN ({{name}})` then means its elements.

    Raises:
        DataFailure: `invalid_sql` where one stands in a string, a quoted name or a comment, where
            none may stand at all, or where there is one of the engine's own.
    """
    sign = "?" if engine is EngineKind.SQLITE else "$"
    names: list[str] = []
    numbers: dict[str, int] = {}
    places: list[int] = []
    listed: dict[int, str] = {}
    written: list[str] = []
    parsed: list[str] = []
    length = 0
    for span in found:
        for part in _parts(text, span, engine, placeholders=placeholders, lists=lists):
            name = part.name
            if name is None:
                shown = readable = part.text
            else:
                if part.is_tested and engine is EngineKind.POSTGRESQL:
                    names.append(name)
                    shown = f" CAST({sign}{len(names)} AS pg_catalog.text) "
                else:
                    if name not in numbers:
                        names.append(name)
                        numbers[name] = len(names)
                    shown = f" {sign}{numbers[name]} "
                readable = " ?".ljust(len(shown))
                places.append(length + 1)
                if name in lists:
                    listed[length + 1] = name
            written.append(shown)
            parsed.append(readable)
            length += len(shown)
    return Rendered(
        text="".join(written),
        parsed="".join(parsed),
        names=tuple(names),
        places=tuple(places),
        lists=listed,
    )


class _Part(NamedTuple):
    """A part of a text: a placeholder of that *name*, maybe tested for NULL, or what it says."""

    text: str
    name: str | None = None
    is_tested: bool = False


def _parts(
    text: str, span: Span, engine: EngineKind, *, placeholders: bool, lists: Collection[str]
) -> list[_Part]:
    """Return the parts of a span."""
    if span.piece is not Piece.CODE:
        inside = _NAMED.search(text, span.start, span.end) if placeholders else None
        if inside:
            raise invalid(
                f"a placeholder may not stand in a {span.piece.value}; it stands for a whole value",
                text,
                inside.start(),
            )
        return [_Part(text[span.start : span.end])]
    parts: list[_Part] = []
    elements = {
        found.start("placeholder"): found
        for found in ELEMENTS.finditer(text, span.start, span.end)
        if found["name"] in lists
    }
    at = span.start
    for match in _NAMED.finditer(text, span.start, span.end):
        if not placeholders:
            raise invalid("placeholders belong to approved queries", text, match.start())
        of = elements.get(match.start())
        before, after = around(of, engine) if of else ("", "")
        start, end = (of or match).span()
        is_tested = _NULL_TEST.match(text, end, span.end) is not None
        parts += [
            _Part(text[at:start] + before),
            _Part(match[0], match[1], is_tested),
            _Part(after),
        ]
        at = end
    parts.append(_Part(text[at : span.end]))
    _refuse_others(text, span, engine)
    return parts


def _refuse_others(text: str, span: Span, engine: EngineKind) -> None:
    """Refuse the engine's own placeholders, and what was meant as one of ours."""
    raw = _RAW[engine].search(text, span.start, span.end)
    if raw:
        raise invalid("values are bound by approved queries, as {{name}}", text, raw.start())
    for opened in _OPENED.finditer(text, span.start, span.end):
        if not _NAMED.match(text, opened.start()):
            raise invalid("a placeholder is written {{name}}, without blanks", text, opened.start())
