"""What issue 5 asks to be shown, held against what was measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from bench.results import CALL, DENIED, LIST, SPREAD, Cell, Growth, Results
from bench.targets import DIRECT, NGINX, REMIT, REMIT_TWO

MET, MISSED, BETWEEN, UNKNOWN = "met", "**missed**", "between", "not measured"
LIGHT = ("supergateway", "mcp-proxy")
"""The lightest peers; the faster of them counts."""

GOVERNING = ("contextforge", "litellm", "fastmcp")
MOST_RESIDENT = 90.0
"""MiB."""

FLAT = 1.05
"""How much the second half of many calls may add to the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One line of the table."""

    what: str
    target: str
    measured: str
    verdict: str


def verdicts(results: Results) -> Sequence[Verdict]:
    """Return every line, in the order of the issue."""
    return (
        _share_of_nginx(results),
        *_times_peers(results),
        _added_p50(results),
        _cpu(results),
        _tail(results),
        *_lists(results),
        _piped(results),
        _spread(results),
        *_memory(results),
        _denied(results),
    )


def _line(
    what: str, target: str, cells: Sequence[Cell | None], judge: Callable[..., tuple[str, bool]]
) -> Verdict:
    """Return a line out of the cells it needs, which `judge` gets; without one it is unknown."""
    if None in cells:
        return Verdict(what=what, target=target, measured="-", verdict=UNKNOWN)
    measured, met = judge(*cells)
    verdict = MET if met else MISSED
    return Verdict(what=what, target=target, measured=measured, verdict=verdict)


def _share_of_nginx(results: Results) -> Verdict:
    remit, nginx = (results.find(name, CALL, 16) for name in (REMIT, NGINX))
    what, target = "calls, 16 connections, everything on", "≥ 45 % of nginx (< 35 % is a miss)"
    if remit is None or nginx is None:
        return Verdict(what=what, target=target, measured="-", verdict=UNKNOWN)
    share = remit.middle("rate") / nginx.middle("rate")
    verdict = MET if share >= 0.45 else BETWEEN if share >= 0.35 else MISSED
    rates = f"{remit.middle('rate'):,.0f}/s of {nginx.middle('rate'):,.0f}/s"
    return Verdict(what=what, target=target, measured=f"{share:.1%} ({rates})", verdict=verdict)


def _times_peers(results: Results) -> Sequence[Verdict]:
    remit = results.find(REMIT, CALL, 16)
    light = [cell for name in LIGHT if (cell := results.find(name, CALL, 16)) is not None]
    fastest = max(light, key=lambda cell: cell.middle("rate"), default=None)

    def times(least: int) -> Callable[[Cell, Cell], tuple[str, bool]]:
        def judge(ours: Cell, theirs: Cell) -> tuple[str, bool]:
            ratio = ours.middle("rate") / theirs.middle("rate")
            text = f"{ratio:,.1f} times {theirs.target} ({theirs.middle('rate'):,.0f}/s)"
            return text, ratio >= least

        return judge

    return (
        _line("the same", "≥ 8 times the lightest peer", (remit, fastest), times(8)),
        *(
            _line(
                "the same", f"≥ 200 times {name}", (remit, results.find(name, CALL, 16)), times(200)
            )
            for name in GOVERNING
        ),
    )


def _added_p50(results: Results) -> Verdict:
    def judge(remit: Cell, nginx: Cell, direct: Cell) -> tuple[str, bool]:
        base = direct.middle("p50")
        ours, theirs = remit.middle("p50") - base, nginx.middle("p50") - base
        ratio = ours / theirs if theirs > 0 else float("inf")
        return f"{ratio:.2f} times ({ours:,.0f} us; nginx {theirs:,.0f} us)", ratio <= 1.6

    cells = [results.find(name, CALL, 1) for name in (REMIT, NGINX, DIRECT)]
    return _line("p50 added to direct, 1 connection", "≤ 1.6 times nginx's", cells, judge)


def _cpu(results: Results) -> Verdict:
    def judge(remit: Cell, nginx: Cell) -> tuple[str, bool]:
        ours, theirs = remit.middle("cpu"), nginx.middle("cpu")
        return f"{ours / theirs:.2f} times ({ours:,.0f} us; {theirs:,.0f} us)", ours <= 3 * theirs

    cells = [results.find(name, CALL, 16) for name in (REMIT, NGINX)]
    return _line("processor a call, 16 connections", "≤ 3 times nginx's", cells, judge)


def _tail(results: Results) -> Verdict:
    def judge(cell: Cell) -> tuple[str, bool]:
        p50, p99 = cell.middle("p50"), cell.middle("p99")
        return f"{p99 / p50:.2f} times ({p99:,.0f} us; {p50:,.0f} us)", p99 <= 3 * p50

    return _line("p99, 64 connections", "≤ 3 times p50", [results.find(REMIT, CALL, 64)], judge)


def _lists(results: Results) -> Sequence[Verdict]:
    def rate(remit: Cell, nginx: Cell) -> tuple[str, bool]:
        ours, theirs = remit.middle("rate"), nginx.middle("rate")
        return f"{ours:,.0f}/s; nginx {theirs:,.0f}/s", ours >= theirs

    def cpu(remit: Cell, nginx: Cell) -> tuple[str, bool]:
        ours, theirs = remit.middle("cpu"), nginx.middle("cpu")
        return f"{ours / theirs:.2f} times ({ours:,.0f} us; {theirs:,.0f} us)", ours <= 1.5 * theirs

    cells = [results.find(name, LIST, 1, 1000) for name in (REMIT, NGINX)]
    what = "lists of 1,000 tools, filtered by role, 1 connection"
    return (
        _line(what, "as many as nginx passes", cells, rate),
        _line("the same", "≤ 1.5 times nginx's processor", cells, cpu),
    )


def _piped(results: Results) -> Verdict:
    what, target = "one stdio child, 16 callers, by the fleet", "≥ 70 % of a raw multiplexer"
    raw, ours = results.stdio.get("raw"), results.stdio.get("upstreams")
    if raw is None or ours is None:
        return Verdict(what=what, target=target, measured="-", verdict=UNKNOWN)
    share = ours.rps / raw.rps
    measured = f"{share:.0%} ({ours.rps:,.0f}/s of {raw.rps:,.0f}/s)"
    return Verdict(
        what=what, target=target, measured=measured, verdict=MET if share >= 0.7 else MISSED
    )


def _spread(results: Results) -> Verdict:
    what, target = "two workers on two cores, 64 connections", "to be stated"
    one, two = (results.find(name, SPREAD, 64) for name in (REMIT, REMIT_TWO))
    if one is None or two is None:
        return Verdict(what=what, target=target, measured="-", verdict=UNKNOWN)
    times = two.middle("rate") / one.middle("rate")
    rates = f"{two.middle('rate'):,.0f}/s; one {one.middle('rate'):,.0f}/s"
    cpus = f"{two.middle('cpu'):,.0f} us a call; one {one.middle('cpu'):,.0f} us"
    measured = f"{times:.2f} times one ({rates}; {cpus})"
    return Verdict(what=what, target=target, measured=measured, verdict="stated")


def _memory(results: Results) -> Sequence[Verdict]:
    grown = next((one for one in results.growths if one.target == REMIT and one.calls), None)
    what = f"memory of a worker after {grown.calls[-1] if grown else 1_000_000:,} calls"
    if grown is None:
        return (Verdict(what=what, target="< 90 MiB, flat", measured="-", verdict=UNKNOWN),)
    half, last = grown.resident[len(grown.resident) // 2], grown.resident[-1]
    low = MET if last < MOST_RESIDENT else MISSED
    flat = MET if last <= half * FLAT else MISSED
    return (
        Verdict(what=what, target="< 90 MiB", measured=f"{last:.1f} MiB", verdict=low),
        Verdict(what="the same", target="flat", measured=_course(grown), verdict=flat),
    )


def _course(grown: Growth) -> str:
    half = len(grown.resident) // 2
    first, middle, last = grown.resident[0], grown.resident[half], grown.resident[-1]
    return f"{first:.1f} MiB at first, {middle:.1f} half way, {last:.1f} at the end"


def _denied(results: Results) -> Verdict:
    def judge(denied: Cell, allowed: Cell) -> tuple[str, bool]:
        ours, theirs = denied.middle("cpu"), allowed.middle("cpu")
        return f"{ours:,.0f} us; allowed {theirs:,.0f} us", ours < theirs

    cells = [results.find(REMIT, what, 16) for what in (DENIED, CALL)]
    return _line("processor of a denied call", "less than an allowed one", cells, judge)


def start_of(values: Sequence[float]) -> float:
    """Return the median of what every round measured."""
    return float(median(values))
