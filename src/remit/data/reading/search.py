"""Finding tables, columns, entities and terms by what they are called and what is said of them.

How a field fits what is looked for, best first:

    exact     it is just that
    prefix    it begins with that
    word      it has a word of it
    stem      it has another form of a word of it (`orders`, `ordered`)
    part      one of its words begins with a word of it

A name counts more than an alias, and an alias more than a description. Of several words, rare ones
count more than common ones. What fits equally well comes in a fixed order.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from remit.calls.redact import is_secret_name
from remit.data.ontology.knowledge import Knowledge
from remit.data.reading.words import stem, telling, words_of
from remit.model.ontology import SchemaTable

USUAL_HITS: Final = 20
MOST_HITS: Final = 100

_FITS: Final[Mapping[str, float]] = {
    "exact": 1.0,
    "prefix": 0.8,
    "word": 0.6,
    "stem": 0.5,
    "part": 0.4,
}
_WEIGHTS: Final[Mapping[str, float]] = {
    "name": 1.0,
    "alias": 0.9,
    "synonym": 0.9,
    "key": 0.6,
    "value": 0.5,
    "description": 0.45,
    "table": 0.35,
    "domain": 0.3,
}
_KINDS: Final = ("entity", "table", "column", "term")
_DIGITS: Final = 4

_SHORTEST_BEGINNING: Final = 2
"""Letters of a root without its last one: words whose root is shorter have no other form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Something that can be found.

    Attributes:
        kind: `entity`, `table`, `column` or `term`.
        name: Of an entity or a term its own, of a table `schema.table`, of a column
            `schema.table.column`.
        fields: What it is found by: name of the field, and text.
    """

    kind: str
    name: str
    table: str = ""
    column: str = ""
    description: str = ""
    fields: Sequence[tuple[str, str]] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Something that was found.

    Attributes:
        score: 0 to 1.
        matches: Which fields fit, and how, the best first.
    """

    found: Found
    score: float
    matches: Sequence[tuple[str, str]]


def search(knowledge: Knowledge, query: str) -> Sequence[Hit]:
    """Return everything that fits, best first."""
    asked = words_of(query)
    question = _Question(asked)
    if not question.words:
        return []
    looks = [look for found in _everything(knowledge) if (look := question.look_at(found))]
    rarity = {
        word: math.log(1 + len(looks) / (1 + sum(word in look.best for look in looks)))
        for word in question.words
    }
    return sorted((look.hit(rarity) for look in looks), key=_order)


def _order(hit: Hit) -> tuple[float, int, int, str]:
    found = hit.found
    return -hit.score, _KINDS.index(found.kind), len(found.name), found.name


@dataclass(frozen=True, slots=True)
class _Fits:
    """How well one text fits.

    Attributes:
        words: Of each word that fits, how.
        whole: How the text fits as a whole, or empty.
    """

    words: Mapping[str, str]
    whole: str


@dataclass(frozen=True, slots=True)
class _Look:
    """One thing beside what is looked for.

    Attributes:
        whole: How well one of its fields fits as a whole.
        best: Of each word that fits anywhere, how well it does.
        matches: Of each field, how it fits, and how well.
    """

    found: Found
    whole: float
    best: Mapping[str, float]
    matches: Mapping[tuple[str, str], float]

    def hit(self, rarity: Mapping[str, float]) -> Hit:
        """Return how well it fits.

        Args:
            rarity: Of each word that is looked for, how much it counts.
        """
        every = sum(rarity.values())
        parts = sum(self.best.get(word, 0.0) * counts for word, counts in rarity.items()) / every
        matches = sorted(self.matches, key=lambda place: (-self.matches[place], place))
        return Hit(found=self.found, score=round(max(self.whole, parts), _DIGITS), matches=matches)


class _Question:
    """What is looked for. Texts repeat, such as a table's name: each is looked at once.

    Attributes:
        words: Those that tell.
    """

    def __init__(self, asked: Sequence[str]) -> None:
        self.words = telling(asked)
        self._roots = {word: stem(word) for word in self.words}
        self._asked = tuple(asked)
        self._seen: dict[str, _Fits | None] = {}

    def look_at(self, found: Found) -> _Look | None:
        """Return how well something fits, or None where nothing of it does."""
        whole = 0.0
        best: dict[str, float] = {}
        matches: dict[tuple[str, str], float] = {}
        for name, text in found.fields:
            fits = self._fits(text)
            if fits is None:
                continue
            weight = _WEIGHTS[name]
            for word, fit in fits.words.items():
                best[word] = max(best.get(word, 0.0), weight * _FITS[fit])
            for fit in (fits.whole,) if fits.whole else fits.words.values():
                matches[name, fit] = weight * _FITS[fit]
            if fits.whole:
                whole = max(whole, weight * _FITS[fits.whole])
        return _Look(found, whole, best, matches) if matches else None

    def _fits(self, text: str) -> _Fits | None:
        if text not in self._seen:
            has = tuple(words_of(text))
            joined = f" {' '.join(has)} "
            words = {
                word: fit
                for word, root in self._roots.items()
                if (fit := _fit(word, root, has, joined))
            }
            whole = self._fit_whole(has)
            self._seen[text] = _Fits(words, whole) if words or whole else None
        return self._seen[text]

    def _fit_whole(self, has: tuple[str, ...]) -> str:
        if self._asked == has:
            return "exact"
        return "prefix" if has and "".join(has).startswith("".join(self._asked)) else ""


def _fit(word: str, root: str, has: Sequence[str], joined: str) -> str:
    """Return how a word fits a text, which is given as its words and *joined* by blanks.

    Both can be many, and a text is searched much faster than words are looked at one by one: those
    alone that begin as the root does can have it, but for its last letter.
    """
    if f" {word} " in joined:
        return "word"
    begins = root[:-1]
    if len(begins) >= _SHORTEST_BEGINNING and f" {begins}" in joined:
        beginning_so = (each for each in has if each.startswith(begins))
        if any(stem(each) == root for each in beginning_so):
            return "stem"
    return "part" if f" {word}" in joined else ""


def _everything(knowledge: Knowledge) -> Iterator[Found]:
    for entity in knowledge.entities.values():
        synonyms = [each for column in entity.key_columns for each in column.synonyms]
        yield Found(
            kind="entity",
            name=entity.name,
            table=f"{entity.schema}.{entity.table}" if entity.table else "",
            description=entity.description,
            fields=_fields(
                name=[entity.name],
                alias=entity.aliases,
                key=synonyms,
                description=[entity.description],
                domain=[entity.domain],
            ),
        )
    for table in knowledge.tables:
        yield from _of_table(knowledge, table)
    for term in knowledge.terms.values():
        yield Found(
            kind="term",
            name=term.term,
            table=term.base_table,
            description=term.definition,
            fields=_fields(name=[term.term], alias=term.aliases, description=[term.definition]),
        )


def _of_table(knowledge: Knowledge, table: SchemaTable) -> Iterator[Found]:
    entity = knowledge.entity_of(table)
    aliases = [] if entity is None else [entity.name, *entity.aliases]
    description = "" if entity is None else entity.description
    yield Found(
        kind="table",
        name=table.full_name,
        table=table.full_name,
        description=description,
        fields=_fields(name=[table.name], alias=aliases, description=[description]),
    )
    keys = {} if entity is None else {each.name: each.synonyms for each in entity.key_columns}
    for column in table.columns:
        meaning = knowledge.meaning(table, column)
        values = () if meaning is None or is_secret_name(column.name) else meaning.enum_values
        said = "" if meaning is None else meaning.description
        yield Found(
            kind="column",
            name=f"{table.full_name}.{column.name}",
            table=table.full_name,
            column=column.name,
            description=said,
            fields=_fields(
                name=[column.name],
                synonym=keys.get(column.name, ()),
                description=[said],
                value=[text for each in values for text in (each.value, each.label)],
                table=[table.name, *aliases],
            ),
        )


def _fields(**texts: Sequence[str]) -> Sequence[tuple[str, str]]:
    return [(name, text) for name, several in texts.items() for text in several if text]
