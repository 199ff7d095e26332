"""Charts as SVG, drawn on the server: no script, no inline style, a text beside each.

Colours come from classes (`console.css`); numbers are in titles and in the table that the page
shows with it, so that a chart is never the only way to read something.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup, escape

WIDTH: Final = 600
HEIGHT: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One kind of value over time.

    Attributes:
        label: What it is.
        tone: Class of its colour: `calls`, `denied` or `errors`.
        values: One for each place of the axis.
    """

    label: str
    tone: str
    values: Sequence[float]


def bars(label: str, places: Sequence[str], series: Sequence[Series]) -> Markup:
    """Return stacked bars.

    Args:
        label: What the chart shows, for those who cannot see it.
        places: What each place of the axis is called.
        series: From the bottom up; each as long as *places*.
    """
    most = max((sum(each.values[i] for each in series) for i in range(len(places))), default=0)
    step = WIDTH / max(len(places), 1)
    drawn: list[str] = []
    for i, place in enumerate(places):
        top = float(HEIGHT)
        told = ", ".join(f"{each.values[i]:g} {each.label}" for each in series)
        parts: list[str] = []
        for each in series:
            height = HEIGHT * each.values[i] / most if most else 0.0
            top -= height
            if height:
                parts.append(
                    f'<rect class="tone-{escape(each.tone)}" x="{i * step + 0.5:.1f}"'
                    f' y="{top:.1f}" width="{max(step - 1, 0.5):.1f}" height="{height:.1f}"/>'
                )
        drawn.append(f"<g><title>{escape(place)}: {escape(told)}</title>{''.join(parts)}</g>")
    return Markup(  # noqa: S704 - every text in it is escaped above
        f'<svg class="chart" role="img" aria-label="{escape(label)}" preserveAspectRatio="none"'
        f' viewBox="0 0 {WIDTH} {HEIGHT}">{"".join(drawn)}</svg>'
    )


def meter(value: float, most: float, tone: str = "calls") -> Markup:
    """Return a bar whose length is *value* of *most*; the number stands beside it in the page."""
    width = 100 * value / most if most else 0
    return Markup(  # noqa: S704 - numbers, and a class that is escaped
        '<svg class="meter" aria-hidden="true" viewBox="0 0 100 6" preserveAspectRatio="none">'
        f'<rect class="tone-{escape(tone)}" width="{min(width, 100):.1f}" height="6" rx="2"/></svg>'
    )
