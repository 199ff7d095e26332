"""Numbers with their nouns, for people."""


def counted(count: int, noun: str) -> str:
    """Return `1 warning`, `2 warnings`, `1,000 warnings`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
