"""Values that look like an attempt to inject SQL: a second line, since values are bound (S2.33).

A screen of our own. Of what there is, the binding of libinjection is under the GPL, has not moved
since 2022, and needs Cython and a compiler wherever remit is installed.

A value is suspicious where it would do something if it *were* spliced: it leaves the quote, or the
number, that it would stand in, and goes on as SQL. A quote that is closed again, an apostrophe in a
name, and a word of SQL in prose are none of that, so that few honest values are refused.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from remit.model.data import Bound

_MOST_BREAKS: Final = 10_000
"""Quotes of one value that are looked behind: a second line need not take seconds."""

_WORD_AFTER: Final = re.compile(
    r"(?:x?or|and|union|having|order by|group by|like|limit|where)\b", re.IGNORECASE
)
_COMMENT: Final = re.compile(r"/\*!?\d*|\*/")
_BLANKS: Final = re.compile(r"[\s\x00]+")
_LEADING_NUMBER: Final = re.compile(r" ?[-+]?\d+(?:\.\d+)?(?= ?[);]| [a-z|&]|\|\||&&)")

_VERB: Final = (
    r"(?:(?:drop|truncate|alter|create) (?:table|database|schema|view|index|user|role|function|"
    r"trigger)\b|delete from\b|insert into\b|update \w+ set\b|exec(?:ute)?\b|shutdown\b|"
    r"select [\w(*'\"]|copy \w|attach\b|pragma \w|declare\b|waitfor\b|grant \w|do \$|call \w)"
)
_SIDE: Final = (
    r"(?:'[^']{0,40}'?|\"[^\"]{0,40}\"?|-?\d+(?:\.\d+)?|null|true|false|[a-z_@][\w.@]{0,40})"
)

_AFTER_BREAK: Final = {
    # what follows directly on leaving a quote or a number
    "tautology": re.compile(
        r"[) ]*(?:(?:x?or|and)\b|\|\||&&) ?(?:not )?[( ]*(?:"
        + _SIDE
        + r" ?(?:=|<|>|!=|\blike\b|\bis\b|\bin\b ?\(|\bbetween\b)|(?:\d+|true) ?(?:$|--|#|/\*|\)|;)"
        r"|'|exists ?\(|select\b)"
    ),
    "union": re.compile(r"[) ]*(?:union|intersect|except)(?: all| distinct)? ?\(? ?select\b"),
    "stacked": re.compile(r"[) ]*; ?" + _VERB),
    "comment": re.compile(r"[); ]*(?:--|#|/\*)"),  # if no letter follows
    "clause": re.compile(
        r"[) ]*(?:having [\d('c]|order by \d|group by [\w.,( ]+(?:--|#|having)|"
        r"limit \d+ ?(?:--|#|,)|"
        r"into (?:out|dump)file\b|procedure analyse|waitfor delay|where \w+ ?=)"
    ),
    "concatenation": re.compile(
        r" ?(?:\|\||\+) ?\(? ?(?:select\b|case when|chr?\(|char\(|version\(|pg_|@@|"
        r"current_|'? ?(?:\|\||\+))"
    ),
}
_ANYWHERE: Final = {
    # what is no prose wherever it stands
    "union": re.compile(
        r"(?:^|[\d'\")] ?)union(?: all| distinct)? ?\(? ?select (?:null|\d|@|'|\*|"
        r"char\(|concat|\w+ ?,|\w+ from\b)"
    ),
    "delay": re.compile(
        r"\b(?:pg_sleep ?\( ?\d|benchmark ?\( ?\d+ ?,|waitfor delay ?'|dbms_pipe\.|dbms_lock\.|"
        r"xp_cmdshell|select sleep ?\(|randomblob ?\( ?\d{6})"
    ),
}
_STACKED: Final = re.compile(r"; ?" + _VERB + r"[^;]{0,200}(?:--|#|/\*)")  # likewise
_MOST_STACKED: Final = 1000
"""Characters in which a statement that the text would add begins, before its last letter."""
_NO_LETTERS: Final = re.compile(r"[^a-z]*")
_DELAY_AFTER_BREAK: Final = re.compile(
    r"[) ]*(?:or|and|\|\||;|,)? ?\(? ?(?:if ?\(.{0,60})?sleep ?\("
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A value that looks like an injection.

    Attributes:
        parameter: Whose value.
        fingerprint: How it leaves what it would stand in, and what comes then, such as
            `quote:tautology`; nothing of the value itself.
    """

    parameter: str
    fingerprint: str


def screen_values(values: Mapping[str, Bound]) -> Finding | None:
    """Return the first value that looks like an injection, if there is one; texts alone can."""
    for parameter, value in values.items():
        for text in _texts(value):
            fingerprint = fingerprint_of(text)
            if fingerprint:
                return Finding(parameter=parameter, fingerprint=fingerprint)
    return None


def fingerprint_of(text: str) -> str:
    """Return by what a text looks like an injection, or an empty text."""
    plain = _BLANKS.sub(" ", _COMMENT.sub(_blank, unicodedata.normalize("NFKC", text))).lower()
    letters = len(plain) - _length(_NO_LETTERS.match(plain[::-1]))
    for left, at in islice(_breaks(plain), _MOST_BREAKS):
        for name, pattern in _AFTER_BREAK.items():
            found = pattern.match(plain, at)
            if found and (name != "comment" or found.end() >= letters):
                return f"{left}:{name}"
        if _DELAY_AFTER_BREAK.match(plain, at):
            return f"{left}:delay"
    for name, pattern in _ANYWHERE.items():
        if pattern.search(plain):
            return f"text:{name}"
    endings = _STACKED.finditer(plain, max(letters - _MOST_STACKED, 0))
    return "text:stacked" if any(each.end() >= letters for each in endings) else ""


def _length(found: re.Match[str] | None) -> int:
    return 0 if found is None else found.end()


def _blank(comment: re.Match[str]) -> str:
    """A comment parts words, and is kept where it would hide the rest."""
    return "/*" if comment.end() == len(comment.string) else " "


def _texts(value: Bound) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Sequence):
        for each in value:
            if isinstance(each, str):
                yield each


def _breaks(plain: str) -> Iterator[tuple[str, int]]:
    """Return where a text leaves what it would stand in: a quote that it opens not, or a number."""
    number = _LEADING_NUMBER.match(plain)
    if number:
        yield "number", number.end()
    if plain[:2].lstrip()[:1] in {")", ";"}:
        yield "number", 0
    for quote in "'\"`":
        closed = False
        at = plain.find(quote)
        while at >= 0:
            if not _is_apostrophe(plain, at):
                closed = not closed
                if closed:
                    yield "quote", at + 1
            at = plain.find(quote, at + 1)


def _is_apostrophe(plain: str, at: int) -> bool:
    """Return whether a quote stands in a word, and what follows it is no word of SQL."""
    if not 0 < at < len(plain) - 1:
        return False
    within = plain[at - 1].isalpha() and plain[at + 1].isalpha()
    return within and not _WORD_AFTER.match(plain, at + 1)
