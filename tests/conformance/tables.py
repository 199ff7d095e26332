"""The golden tables: who may call what, as the source documents have it."""

import csv
from pathlib import Path

_GOLDEN = Path(__file__).parent / "golden"


def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a table, such as `roles.csv`, in its order."""
    with (_GOLDEN / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def grants() -> list[tuple[str, str, str]]:
    """Return role, server and tool of each of the 101 grants, in the order of their work."""
    return [(row["role"], row["server"], row["tool"]) for row in rows("roles.csv")]
