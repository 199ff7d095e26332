"""Names of tables and columns, written so that they can be nothing else."""

from typing import Final

from remit.errors import DataFailure
from remit.model.data import DataCode, EngineKind

MOST_BYTES: Final = 63
"""Of a name on PostgreSQL."""


def quoted(engine: EngineKind, *parts: str) -> str:
    """Return a name, such as of a schema, a table and a column, quoted for a statement.

    All engines double a quote within; what differs is that none of them can hold a NUL, and that
    PostgreSQL cuts a name after 63 bytes and would take another one.

    Args:
        engine: For whose dialect.
        parts: From the outermost inwards; empty ones, such as a schema that is not named, are left
            out.

    Raises:
        DataFailure: `invalid_parameters` where no such name can exist.
    """
    named = [part for part in parts if part]
    for part in named:
        encoded = part.encode(errors="replace")
        too_long = engine is EngineKind.POSTGRESQL and len(encoded) > MOST_BYTES
        if "\0" in part or too_long or (encoded.decode() != part):
            raise DataFailure(
                DataCode.INVALID_PARAMETERS, "no table or column can have such a name"
            )
    if not named:
        raise DataFailure(DataCode.INVALID_PARAMETERS, "a name is empty; name a table or a column")
    return ".".join('"' + part.replace('"', '""') + '"' for part in named)
