"""A program's arguments as they are sent: JSON, or refused in words and never altered."""

import json
from collections.abc import Mapping

from remit.errors import BadCall


def as_json(arguments: Mapping[str, object]) -> bytes:
    """Return *arguments* as JSON; half a character, which UTF-8 has not, as an escape.

    Raises:
        BadCall: They hold what JSON has not, such as NaN, a set, bytes or a date.
    """
    try:
        written = json.dumps(dict(arguments), ensure_ascii=False, allow_nan=False)
        try:
            return written.encode()
        except UnicodeEncodeError:
            return json.dumps(dict(arguments)).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise BadCall(f"the arguments cannot be written as JSON: {error}") from error
