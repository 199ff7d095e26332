"""From text to a tree of nodes with lines: YAML's syntax, and JSON with it.

Scalars follow YAML 1.2's core schema as far as it agrees with JSON, so that `on`, `0755`, `1_000`
and dates stay the texts that were written. Keys are always texts. An alias gives the very node
that its anchor made, so that the tree stays as small as the text.
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, cast

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

DEEPEST = 48
"""Levels of lists and mappings, with aliases expanded."""

MOST_MERGED = 1_000_000
"""Entries that all the merge keys (`<<`) of a document may copy."""

# libyaml where PyYAML was built with it: 20 times faster, and it takes JSON indented with tabs.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_STANDARD = "tag:yaml.org,2002:"
_KNOWN_TAGS = frozenset({"str", "int", "float", "bool", "null", "seq", "map"})
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
# At most 18 digits: what int() refuses or JSON readers round stays a text.
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"-?(0|[1-9][0-9]{0,17})?(\.[0-9]+)?([eE][-+]?[0-9]{1,4})?")
# JSON writes a character beyond U+FFFF as two escapes; YAML knows it only as one.
_SURROGATES = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB]\w\w)\\u([dD][c-fC-F]\w\w)", re.ASCII)

_Anchored = ScalarEvent | SequenceStartEvent | MappingStartEvent


_REMEDIES = {
    "not-yaml": "write it out plainly there",
    "too-large": "write less of it there; is this the right file?",
}
"""What to do where there is no better advice."""


class Unreadable(Exception):
    """The text is no document that remit reads; carries a message, a line and a remedy."""

    def __init__(
        self, message: str, *, line: int, code: str = "not-yaml", remedy: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.code = code
        self.remedy = remedy or _REMEDIES[code]


class Entry(NamedTuple):
    """One entry of a mapping, with the line of its key."""

    key: str
    line: int
    value: "Node"


class Item(NamedTuple):
    """One item of a list, with its line."""

    line: int
    value: "Node"


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A text, a number, true or false, or null."""

    line: int
    value: str | int | float | bool | None
    height: int = 0


@dataclass(frozen=True, slots=True)
class SeqNode:
    """A list.

    Attributes:
        height: Levels of lists and mappings, itself included.
    """

    line: int
    items: tuple[Item, ...]
    height: int


@dataclass(frozen=True, slots=True)
class MapNode:
    """A mapping.

    Attributes:
        entries: As written, keys given twice included.
        merged: What its merge keys bring in, each key once; `entries` win over them.
        height: Levels of lists and mappings, itself included.
    """

    line: int
    entries: tuple[Entry, ...]
    merged: tuple[Entry, ...]
    height: int


Node = ScalarNode | SeqNode | MapNode


def parse_nodes(text: str) -> Node | None:
    """Return the document's root, or None when there is no document.

    Raises:
        Unreadable: If it is not YAML, holds a second document, or uses what is not supported.
    """
    try:
        return _Composer(_events(text)).document()
    except yaml.YAMLError as error:
        raise _syntax_error(error, text) from None


def _events(text: str) -> Iterator[Event]:
    joined = _SURROGATES.sub(_join_surrogates, text) if text.lstrip()[:1] in ("{", "[") else text
    return iter(yaml.parse(joined, Loader=_LOADER))


def _join_surrogates(match: re.Match[str]) -> str:
    high, low = int(match[2], 16), int(match[3], 16)
    return f"{match[1]}\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"


def _syntax_error(error: yaml.YAMLError, text: str) -> Unreadable:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line, column = (mark.line + 1, mark.column) if mark is not None else (1, 0)
    written = "".join(text.splitlines()[line - 1 : line])
    if written[column : column + 1] == "\t":
        return Unreadable("a tab stands where YAML wants spaces", line=line, remedy="use spaces")
    problem = " ".join(str(getattr(error, "problem", None) or "unexpected text").split())
    return Unreadable(
        f"is not valid YAML at column {column + 1}: {problem}",
        line=line,
        remedy="look at the indentation, the colons and the quotes of this line and the one above",
    )


def _line_of(event: Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 1


class _Composer:
    """Builds nodes from parser events."""

    def __init__(self, events: Iterator[Event]) -> None:
        self._events = events
        self._anchors: dict[str, Node | None] = {}
        self._merged = 0

    def document(self) -> Node | None:
        root: Node | None = None
        for event in self._events:
            if not isinstance(event, DocumentStartEvent):
                continue
            if root is not None:
                raise Unreadable(
                    "a second document begins here",
                    line=_line_of(event),
                    remedy="keep one document in a file: remove the line `---`",
                )
            root = self._node(next(self._events), 1)
        return root

    def _node(self, event: Event, depth: int) -> Node:
        if isinstance(event, AliasEvent):
            return self._aliased(event, depth)
        # The grammar leaves these three where a node begins.
        start = cast("_Anchored", event)
        if depth > DEEPEST:
            raise _too_deep(_line_of(start))
        _check_tag(start.tag, start)
        if start.anchor is not None:
            self._anchors[start.anchor] = None
        if isinstance(start, ScalarEvent):
            node = ScalarNode(_line_of(start), _scalar(start))
        elif isinstance(start, SequenceStartEvent):
            node = self._sequence(start, depth)
        else:
            node = self._mapping(start, depth)
        if start.anchor is not None:
            self._anchors[start.anchor] = node
        return node

    def _aliased(self, event: AliasEvent, depth: int) -> Node:
        line = _line_of(event)
        if event.anchor not in self._anchors:
            raise Unreadable(f"no anchor is called {event.anchor!r} above this line", line=line)
        node = self._anchors[event.anchor or ""]
        if node is None:
            raise Unreadable(f"the anchor {event.anchor!r} contains itself", line=line)
        if depth + node.height > DEEPEST:
            raise _too_deep(line)
        return node

    def _sequence(self, start: Event, depth: int) -> SeqNode:
        items: list[Item] = []
        while not isinstance(event := next(self._events), SequenceEndEvent):
            items.append(Item(_line_of(event), self._node(event, depth + 1)))
        height = 1 + max((item.value.height for item in items), default=0)
        return SeqNode(_line_of(start), tuple(items), height)

    def _mapping(self, start: Event, depth: int) -> MapNode:
        entries: list[Entry] = []
        merged: dict[str, Entry] = {}
        while not isinstance(event := next(self._events), MappingEndEvent):
            line = _line_of(event)
            is_merge = isinstance(event, ScalarEvent) and event.implicit[0] and event.value == "<<"
            key = _key(event)
            value = self._node(next(self._events), depth + 1)
            if is_merge:
                self._merge(value, line, merged)
            else:
                entries.append(Entry(key, line, value))
        everything = (*entries, *merged.values())
        height = 1 + max((entry.value.height for entry in everything), default=0)
        return MapNode(_line_of(start), tuple(entries), tuple(merged.values()), height)

    def _merge(self, value: Node, line: int, merged: dict[str, Entry]) -> None:
        for source in _merge_sources(value, line):
            for entry in (*source.entries, *source.merged):
                self._merged += 1
                if self._merged > MOST_MERGED:
                    message = "merge keys multiply too many entries"
                    raise Unreadable(message, line=line, code="too-large")
                merged.setdefault(entry.key, entry)


def _too_deep(line: int) -> Unreadable:
    message = f"lists and mappings are nested more than {DEEPEST} levels deep"
    return Unreadable(message, line=line, code="too-large")


def _merge_sources(value: Node, line: int) -> Iterable[MapNode]:
    sources = [item.value for item in value.items] if isinstance(value, SeqNode) else [value]
    for source in sources:
        if not isinstance(source, MapNode):
            message = "`<<` takes a mapping or a list of mappings, usually an alias such as *base"
            raise Unreadable(message, line=line)
        yield source


def _key(event: Event) -> str:
    if isinstance(event, ScalarEvent):
        return event.value
    if isinstance(event, AliasEvent):
        raise Unreadable("an alias cannot be a key", line=_line_of(event))
    message = "a list or a mapping cannot be a key"
    remedy = "put `{…}` and `[…]` in quotes where a text is meant"
    raise Unreadable(message, line=_line_of(event), remedy=remedy)


def _check_tag(tag: str | None, event: Event) -> None:
    if tag in (None, "!") or str(tag).removeprefix(_STANDARD) in _KNOWN_TAGS:
        return
    raise Unreadable(
        f"the tag {str(tag)[:80]!r} is not supported",
        line=_line_of(event),
        remedy="remove it: texts, numbers, lists and mappings need none",
    )


def _scalar(event: ScalarEvent) -> str | int | float | bool | None:
    is_plain = event.tag is None and event.implicit[0]
    is_tagged = event.tag is not None and event.tag not in ("!", f"{_STANDARD}str")
    return _plain(event.value) if is_plain or is_tagged else event.value


def _plain(text: str) -> str | int | float | bool | None:
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INTEGER.fullmatch(text):
        return int(text)
    if text[-1] not in ".-" and _FLOAT.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text
