"""Texts cut to what a model can take, with notes that say so."""


class Notes:
    """What a result leaves out or what is remarkable about it, each said once.

    Args:
        longest: Characters of every text, when the call says so.
    """

    def __init__(self, longest: int | None = None) -> None:
        self._longest = longest
        self._said: list[str] = []

    def add(self, note: str) -> None:
        """Note something, once."""
        if note not in self._said:
            self._said.append(note)

    def cut(self, value: str, longest: int, what: str) -> str:
        """Return *value*, cut and noted when it is too long.

        Args:
            value: The text.
            longest: Characters, unless the call says otherwise.
            what: What it is.
        """
        longest = self._longest or longest
        if len(value) <= longest:
            return value
        self.add(
            f"{what} is cut after {longest} of {len(value)} characters; get_ticket with a greater"
            " max_chars gives more"
        )
        return value[:longest] + "…"

    def said(self) -> list[str]:
        """Return the notes."""
        return list(self._said)
