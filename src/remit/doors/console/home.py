"""Page: what happens at this gateway, as it happens, and what waits for somebody."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from anyio import current_time
from markupsafe import Markup
from starlette.responses import Response

from remit.client import alerts, overview
from remit.client.alerts import Alert
from remit.client.overview import Counts, Overview
from remit.doors.console import charts
from remit.doors.console.alerts import SEVERITIES
from remit.doors.console.live import LOOK, Live, Told, digest_of
from remit.doors.console.page import READERS, Action, Page
from remit.doors.console.servers import TONES
from remit.doors.console.visitor import Visitor

PATH: Final = "/home"

LAST_ALERTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """How far the page looks back.

    Attributes:
        every: Seconds between two looks: a long stretch takes the database longer, and changes
            less.
    """

    minutes: int
    label: str
    every: float


WINDOWS: Final = (
    Window(minutes=15, label="15 minutes", every=5.0),
    Window(minutes=60, label="1 hour", every=5.0),
    Window(minutes=360, label="6 hours", every=15.0),
    Window(minutes=1440, label="24 hours", every=60.0),
)
_USUAL: Final = WINDOWS[1]

_Known = tuple[Overview, Sequence[Alert]]


async def show(visitor: Visitor) -> Response:
    """Show the page as it is now; the part that changes says where it goes on."""
    window = _window(visitor)
    known, _ = await _known(visitor, window, since=current_time())
    shown = _rendered(visitor, window, known)
    asked = {"minutes": window.minutes, "has": digest_of(shown)}
    return visitor.render(
        "home.html", shown=shown, live=visitor.url(f"{PATH}/live", asked), window=window,
        windows=WINDOWS,
    )  # fmt: skip


async def watch(visitor: Visitor) -> Response:
    """Send the part that changes whenever it differs; see `live.py`."""
    return Live(visitor, partial(_tell, _window(visitor)), who=READERS)


async def _tell(window: Window, visitor: Visitor) -> Told:
    known, asked = await _known(visitor, window, since=current_time() - window.every)
    due = max(asked + window.every, current_time() + LOOK)
    return Told(text=_rendered(visitor, window, known), due=due)


def _window(visitor: Visitor) -> Window:
    minutes = visitor.asked("minutes")
    return next((each for each in WINDOWS if str(each.minutes) == minutes), _USUAL)


async def _known(visitor: Visitor, window: Window, *, since: float) -> tuple[_Known, float]:
    """Return what there is to show, and when it was asked for.

    Whoever reads this page is told the same of a tenant, so that one question serves all.
    """
    tenant = visitor.tenant

    async def ask() -> _Known:
        found = await visitor.ask(overview.get(minutes=window.minutes))
        newest = await visitor.ask(alerts.list_newest(tenant, limit=LAST_ALERTS))
        return found, newest.data.items

    return await visitor.recent.get((PATH, tenant, window.minutes), ask, since=since)


def _rendered(visitor: Visitor, window: Window, known: _Known) -> Markup:
    found, newest = known
    return visitor.rendering.part(
        visitor,
        "home_live.html",
        window=window,
        found=found,
        newest=newest,
        severities=SEVERITIES,
        tones=TONES,
        share=share,
        chart=_chart(found),
        part=_spelled(found.part_minutes),
        most=max((each.calls for each in found.parts), default=0),
        slowest=max((each.p95 or 0 for each in found.servers), default=0),
        longest=max((each.tokens for each in found.lists), default=0),
        waits=_waits(found),
    )


def share(some: int, counts: Counts) -> str:
    """Return how much of all calls *some* of them are, as a person reads it."""
    if not counts.calls or not some:
        return "none"
    percent = 100 * some / counts.calls
    return f"{percent:.0f} %" if percent >= 1 else "under 1 %"


def _chart(found: Overview) -> Markup:
    length = timedelta(minutes=found.part_minutes)
    places = [f"{each.start:%H:%M} to {each.start + length:%H:%M} UTC" for each in found.parts]
    series = [
        charts.Series(
            label="succeeded",
            tone="calls",
            values=[each.calls - each.denied - each.errors for each in found.parts],
        ),
        charts.Series(label="denied", tone="denied", values=[p.denied for p in found.parts]),
        charts.Series(label="failed", tone="errors", values=[p.errors for p in found.parts]),
    ]
    label = (
        f"Calls in each {_spelled(found.part_minutes)}: {found.totals.calls} in all,"
        f" {found.totals.denied} denied, {found.totals.errors} failed; the table below has them"
    )
    return charts.bars(label, places, series)


def _spelled(minutes: int) -> str:
    return "minute" if minutes == 1 else f"{minutes} minutes"


def _waits(found: Overview) -> Sequence[tuple[int, str, str, Mapping[str, str]]]:
    """Return how much waits, what it is, the page where it is dealt with, and how it is asked."""
    waiting = found.waiting
    return [
        (waiting.alerts, "open alerts", "/alerts", {"status": "open"}),
        (waiting.mail, "unread mails to a human", "/inbox", {}),
        (waiting.suggestions, "suggested queries", "/queries", {"tab": "pending"}),
        (waiting.changes, "changes of schemas", "/ontology", {"tab": "changes"}),
    ]


PAGE: Final = Page(
    key="home",
    path=PATH,
    title="Home",
    group="Overview",
    show=show,
    who=READERS,
    actions=(Action(path=f"{PATH}/live", run=watch, who=READERS, method="GET", counts=False),),
)
