"""A call's arguments, checked against the tool's schema and read with their types."""

from collections.abc import Mapping
from typing import cast

import jsonschema_rs

from remit.servers.errors import ToolError

_LONGEST_MESSAGE = 300


class ArgumentCheck:
    """A tool's input schema, compiled once.

    Args:
        tool: The tool's name, for messages.
        schema: Its input schema.
    """

    def __init__(self, tool: str, schema: Mapping[str, object]) -> None:
        self._tool = tool
        # Values are masked: what a caller sent by mistake does not belong in a message.
        self._validator = jsonschema_rs.validator_for(dict(schema), mask="the value")

    def __call__(self, values: Mapping[str, object]) -> "Arguments":
        """Return the arguments of one call, which are valid.

        Raises:
            ToolError: If they are not; the message names each field that is wrong.
        """
        try:
            problems = [
                f"{'.'.join(str(part) for part in error.instance_path) or 'arguments'}: "
                f"{error.message[:_LONGEST_MESSAGE]}"
                for error in self._validator.iter_errors(dict(values))
            ]
        except UnicodeEncodeError:  # an agent cut a text in two in the middle of an emoji
            problems = ["a text holds half of a character (a lone surrogate)"]
        if problems:
            raise ToolError(
                f"bad arguments for {self._tool}: {'; '.join(problems)}; correct them and call"
                " again",
                code="INVALID_INPUT",
            )
        return Arguments(values)


class Arguments:
    """The arguments of one call, read with their types.

    Args:
        values: Valid against the tool's input schema.
    """

    def __init__(self, values: Mapping[str, object]) -> None:
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

    def has(self, name: str) -> bool:
        """Say whether it was given, be it as null."""
        return name in self._values

    def mapping(self, name: str) -> Mapping[str, object]:
        """Return an object, empty when it was left out."""
        value = self._values.get(name)
        return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of strings, empty when it was left out."""
        value = self._values.get(name)
        return tuple(map(str, cast("list[object]", value))) if isinstance(value, list) else ()

    def items(self, name: str) -> tuple[object, ...]:
        """Return a list of anything, empty when it was left out."""
        value = self._values.get(name)
        return tuple(cast("list[object]", value)) if isinstance(value, list) else ()
