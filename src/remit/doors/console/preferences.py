"""What a visitor prefers, kept in its browser: colours, and which tenant it looks at."""

from typing import Final

from starlette.responses import Response

from remit.client import tenants
from remit.doors.console.page import EVERYBODY, READERS, Action
from remit.doors.console.rendering import THEME
from remit.doors.console.sign_in_page import safe_next
from remit.doors.console.visitor import TENANT, Visitor

YEAR: Final = 365 * 24 * 3600
"""Seconds that a choice of colours is kept."""


async def change_theme(visitor: Visitor) -> Response:
    """Show everything light, dark, or as the browser prefers."""
    response = visitor.go("/")
    back = safe_next(visitor.sent("back").removeprefix(visitor.prefix))
    response.headers["location"] = f"{visitor.prefix}{back}"
    theme = visitor.sent("theme")
    is_chosen = theme in {"light", "dark"}
    cookie = (
        THEME.set_to(theme, visitor.base, seconds=YEAR) if is_chosen else THEME.gone(visitor.base)
    )
    response.headers.append("set-cookie", cookie)
    return response


async def change_tenant(visitor: Visitor) -> Response:
    """Look at another tenant.

    Raises:
        ProblemDetails: There is none of that name, or it is not for this visitor.
    """
    tenant = await visitor.ask(tenants.get(visitor.sent("tenant")))
    response = visitor.go("/me", said=f"You look at the tenant {tenant.name}.")
    response.headers.append("set-cookie", TENANT.set_to_text(tenant.name, visitor.base))
    return response


PREFERENCES: Final = (
    Action(path="/theme", run=change_theme, who=EVERYBODY, is_of_tenant=False),
    Action(path="/tenant", run=change_tenant, who=READERS, is_of_tenant=False),
)
