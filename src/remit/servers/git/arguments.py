"""A call's arguments, checked against the tool's schema and read with their types."""

from collections.abc import Mapping
from typing import cast

import jsonschema_rs

from remit.servers.git.errors import ToolError
from remit.servers.git.schemas import INPUT_SCHEMAS

_VALIDATORS = {
    # Values are masked: what a caller sent by mistake does not belong in a message.
    name: jsonschema_rs.validator_for(dict(schema), mask="the value")
    for name, schema in INPUT_SCHEMAS.items()
}
_LONGEST_MESSAGE = 300


class Arguments:
    """The arguments of one call, valid against the tool's input schema.

    Raises:
        ToolError: If they are not; the message names each field that is wrong.
    """

    def __init__(self, tool: str, values: Mapping[str, object]) -> None:
        problems = [
            f"{'.'.join(str(part) for part in error.instance_path) or 'arguments'}: "
            f"{error.message[:_LONGEST_MESSAGE]}"
            for error in _VALIDATORS[tool].iter_errors(dict(values))
        ]
        if problems:
            raise ToolError(
                f"bad arguments for {tool}: {'; '.join(problems)}; correct them and call again"
            )
        self._values = values

    def find_text(self, name: str) -> str | None:
        """Return a string, or None when it was left out."""
        value = self._values.get(name)
        return value if isinstance(value, str) else None

    def text(self, name: str, default: str = "") -> str:
        """Return a string, required or with a default."""
        return self.find_text(name) or default

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a boolean."""
        value = self._values.get(name)
        return value if isinstance(value, bool) else default

    def number(self, name: str, default: int) -> int:
        """Return an integer; JSON lets `3.0` pass for one."""
        value = self._values.get(name)
        return int(value) if isinstance(value, int | float) else default

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of strings, empty when it was left out."""
        value = self._values.get(name)
        return tuple(map(str, cast("list[object]", value))) if isinstance(value, list) else ()
