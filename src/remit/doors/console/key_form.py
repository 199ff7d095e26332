"""A key is made: form, and the one page that shows its secret."""

from collections.abc import Sequence
from typing import Any, Final

from starlette.responses import Response

from remit.client import agents, keys, roles
from remit.client.keys import Key, MadeKey
from remit.client.operations import Operation
from remit.doors.console.agents import MOST
from remit.doors.console.forms import status_of
from remit.doors.console.page import ADMINISTRATORS, Action
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails
from remit.model.principals import UserRole

NEW: Final = "/keys/-new"
"""Where a key is made; no key's id begins with `-`."""

KINDS: Final[Sequence[tuple[str, str]]] = (
    ("role", "A role: calls what the role may"),
    ("user_role", "A user role: works with the data server"),
    ("service", "A service: runs approved queries, and nothing else"),
    ("agent", "An agent: is that agent"),
    ("admin", "An administrator: changes everything here, calls no tool"),
    ("auditor", "An auditor: reads everything here, changes nothing, calls no tool"),
)
"""What a key may be for: value and text."""

SPANS: Final[Sequence[tuple[str, str]]] = (
    ("1d", "in a day"),
    ("7d", "in 7 days"),
    ("30d", "in 30 days"),
    ("90d", "in 90 days"),
    ("365d", "in a year"),
    ("other", "at another time"),
    ("", "never"),
)
"""When a key ends, as the API and as the page say it."""

USUAL_SPAN: Final = "90d"

FIELDS: Final = (
    "name", "kind", "role", "with_user_role", "user_role", "queries", "agent", "owner", "expires",
    "until", "reason",
)  # fmt: skip
"""Every field of the form that is there once."""


async def show_new(visitor: Visitor) -> Response:
    """Show the form; `agent` in the query is the agent that the key is for."""
    given = dict.fromkeys(FIELDS, "") | {"kind": "role", "expires": USUAL_SPAN}
    if agent := visitor.asked("agent"):
        given |= {"kind": "agent", "agent": agent}
    if role := visitor.asked("role"):
        given |= {"kind": "role", "role": role}
    return await _form(visitor, given)


async def create(visitor: Visitor) -> Response:
    """Make the key and show it, or the form again with what was entered."""
    given = {name: visitor.sent(name) for name in FIELDS}
    try:
        made = await visitor.ask(_operation(visitor, given))
    except ProblemDetails as problem:
        return await _form(visitor, given, problem)
    return show_made(visitor, made)


def show_made(visitor: Visitor, made: MadeKey, *, replaced: Key | None = None) -> Response:
    """Show a key with its secret: no other answer has it, and no cookie, address or log."""
    return visitor.render(
        "key_made.html",
        here=visitor.url("/keys"),
        made=made,
        replaced=replaced,
        endpoint=f"{visitor.base}/mcp",
    )


def _operation(visitor: Visitor, given: dict[str, str]) -> Operation[MadeKey]:
    """Return what makes the key; fields of another kind than the chosen do not count.

    Raises:
        ProblemDetails: What the kind needs is not there.
    """
    kind = given["kind"]
    purpose: dict[str, Any]
    match kind:
        case "role":
            purpose = {"role": given["role"], "user_role": given["with_user_role"] or None}
        case "user_role" | "agent":
            purpose = {kind: given[kind]}
        case "service":
            purpose = {"service": True, "queries": given["queries"].split()}
        case "admin" | "auditor":
            purpose = {kind: True}
        case _:
            raise _incomplete("choose what the key is for")
    if kind in purpose and not purpose[kind]:
        raise _incomplete(f"choose the {kind.replace('_', ' ')} that the key is for")
    expires = given["until"] if given["expires"] == "other" else given["expires"]
    if given["expires"] == "other" and not expires:
        raise _incomplete("say when the key ends: a span such as 12h, or a time")
    return keys.create(
        given["name"],
        **purpose,
        act_for=_act_for(visitor),
        owner=given["owner"] or None,
        expires=expires or None,
        reason=given["reason"],
    )


def _act_for(visitor: Visitor) -> Sequence[str]:
    """Return the agents that were ticked, or typed one a line where there are too many for that."""
    return [agent for text in visitor.all_sent("act_for") for agent in text.split()]


def _incomplete(detail: str) -> ProblemDetails:
    return ProblemDetails(detail, status=400, code="", title="Something is missing")


async def _form(
    visitor: Visitor, given: dict[str, str], problem: ProblemDetails | None = None
) -> Response:
    some = await visitor.ask(agents.list_all(limit=MOST))
    return visitor.render(
        "key_form.html",
        status=status_of(problem),
        here=visitor.url("/keys"),
        given=given,
        act_for=_act_for(visitor),
        problem=problem,
        kinds=KINDS,
        spans=SPANS,
        roles=await visitor.ask_all(roles.list_all()),
        user_roles=[role.value for role in UserRole],
        agents=[agent.id for agent in some.items],
        has_more_agents=some.next is not None,
    )


ACTIONS: Final = (
    Action(path=NEW, run=show_new, who=ADMINISTRATORS, method="GET"),
    Action(path=NEW, run=create, who=ADMINISTRATORS, makes="keys.create"),
)
"""They belong to the page "Keys"."""
