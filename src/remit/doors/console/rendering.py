"""From a template to a page: the environment of Jinja2, and what every template can use."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from remit.doors.console import charts
from remit.doors.console.cookies import PREFIX, Cookie
from remit.doors.console.forms import page_of
from remit.doors.console.page import Page

if TYPE_CHECKING:
    from remit.doors.console.visitor import Visitor

CONTENT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""Nothing but files of ours runs, colours or is asked, and no other page frames ours."""

HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": CONTENT_POLICY,
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
}

NOTHING: Final = "\N{EM DASH}"
"""Stands where there is no value."""

_SHOWN_AS_ARE: Final = "\n\t"
_DIRECTIONS: Final = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
"""What ends a line, or turns a text around, without being seen."""

_CONTROLS: Final = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in _SHOWN_AS_ARE},
    0x7F: 0x2421,
    **dict.fromkeys([*range(0x80, 0xA0), *_DIRECTIONS], 0xFFFD),
}
"""Characters that would act instead of being seen, each to a picture of it."""

THEME: Final = Cookie("remit_theme")
"""`light` or `dark`; without it as the browser prefers."""


class Rendering:
    """Renders templates.

    Args:
        pages: What the navigation may lead to.
    """

    def __init__(self, pages: Sequence[Page]) -> None:
        self._pages = pages
        self._environment = Environment(
            loader=PackageLoader("remit.doors.console"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            finalize=as_shown,
        )
        self._environment.filters |= {
            "time": as_time,
            "number": as_number,
            "ms": as_milliseconds,
            "bytes": as_bytes,
            "pretty": as_pretty,
            "part": as_part,
        }
        self._always: Mapping[str, Any] = {
            "charts": charts,
            "version": asset_version(),
        }

    def page(self, visitor: "Visitor", template: str, *, status: int, **context: Any) -> Response:
        """Return a page for somebody who is signed in."""
        return self._respond(
            THEME.read(visitor.request.cookies, visitor.base),
            template,
            status,
            {
                "said": visitor.said,
                "csrf": visitor.signed_in.csrf,
                "here": visitor.request.url.path,
                "back": page_of(visitor.request, visitor.base),
                **self._of(visitor),
                **context,
            },
        )

    def part(self, visitor: "Visitor", template: str, **context: Any) -> Markup:
        """Return a part of a page, which is shown in it and sent again when it changes."""
        found = self._environment.get_template(template)
        text = found.render({**self._always, **self._of(visitor), **context})
        return Markup(text)  # noqa: S704 - the template escapes what it shows

    def plain(
        self, request: Request, template: str, *, base: str, status: int = 200, **context: Any
    ) -> Response:
        """Return a page for somebody who is not."""
        before = urlsplit(base).path + PREFIX

        def url(path: str) -> str:
            return before + path

        return self._respond(
            THEME.read(request.cookies, base), template, status, {"url": url, **context}
        )

    def _respond(
        self, theme: str, template: str, status: int, context: Mapping[str, Any]
    ) -> Response:
        text = self._environment.get_template(template).render(
            {**self._always, **context}, theme=theme if theme in {"light", "dark"} else ""
        )
        return HTMLResponse(text, status_code=status, headers=dict(HEADERS))

    def _of(self, visitor: "Visitor") -> Mapping[str, Any]:
        groups = self._navigation(visitor)
        paths = frozenset(page.path for pages in groups.values() for page in pages)
        return {
            "visitor": visitor,
            "url": visitor.url,
            "groups": groups,
            "sees": paths.__contains__,
        }

    def _navigation(self, visitor: "Visitor") -> Mapping[str, Sequence[Page]]:
        groups: dict[str, list[Page]] = {}
        for page in self._pages:
            if visitor.is_one_of(page.who):
                groups.setdefault(page.group, []).append(page)
        return groups


@cache
def asset_version() -> str:
    """Return what changes when a style or script does, so that browsers may keep them."""
    digest = hashlib.sha256()
    for name in ("console.css", "console.js"):
        digest.update(files("remit.doors.console").joinpath("static", name).read_bytes())
    return digest.hexdigest()[:12]


def as_time(value: datetime | None) -> Markup | str:
    """Return a moment that the page shows in the reader's zone; a dash for none."""
    if value is None:
        return NOTHING
    moment = value.astimezone(UTC)
    return Markup('<time datetime="{}">{}</time>').format(
        moment.isoformat(timespec="milliseconds"), moment.strftime("%Y-%m-%d %H:%M:%S UTC")
    )


def as_number(value: float | None) -> str:
    """Return a number with thousands apart; a dash for none."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def as_milliseconds(value: float | None) -> str:
    """Return milliseconds as a person reads them."""
    if value is None:
        return NOTHING
    if value >= 1000:  # noqa: PLR2004 - a second
        return f"{value / 1000:,.1f} s"
    return f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"  # noqa: PLR2004 - two digits


def as_bytes(value: int | None) -> str:
    """Return a size as a person reads it."""
    if value is None:
        return NOTHING
    size = float(value)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:  # noqa: PLR2004 - binary units
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def as_pretty(value: object) -> str:
    """Return JSON, or a text that holds some, over several lines; another text as it is."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return str(value)
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def as_part(value: str) -> str:
    """Return a name as one part of a path."""
    return value.replace(".", "%2E") if not value.strip(".") else quote(value, safe="")


def as_visible(text: str) -> str:
    """Return a text whose control characters can be seen, and do nothing; lines end as here."""
    return text if text.isprintable() else text.replace("\r\n", "\n").translate(_CONTROLS)


def as_shown(value: object) -> object:
    """Return what a template prints: of a text what can be seen, unless it is escaped already.

    So nobody has to think of it who writes a template. What a form sends again is `value|e`.
    """
    return as_visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
