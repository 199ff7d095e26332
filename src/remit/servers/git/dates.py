"""Dates as git takes them: it reads something into every text, so that here words are known."""

import re
from datetime import date
from typing import Final

from remit.servers.errors import ToolError

_UNITS: Final = "second minute hour day week fortnight month year"
_DAYS: Final = "monday tuesday wednesday thursday friday saturday sunday"
_MONTHS: Final = (
    "january february march april may june july august september october november december"
)
_OTHERS: Final = (
    "ago last never now today yesterday noon midnight tea am pm t z utc gmt"
    " one two three four five six seven eight nine ten"
)
_KNOWN: Final = frozenset(
    [*_OTHERS.split()]
    + [unit + end for unit in _UNITS.split() for end in ("", "s")]
    + [name[:length] for name in (*_DAYS.split(), *_MONTHS.split()) for length in (3, None)]
)
_WORD: Final = re.compile(r"[A-Za-z]+")
_ORDINAL: Final = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b", re.IGNORECASE)
_ISO: Final = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)(?!\d)")
_TIME: Final = re.compile(r"(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-6]\d(?:\.\d+)?)?(?!\d)")
_SIGNS: Final = re.compile(r"[\d\s.,:+/-]*")
_NUMBERS: Final = re.compile(r"@?\d{9,}(?: [+-]\d{4})?|\d{1,4}[./]\d{1,2}[./]\d{1,4}")
"""Seconds since 1970, or a date by numbers."""


def known_date(text: str, name: str) -> str:
    """Return *text* if git understands it as a date.

    Args:
        text: Such as `2026-01-31`, `2026-01-31T12:00:00Z`, `2 weeks ago`, `yesterday`.
        name: Of the argument.

    Raises:
        ToolError: It is none.
    """
    if _is_date(text.strip()):
        return text
    raise ToolError(
        f"{name} is no date: {text[:80]!r}; give one such as 2026-01-31, 2026-01-31T12:00:00Z,"
        " '2 weeks ago' or 'yesterday'"
    )


def _is_date(text: str) -> bool:
    iso = _ISO.match(text)
    if iso:
        try:
            date(*map(int, iso.groups()))
        except ValueError:
            return False
    rest = _ORDINAL.sub("", text[iso.end() :] if iso else text)
    if ":" in rest and not _TIME.search(rest):
        return False
    words = [word.lower() for word in _WORD.findall(rest)]
    if not iso and not words:
        return _NUMBERS.fullmatch(text) is not None
    is_clean = _SIGNS.fullmatch(_WORD.sub("", rest)) is not None
    return is_clean and all(word in _KNOWN for word in words)
