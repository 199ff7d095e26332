"""What the time is."""

from datetime import UTC, datetime
from functools import partial
from typing import Final

utc_now: Final = partial(datetime.now, UTC)
"""Returns the time as aware UTC."""
