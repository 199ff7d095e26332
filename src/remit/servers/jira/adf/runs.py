"""Inline ADF as runs: pieces of text with the marks that Markdown has, white space put right."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from remit.servers.jira.adf.from_markdown import MENTION
from remit.servers.jira.adf.nodes import MARKS_IN_ORDER, attribute, kind_of, nodes_in, text_of

Mark = tuple[str, str]
"""The type of a mark, and the target of a link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A text of one look; line breaks are newlines.

    Attributes:
        marks: Outermost first, in one order for all runs.
    """

    text: str
    marks: tuple[Mark, ...] = ()

    @property
    def is_code(self) -> bool:
        """Is it a code span?"""
        return ("code", "") in self.marks

    @property
    def is_blank(self) -> bool:
        """Is it nothing but white space that Markdown may ignore?"""
        return self.text.isspace() and not self.is_code


def runs_of(nodes: Sequence[Mapping[str, object]]) -> list[Run]:
    """Return inline *nodes* as runs, neighbours of the same marks joined."""
    return joined([Run(text=plain(node).replace("\x00", ""), marks=_marks(node)) for node in nodes])


def joined(runs: Sequence[Run]) -> list[Run]:
    """Return *runs* with empty ones gone and neighbours of the same marks made one."""
    kept: list[Run] = []
    for run in runs:
        if kept and kept[-1].marks == run.marks:
            kept[-1] = replace(run, text=kept[-1].text + run.text)
        elif run.text:
            kept.append(run)
    return kept


def trimmed(runs: Sequence[Run], *, one_line: bool = False) -> list[Run]:
    """Return *runs* with the white space gone that Markdown ignores: at the ends of lines.

    Emphasis may not begin or end with white space either, so that is moved out of it.
    """
    pieces = [piece for run in runs for piece in _pieces(run, one_line=one_line)]
    return joined(_outside(_without_ends(pieces)))


def plain(node: Mapping[str, object]) -> str:
    """Return what stands for an inline *node* in text; `[its type]` where it has no words."""
    match kind_of(node):
        case "text":
            return text_of(node).replace("\r\n", "\n").replace("\r", "\n")
        case "hardBreak":
            return "\n"
        case "mention":
            return attribute(node, "text") or f"@{attribute(node, 'id')}"
        case "date":
            return _date(attribute(node, "timestamp"))
        case kind:
            return words(node) or f"[{kind or 'unknown'}]"


def words(node: Mapping[str, object]) -> str:
    """Return the words of a node of any type; `""` when it has none."""
    inside = "".join(map(plain, nodes_in(node)))
    names = ("text", "shortName", "url", "alt", "title")
    return inside or text_of(node) or next(filter(None, (attribute(node, n) for n in names)), "")


def _date(timestamp: str) -> str:
    try:
        return datetime.fromtimestamp(float(timestamp) / 1000, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return timestamp or "[date]"


def _marks(node: Mapping[str, object]) -> tuple[Mark, ...]:
    if kind_of(node) == "mention" and attribute(node, "id"):
        return (("link", MENTION + attribute(node, "id")),)
    if kind_of(node) == "inlineCard" and attribute(node, "url"):
        return (("link", attribute(node, "url")),)
    found = {kind_of(mark): attribute(mark, "href") for mark in nodes_in(node, "marks")}
    if not found.get("link"):
        found.pop("link", None)
    if "code" in found:  # ADF lets code be a link and nothing else; Markdown shows no more
        found = {kind: href for kind, href in found.items() if kind in {"link", "code"}}
    return tuple(
        (kind, found[kind] if kind == "link" else "") for kind in MARKS_IN_ORDER if kind in found
    )


def _pieces(run: Run, *, one_line: bool) -> list[Run]:
    """Split *run* into words, blanks and single line breaks; code stays whole, on one line."""
    if run.is_code:
        return [replace(run, text=run.text.replace("\n", " "))]
    pieces: list[Run] = []
    for part in re.split(r"(\s+)", run.text):
        if part.isspace() and "\n" in part:
            pieces.append(Run(text=" " if one_line else "\n"))
        elif part:
            pieces.append(replace(run, text=part))
    return pieces


def _without_ends(pieces: Sequence[Run]) -> list[Run]:
    kept: list[Run] = []
    for piece in pieces:
        if piece.is_blank and (not kept or kept[-1].text == "\n"):
            continue
        if piece.text == "\n" and kept and kept[-1].is_blank:
            kept.pop()
        kept.append(piece)
    while kept and kept[-1].is_blank:
        kept.pop()
    return kept


def _outside(pieces: Sequence[Run]) -> list[Run]:
    """Take from blanks the marks that their neighbours do not share."""
    moved: list[Run] = []
    for index, piece in enumerate(pieces):
        if not piece.is_blank:
            moved.append(piece)
            continue
        around = [*pieces[max(index - 1, 0) : index], *pieces[index + 1 : index + 2]]
        shared = [mark for mark in piece.marks if all(mark in other.marks for other in around)]
        moved.append(replace(piece, marks=tuple(shared)))
    return moved
