"""Bar charts as SVG: the same figures give the same bytes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LEFT, RIGHT = 760, 170, 90
BAR, GAP, TOP = 16, 10, 62
COLOURS = ("#2b6cb0", "#dd6b20", "#718096")
FONT = "font-family='system-ui, sans-serif'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Bars that belong together; None is a figure that there is not."""

    label: str
    values: Sequence[float | None]


def bars(title: str, series: Sequence[str], groups: Sequence[Group]) -> str:
    """Return a chart with a logarithmic scale, since peers differ by hundreds of times.

    Args:
        title: With the unit.
        series: What the bars of a group are.
        groups: From top to bottom.
    """
    known = [value for group in groups for value in group.values if value]
    low = 10 ** math.floor(math.log10(min(known))) if known else 1
    high = max(known, default=10.0)
    step = BAR * len(series) + GAP
    height = TOP + step * len(groups) + 24
    parts = [
        (
            f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{height}'"
            f" viewBox='0 0 {WIDTH} {height}' role='img' aria-label='{escape(title)}'>"
        ),
        f"<rect width='{WIDTH}' height='{height}' fill='#ffffff'/>",
        _text(12, 22, title, size=15, weight="bold"),
        *_legend(series),
        *_grid(low, high, height),
    ]
    for at, group in enumerate(groups):
        parts += _group(group, TOP + at * step, low, high)
    return "\n".join((*parts, "</svg>", ""))


def _group(group: Group, y: float, low: float, high: float) -> Sequence[str]:
    middle = y + BAR * len(group.values) / 2 + 4
    parts = [_text(LEFT - 8, middle, group.label, anchor="end")]
    for at, value in enumerate(group.values):
        top = y + at * BAR
        if not value:
            parts.append(_text(LEFT + 4, top + 12, "-", colour="#718096"))
            continue
        width = max(2.0, _x(value, low, high) - LEFT)
        colour = COLOURS[at % len(COLOURS)]
        parts += [
            (
                f"<rect x='{LEFT}' y='{top:.0f}' width='{width:.1f}' height='{BAR - 2}'"
                f" fill='{colour}'/>"
            ),
            _text(LEFT + width + 5, top + 11, _figure(value), size=11),
        ]
    return parts


def _grid(low: float, high: float, height: float) -> Sequence[str]:
    parts: list[str] = []
    mark = low
    while mark <= high:
        x = _x(mark, low, high)
        parts += [
            f"<line x1='{x:.1f}' y1='{TOP - 6}' x2='{x:.1f}' y2='{height - 20}' stroke='#e2e8f0'/>",
            _text(x, height - 7, _figure(mark), size=10, anchor="middle", colour="#718096"),
        ]
        mark *= 10
    return parts


def _legend(series: Sequence[str]) -> Sequence[str]:
    if len(series) == 1:
        return ()
    parts: list[str] = []
    x = LEFT
    for at, name in enumerate(series):
        parts += [
            f"<rect x='{x}' y='33' width='11' height='11' fill='{COLOURS[at % len(COLOURS)]}'/>",
            _text(x + 16, 43, name, size=12),
        ]
        x += 34 + 7 * len(name)
    return parts


def _x(value: float, low: float, high: float) -> float:
    span = math.log10(high / low) or 1.0
    return LEFT + (WIDTH - LEFT - RIGHT) * math.log10(value / low) / span


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _text(
    x: float, y: float, text: str, *, size: int = 12, anchor: str = "start",
    weight: str = "normal", colour: str = "#1a202c",
) -> str:  # fmt: skip
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' {FONT} font-size='{size}' text-anchor='{anchor}'"
        f" font-weight='{weight}' fill='{colour}'>{escape(text)}</text>"
    )
