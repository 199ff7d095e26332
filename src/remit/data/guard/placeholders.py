"""Placeholders `{{name}}`, each of which stands for a value and for nothing else (S2.31)."""

import re
from dataclasses import dataclass
from typing import Final

from remit.data.guard.text import Piece, Span, invalid
from remit.model.data import EngineKind

_NAMED: Final = re.compile(r"\{\{([A-Za-z_]\w*)\}\}", re.ASCII)
_OPENED: Final = re.compile(r"\{\{")
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
        names: Of the placeholders, in the order of their numbers.
        places: Where each one begins.
    """

    text: str
    parsed: str
    names: tuple[str, ...] = ()
    places: tuple[int, ...] = ()


def render(
    text: str, found: tuple[Span, ...], engine: EngineKind, *, placeholders: bool
) -> Rendered:
    """Number the placeholders of a text; a name that comes again has the number it had.

    Raises:
        DataFailure: `invalid_sql` where one stands in a string, a quoted name or a comment, where
            none may stand at all, or where there is one of the engine's own.
    """
    sign = "?" if engine is EngineKind.SQLITE else "$"
    names: list[str] = []
    places: list[int] = []
    written: list[str] = []
    parsed: list[str] = []
    length = 0
    for span in found:
        for part, name in _parts(text, span, engine, placeholders=placeholders):
            if name is None:
                shown = readable = part
            else:
                if name not in names:
                    names.append(name)
                number = str(names.index(name) + 1)
                shown = f" {sign}{number} "
                readable = f" ?{' ' * len(number)} "
                places.append(length + 1)
            written.append(shown)
            parsed.append(readable)
            length += len(shown)
    return Rendered(
        text="".join(written), parsed="".join(parsed), names=tuple(names), places=tuple(places)
    )


def _parts(
    text: str, span: Span, engine: EngineKind, *, placeholders: bool
) -> list[tuple[str, str | None]]:
    """Return the parts of a span, each with the name of the placeholder that it is, or None."""
    if span.piece is not Piece.CODE:
        inside = _NAMED.search(text, span.start, span.end) if placeholders else None
        if inside:
            raise invalid(
                f"a placeholder may not stand in a {span.piece.value}; it stands for a whole value",
                text,
                inside.start(),
            )
        return [(text[span.start : span.end], None)]
    parts: list[tuple[str, str | None]] = []
    at = span.start
    for match in _NAMED.finditer(text, span.start, span.end):
        if not placeholders:
            raise invalid("placeholders belong to approved queries", text, match.start())
        parts.extend([(text[at : match.start()], None), (match.group(), match.group(1))])
        at = match.end()
    parts.append((text[at : span.end], None))
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
