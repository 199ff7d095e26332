"""Page: the credentials of callers: what each is for, how it stands, its end."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from starlette.responses import Response

from remit.client import authority, keys
from remit.client.keys import Key, MadeKey
from remit.client.me import ToolPage
from remit.doors.console import key_form
from remit.doors.console.forms import status_of
from remit.doors.console.page import ADMINISTRATORS, READERS, Action, Page
from remit.doors.console.rendering import as_part
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails

STATES: Final[Mapping[str, str]] = {
    "holds": "good",
    "ending": "warn",
    "expired": "plain",
    "revoked": "plain",
}
"""State of a key to the tone of its badge."""

PURPOSES: Final[Mapping[str, str]] = {
    "role": "role",
    "user_role": "user role",
    "service": "service",
    "agent": "agent",
    "admin": "administrator",
    "auditor": "auditor",
}
"""What a key may be for, as the API and as the page call it."""

OVERLAPS: Final[Sequence[tuple[str, str]]] = (
    ("0", "at once"),
    *(
        (str(int(span.total_seconds())), text)
        for span, text in (
            (timedelta(minutes=10), "in 10 minutes"),
            (timedelta(hours=1), "in an hour"),
            (timedelta(days=1), "in a day"),
            (timedelta(days=7), "in 7 days"),
            (timedelta(days=30), "in 30 days"),
        )
    ),
)
"""Seconds that an old secret goes on holding, and how the page says it."""

_PATH: Final = "/keys"
_CONFLICT: Final = 409
_MOST_TOOLS: Final = 200
_USABLE: Final = frozenset({"holds", "ending"})


async def show(visitor: Visitor) -> Response:
    """Show the keys that are as wanted, oldest first as they were made."""
    wanted = {name: visitor.asked(name) for name in ("text", "purpose", "state")}
    cursor = visitor.asked("cursor")
    operation = keys.list_all(
        text=wanted["text"],
        purpose=wanted["purpose"],
        state=wanted["state"],
        cursor=cursor or None,
    )
    page = await visitor.ask(operation)
    return visitor.render(
        "keys.html",
        page=page,
        wanted=wanted,
        cursor=cursor,
        states=STATES,
        purposes=PURPOSES,
    )


async def show_one(visitor: Visitor) -> Response:
    """Show one key, by its id: what it is for, what it may call, how it is ended."""
    return await _shown(visitor, await visitor.ask(keys.get(visitor.path["id"])))


async def rotate(visitor: Visitor) -> Response:
    """Give a key a new secret and show it: this answer alone holds it."""
    key = await visitor.ask(keys.get(visitor.path["id"]))
    try:
        await _check_newest(visitor, key)
        made = await visitor.ask(
            keys.rotate(key.name, overlap=_overlap(visitor), reason=visitor.sent("reason"))
        )
    except ProblemDetails as problem:
        return await _shown(visitor, key, problem)
    return key_form.show_made(visitor, made, replaced=key)


async def revoke(visitor: Visitor) -> Response:
    """End a key."""
    key = await visitor.ask(keys.get(visitor.path["id"]))
    try:
        await _check_newest(visitor, key)
        ended = await visitor.ask(keys.revoke(key.name, reason=visitor.sent("reason")))
    except ProblemDetails as problem:
        return await _shown(visitor, key, problem)
    said = f"The key {ended.name} is revoked: whoever has it is refused."
    return visitor.go(at(ended), said=said)


async def _shown(visitor: Visitor, key: Key, problem: ProblemDetails | None = None) -> Response:
    newest = await _newest(visitor, key)
    return visitor.render(
        "key.html",
        status=status_of(problem),
        here=visitor.url(at(key)),
        key=key,
        newest=newest,
        is_newest=newest.id == key.id,
        tools=await _tools(visitor, key),
        cursor=visitor.asked("cursor"),
        problem=problem,
        reason=visitor.sent("reason"),
        overlap=visitor.sent("overlap", "0"),
        states=STATES,
        overlaps=OVERLAPS,
        at=at,
    )


async def _tools(visitor: Visitor, key: Key) -> ToolPage | None:
    """Return what a key may call; None for one that may call nothing any more."""
    if key.state not in _USABLE:
        return None
    cursor = visitor.asked("cursor") or None
    operation = authority.tools(f"key:{key.name}", limit=_MOST_TOOLS, cursor=cursor)
    return await visitor.ask(operation)


async def _newest(visitor: Visitor, key: Key) -> Key:
    """Return the key that has that name now."""
    return await visitor.ask(keys.get(key.name))


async def _check_newest(visitor: Visitor, key: Key) -> None:
    """Refuse what was meant for a key that another one has replaced meanwhile.

    The API ends and replaces by name. A page that was loaded before, or is sent again, must not do
    that to a key that whoever sends it has never seen.

    Raises:
        ProblemDetails: It was.
    """
    if (await _newest(visitor, key)).id != key.id:
        raise ProblemDetails(
            "nothing was done: look at the one that has its name now, and decide again",
            status=_CONFLICT,
            code="",
            title="This key was replaced since the page was loaded",
        )


def _overlap(visitor: Visitor) -> float:
    """Return the seconds that were chosen.

    Raises:
        ProblemDetails: They are none of those to choose from.
    """
    chosen = visitor.sent("overlap", "0")
    if chosen not in dict(OVERLAPS):
        raise ProblemDetails(
            "choose how long the old secret goes on holding from the list", status=400, code=""
        )
    return float(chosen)


def at(key: Key | MadeKey) -> str:
    """Return where the page of a key is."""
    return f"{_PATH}/{as_part(key.id)}"


PAGE: Final = Page(
    key="keys",
    path=_PATH,
    title="Keys",
    group="People",
    show=show,
    who=READERS,
    actions=(
        *key_form.ACTIONS,
        Action(path=f"{_PATH}/{{id}}", run=show_one, who=READERS, method="GET"),
        Action(path=f"{_PATH}/{{id}}/rotate", run=rotate, who=ADMINISTRATORS, makes="keys.rotate"),
        Action(path=f"{_PATH}/{{id}}/revoke", run=revoke, who=ADMINISTRATORS, makes="keys.revoke"),
    ),
)
