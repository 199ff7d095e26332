"""A part of the page "Servers": is the installation healthy, and what to do about it.

Programs start for an examination, so it is made when somebody asks for it, and never by a look.
"""

from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from remit.client import doctor
from remit.client.doctor import Examination
from remit.doors.console.page import ADMINISTRATORS, Action
from remit.doors.console.visitor import Visitor

AT: Final = "/servers/-examination"
"""Where it is; no server's name begins with `-`."""

GRADES: Final[Mapping[str, str]] = {"error": "bad", "warning": "warn", "ok": "good"}
"""Grade of a finding to the tone of its badge, the worst first."""


async def show(visitor: Visitor) -> Response:
    """Say what an examination does."""
    return _page(visitor)


async def examine(visitor: Visitor) -> Response:
    """Examine everything, and show what is found, the worst first."""
    return _page(visitor, await visitor.ask(doctor.examine()))


def _page(visitor: Visitor, found: Examination | None = None) -> Response:
    order = list(GRADES)
    findings = sorted(found.findings, key=lambda each: order.index(each.grade)) if found else []
    return visitor.render(
        "examination.html",
        here=visitor.url("/servers"),
        found=found,
        wrong=[each for each in findings if each.grade != "ok"],
        well=[each for each in findings if each.grade == "ok"],
        grades=GRADES,
    )


ACTIONS: Final = (
    Action(path=AT, run=show, who=ADMINISTRATORS, method="GET"),
    Action(path=AT, run=examine, who=ADMINISTRATORS),
)
"""They belong to the page "Servers"; the API tells auditors nothing that programs start for."""
