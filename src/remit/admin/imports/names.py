"""Give every imported server a name that fits, and that no other has."""

import re
import unicodedata
from collections.abc import Collection

from remit.model.servers import name_problem

LONGEST_NAME = 64

_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")
_LETTERS = {"ß": "ss", "æ": "ae", "Æ": "AE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d"}


def fit(name: str) -> str:
    """Return *name* itself where it fits, else the nearest name that does."""
    if name_problem(name) is None:
        return name
    spelled = "".join(_LETTERS.get(letter, letter) for letter in name)
    decomposed = unicodedata.normalize("NFKD", spelled)
    plain = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    fitting = re.sub(r"__+", "_", _UNFIT.sub("-", plain))
    fitting = fitting.lstrip("_.-")[:LONGEST_NAME].rstrip("_.-")
    if not fitting:
        return "server"
    return fitting if name_problem(fitting) is None else f"server-{fitting}"[:LONGEST_NAME]


def distinct(name: str, taken: Collection[str]) -> str:
    """Return *name*, or the first of `name-2`, `name-3` and so on that is not *taken*."""
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        end = f"-{number}"
        candidate = name[: LONGEST_NAME - len(end)] + end
    return candidate
