"""JQL made of what a caller gives, with every text quoted."""

import re
from collections.abc import Sequence
from typing import Final

# What Jira's text search takes for operators (Lucene).
_OPERATORS: Final = re.compile(r'([-+&|!(){}\[\]^~*?:\\"/])')
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f]+")
_ORDER: Final = re.compile(
    r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|\border\s+by\b""", re.IGNORECASE | re.DOTALL
)


def quoted(value: str) -> str:
    """Return *value* as one JQL text, whatever it holds."""
    plain = _UNPRINTABLE.sub(" ", value)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def with_words(words: str) -> str:
    """Return the condition that a ticket holds these words anywhere, none of them an operator."""
    harmless = _OPERATORS.sub(r"\\\1", words)
    return f"text ~ {quoted(harmless)}"


def combined(jql: str, conditions: Sequence[str], order: str) -> str:
    """Return *jql* narrowed by *conditions*, in its own order or in *order*."""
    condition, own_order = _parts(jql)
    if not conditions:
        return jql.strip()
    wanted = [f"({condition})" if condition else "", *conditions]
    return f"{' AND '.join(filter(None, wanted))} {own_order or order}"


def _parts(jql: str) -> tuple[str, str]:
    """Split *jql* into its condition and its ORDER BY."""
    for found in _ORDER.finditer(jql):
        if found.group(1) is None:
            return jql[: found.start()].strip(), jql[found.start() :].strip()
    return jql.strip(), ""
