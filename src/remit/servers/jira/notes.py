"""Texts cut to what a model can take, with notes that say so."""


class Notes:
    """What a result leaves out or what is remarkable about it, each said once."""

    def __init__(self) -> None:
        self._said: list[str] = []

    def add(self, note: str) -> None:
        """Note something, once."""
        if note not in self._said:
            self._said.append(note)

    def cut(self, value: str, longest: int, what: str) -> str:
        """Return *value*, cut and noted when it has more than *longest* characters."""
        if len(value) <= longest:
            return value
        self.add(f"{what} is cut after {longest} of {len(value)} characters")
        return value[:longest] + "…"

    def said(self) -> list[str]:
        """Return the notes."""
        return list(self._said)
