"""What remit itself says of a call that came to nothing, beside the words for a model (R22).

Members of a result's `_meta`, and of an error's `data`.
"""

from typing import Final

CODE: Final = "remit/code"
"""One of the codes of `errors.py`."""

REQUEST: Final = "remit/requestId"
"""The id by which the record and the log have it."""

OUTCOME: Final = "remit/outcome"
"""Only where nobody knows whether the call took effect: `UNKNOWN_OUTCOME`."""

UNKNOWN_OUTCOME: Final = "unknown"

RETRY_AFTER: Final = "remit/retry_after"
"""Seconds, where there is something to wait for."""
