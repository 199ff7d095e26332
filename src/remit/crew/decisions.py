"""Decisions that agents write down (S3.20).

Every call is in the record with its arguments, so the record of this one is the decision: there is
one stream, and nobody writes the log beside it (R28).
"""

from typing import Final

from remit.crew.desk import Desk
from remit.crew.outputs import Result, iso
from remit.servers.arguments import Arguments
from remit.servers.shapes import LONGEST_TEXT, TEXT, given, record, text
from remit.servers.toolbox import Hints, Tool


async def _log_decision(desk: Desk, _: Arguments) -> Result:
    return {"logId": desk.new_id(), "timestamp": iso(desk.clock())}


SYSTEM_TOOLS: Final = (
    Tool(
        name="log_decision",
        title="Log a decision",
        description=(
            "Write down what you decided (title) and why (body), for whoever asks later."
            " Others can read it; put no secrets into it."
        ),
        takes=given(
            {
                "title": text("What you decided, in one line", 1000, pattern=r"\S"),
                "body": text("Why", LONGEST_TEXT, pattern=r"\S"),
            },
            ["title", "body"],
        ),
        gives=record(logId=TEXT, timestamp=TEXT),
        hints=Hints(),
        run=_log_decision,
    ),
)
"""The tools of `system`."""
