"""Page: who is kept out, of those that come with tokens."""

from typing import Final

from starlette.responses import Response

from remit.client import users
from remit.client.users import User
from remit.doors.console.forms import status_of
from remit.doors.console.page import ADMINISTRATORS, READERS, Action, Page
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails

_PATH: Final = "/users"
_MOST: Final = 100


async def show(visitor: Visitor) -> Response:
    """Show who is kept out, and whether somebody whose name is given is."""
    return await _shown(visitor, visitor.asked("name"))


async def disable(visitor: Visitor) -> Response:
    """Keep somebody out."""
    try:
        name = _name(visitor)
        user = await visitor.ask(users.disable(name, reason=visitor.sent("reason")))
    except ProblemDetails as problem:
        return await _shown(visitor, "", problem)
    return visitor.go(_PATH, said=f"{user.name} is kept out: whatever token it has is refused.")


async def enable(visitor: Visitor) -> Response:
    """Let somebody in again."""
    try:
        name = _name(visitor)
        user = await visitor.ask(users.enable(name, reason=visitor.sent("reason")))
    except ProblemDetails as problem:
        return await _shown(visitor, "", problem)
    return visitor.go(_PATH, said=f"{user.name} is let in again.")


def _name(visitor: Visitor) -> str:
    """Return who is meant.

    Raises:
        ProblemDetails: Nobody is.
    """
    name = visitor.sent("name")
    if not name:
        raise ProblemDetails("say whom you mean", status=400, code="", title="Something is missing")
    return name


async def _shown(visitor: Visitor, name: str, problem: ProblemDetails | None = None) -> Response:
    found: User | None = None
    if name:
        try:
            found = await visitor.ask(users.get(name))
        except ProblemDetails as refused:
            problem = refused
    cursor = visitor.asked("cursor")
    return visitor.render(
        "users.html",
        status=status_of(problem),
        here=visitor.url(_PATH),
        page=await visitor.ask(users.list_all(limit=_MOST, cursor=cursor or None)),
        cursor=cursor,
        name=name,
        found=found,
        given={each: visitor.sent(each) for each in ("name", "reason")},
        problem=problem,
    )


PAGE: Final = Page(
    key="users",
    path=_PATH,
    title="Users",
    group="People",
    show=show,
    who=READERS,
    actions=(
        Action(path=f"{_PATH}/disable", run=disable, who=ADMINISTRATORS, makes="users.disable"),
        Action(path=f"{_PATH}/enable", run=enable, who=ADMINISTRATORS, makes="users.enable"),
    ),
)
