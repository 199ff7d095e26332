"""A tool's input schema, compiled once, and what is wrong with arguments that do not fit it."""

import json
from collections.abc import Callable
from typing import Any, Final

import jsonschema_rs
import msgspec
import structlog

from remit.calls.schema_cost import evaluations, telling
from remit.model.tools import Tool

log = structlog.get_logger(__name__)

MASK: Final = "the value"
"""What stands in an error for an argument's value, since the text is recorded too."""

MOST_ERRORS: Final = 5

LONGEST_ERROR: Final = 300
"""Characters of one error's text, since names in arguments and schemas may be of any length."""

MOST_EVALUATIONS: Final = 100_000
"""Parts that a schema may apply: about a millisecond, in which nothing else happens."""

MOST_TOLD: Final = 20_000
"""Parts of arguments that the errors about them may hold: some milliseconds likewise."""

TOO_INVOLVED: Final = (
    "the arguments do not fit the tool's schema; they are too large, or it has too many branches,"
    " to say where"
)


class InputSchema(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A schema that was compiled.

    Attributes:
        is_valid: Whether arguments fit. What contains itself is looked at once for each part of
            the arguments, so that this takes no longer than they are large.
        iter_errors: Every error with all that led to it: each branch of each branch.
        source: The schema as JSON.
    """

    is_valid: Callable[[object], bool]
    iter_errors: Callable[[object], Any]
    source: bytes

    def errors(self, arguments: dict[str, Any]) -> list[str]:
        """Return a line for each of the first things that are wrong with arguments, or one of all.

        Raises:
            ValueError: They are nested too deeply for the validator.
        """
        if telling(json.loads(self.source), arguments) > MOST_TOLD:
            return [TOO_INVOLVED]
        lines: list[str] = []
        for error in self.iter_errors(arguments):
            where = ".".join(str(part) for part in error.instance_path)
            line = f"{where}: {error.message}" if where else str(error.message)
            lines.append(line if len(line) <= LONGEST_ERROR else line[: LONGEST_ERROR - 1] + "…")
            if len(lines) == MOST_ERRORS:
                break
        return lines


def compiled_schema(tool: Tool) -> InputSchema | None:
    """Return a tool's schema; None where there is nothing to check by, which the log tells."""
    try:
        schema = json.loads(tool.input_schema)
        compiled = jsonschema_rs.validator_for(schema, mask=MASK, offline=True)
        if evaluations(schema) <= MOST_EVALUATIONS:
            return InputSchema(
                is_valid=compiled.is_valid,
                iter_errors=compiled.iter_errors,
                source=tool.input_schema,
            )
        log.warning("input schema takes too long to be checked", tool=str(tool.id))
    except (ValueError, RecursionError, jsonschema_rs.ReferencingError) as error:
        # The server checks its own arguments; a schema nobody can compile must not hide the tool.
        log.warning("input schema cannot be compiled", tool=str(tool.id), error=str(error)[:200])
    return None
