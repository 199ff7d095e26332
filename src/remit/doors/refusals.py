"""How often the doors turned somebody away, by reason."""

from collections import Counter
from typing import Final

from remit.doors.asgi import HttpRefusal
from remit.doors.credentials import NotAdmitted

NO_CREDENTIAL: Final = "no_credential"


class Refusals:
    """Counts requests whose credential opened no door.

    Attributes:
        by_reason: Error code of RFC 6750, or `no_credential` where there was none.
    """

    def __init__(self) -> None:
        self.by_reason = Counter[str]()

    def note(self, refusal: HttpRefusal) -> None:
        """Count *refusal* if it is one of these."""
        if isinstance(refusal, NotAdmitted):
            self.by_reason[refusal.error or NO_CREDENTIAL] += 1
