"""Page: who am I here, which tools do I see, and which tenant do I look at?"""

from typing import Final

from starlette.responses import Response

from remit.client import me, tenants
from remit.doors.console.forms import status_of
from remit.doors.console.page import ADMINISTRATORS, EVERYBODY, Action, Page
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails


async def show(visitor: Visitor) -> Response:
    """Show the visitor itself; administering opens no tool (R12), so its list may be empty."""
    return await _page(visitor)


async def create_tenant(visitor: Visitor) -> Response:
    """Make a tenant."""
    try:
        made = await visitor.ask(tenants.create(visitor.sent("name")))
    except ProblemDetails as problem:
        return await _page(visitor, problem)
    return visitor.go("/me", said=f"The tenant {made.name} is there.")


async def _page(visitor: Visitor, problem: ProblemDetails | None = None) -> Response:
    every = await visitor.ask_all(tenants.list_all()) if visitor.crosses_tenants else []
    return visitor.render(
        "me.html",
        status=status_of(problem),
        who=await visitor.ask(me.get()),
        tools=await visitor.ask(me.tools(limit=200, cursor=visitor.asked("cursor") or None)),
        tenants=every,
        problem=problem,
    )


PAGE: Final = Page(
    key="me",
    path="/me",
    title="Me",
    group="You",
    show=show,
    who=EVERYBODY,
    actions=(
        Action(
            path="/tenants",
            run=create_tenant,
            who=ADMINISTRATORS,
            is_of_tenant=False,
            makes="tenants.create",
        ),
    ),
)
