"""References within a JSON Schema."""

from collections.abc import Sequence
from urllib.parse import unquote


def steps_of(reference: str) -> Sequence[str]:
    """Return the names of members that lead to what `#/$defs/a` refers to (RFC 6901 §6).

    There are none in `#`, which is the whole schema.
    """
    steps = unquote(reference).split("/")[1:]
    return [step.replace("~1", "/").replace("~0", "~") for step in steps]
