"""Words of names and descriptions, as a search compares them."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD: Final = re.compile(r"[^\W_]+")
_VOWEL: Final = re.compile(r"[aeiouy]")
_SHORTEST: Final = 3
_KEEP_DOUBLE: Final = frozenset("lsz")
_LITTLE: Final = frozenset(
    {"a", "all", "an", "and", "are", "by", "each", "for", "from", "how", "in", "is", "many", "of"}
    | {"on", "or", "per", "that", "the", "their", "to", "what", "where", "which", "with"}
)


def words_of(text: str) -> Sequence[str]:
    """Return the words of a text or name, lower case and without accents, humps apart."""
    plain = unicodedata.normalize("NFKD", _HUMP.sub(" ", text))
    letters = "".join(each for each in plain if not unicodedata.combining(each))
    return tuple(_WORD.findall(letters.casefold()))


def telling(words: Sequence[str]) -> Sequence[str]:
    """Return those words that say what is looked for, each once; all if none does."""
    once = list(dict.fromkeys(words))
    return [word for word in once if word not in _LITTLE] or once


def stem(word: str) -> str:
    """Return what a word has in common with its other forms (steps 1 and 5a of Porter's)."""
    return _without_e(_without_tense(_without_plural(word)))


def _without_plural(word: str) -> str:
    if word.endswith("sses") or (word.endswith("ies") and len(word) > _SHORTEST + 1):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > _SHORTEST:
        return word[:-1]
    return word


def _without_tense(word: str) -> str:
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) >= _SHORTEST and _VOWEL.search(root):
            is_doubled = root[-1] == root[-2] and root[-1] not in _KEEP_DOUBLE
            return root[:-1] if is_doubled and not _VOWEL.match(root[-1]) else root
    return word


def _without_e(word: str) -> str:
    if len(word) > _SHORTEST and word.endswith("y") and not _VOWEL.match(word[-2]):
        return word[:-1] + "i"
    return word[:-1] if len(word) > _SHORTEST and word.endswith("e") else word
