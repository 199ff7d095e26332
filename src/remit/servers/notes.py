"""Texts cut to what a model can take, with notes that say so and how to get more."""

from typing import Final

DEFAULT_LENGTH: Final = 10_000
"""Characters of a text, unless tool or call say otherwise."""

MOST_LENGTH: Final = 100_000

EXCERPT: Final = 300
"""Characters of a text in a list."""


class Notes:
    """What a result leaves out or what is remarkable about it, each said once.

    Args:
        longest: Characters of every text, when the call says so.
    """

    def __init__(self, longest: int | None = None) -> None:
        self._longest = longest
        self._said: list[str] = []

    def cut(
        self,
        value: str,
        what: str,
        *,
        longest: int = DEFAULT_LENGTH,
        more: str = "a greater max_chars gives more",
    ) -> str:
        """Return *value*, cut and noted when it is too long.

        Args:
            value: The text.
            what: What it is.
            longest: Characters, unless the call says otherwise.
            more: How to get the rest.
        """
        longest = self._longest or longest
        if len(value) <= longest:
            return value
        self.add(f"{what} is cut after {longest} of {len(value)} characters; {more}")
        return value[:longest] + "…"

    def add(self, note: str) -> None:
        """Note something, once."""
        if note not in self._said:
            self._said.append(note)

    def said(self) -> list[str]:
        """Return the notes."""
        return list(self._said)


def excerpt(value: str, longest: int = EXCERPT) -> str:
    """Return the beginning of a text, in one line."""
    line = " ".join(value.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
