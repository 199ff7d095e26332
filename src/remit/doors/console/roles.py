"""Page: roles, what each opens by which rule, and changing them with a look at who gains and loses.

Grants, which open and close beside the roles, have their part of it in `grants.py`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from remit.client import roles
from remit.client.roles import Role
from remit.doors.console import grants
from remit.doors.console.forms import status_of
from remit.doors.console.page import ADMINISTRATORS, READERS, Action, Page
from remit.doors.console.proposals import ETAG, Proposal, is_outdated, seen_after, settle, unguarded
from remit.doors.console.role_form import (
    DENIALS,
    NOTHING,
    Draft,
    entry_of,
    new_entry,
    patch_of,
)
from remit.doors.console.role_tools import (
    choices,
    declared_servers,
    oddities,
    seen_by,
    tools_for,
)
from remit.doors.console.stretches import stretch_of
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails

ROWS: Final = 25
"""Roles on a page of the list."""

LIST: Final = "/roles"
ONE: Final = "/roles/role"
EDIT: Final = "/roles/edit"
NEW: Final = "/roles/new"
DENY: Final = "/roles/deny"
REMOVE: Final = "/roles/remove"

DENIED: Final = "deny"
"""The layer of explicit denies."""


class Row(NamedTuple):
    """A role in the list.

    Attributes:
        seen: How many tools it sees.
    """

    role: Role
    servers: Sequence[str]
    seen: int
    odd: Sequence[str]


async def show(visitor: Visitor) -> Response:
    """Show every role, with how much each opens and what is odd about it."""
    found = await visitor.ask_all(roles.list_all())
    stretch = stretch_of(visitor, found, lambda one: f"{one.name} {one.description}", step=ROWS)
    declared = await declared_servers(visitor)
    offered = {tool.tool for tool, _ in await tools_for(visitor) if tool.available}
    rows = [
        Row(
            role=role,
            servers=servers_of(role),
            seen=await seen_by(visitor, role.name),
            odd=oddities(role, declared, offered),
        )
        for role in stretch.items
    ]
    return visitor.render("roles.html", rows=rows, stretch=stretch)


async def show_one(visitor: Visitor) -> Response:
    """Show what one role says, and the tools that it opens and does not, each with the rule."""
    name = visitor.asked("name")
    read = await visitor.ask_tagged(roles.get(name))
    decided = await tools_for(visitor, name)
    declared = await declared_servers(visitor)
    offered = {tool.tool for tool, _ in decided if tool.available}
    return visitor.render(
        "role.html",
        role=read.value,
        etag=read.etag,
        servers=servers_of(read.value),
        opened=[one for one in decided if one.is_open],
        denied=[one for one in decided if not one.is_open and one.layer == DENIED],
        closed=[one for one in decided if not one.is_open and one.layer != DENIED],
        odd=oddities(read.value, declared, offered),
    )


async def edit(visitor: Visitor) -> Response:
    """Show the form of a role."""
    read = await visitor.ask_tagged(roles.get(visitor.asked("name")))
    draft = Draft.of(read.value, await declared_servers(visitor))
    return await _form(visitor, read.value, draft, read.etag)


async def change(visitor: Visitor) -> Response:
    """Show what a changed role would do, or save it."""
    draft = Draft.sent(visitor)
    read = await visitor.ask_tagged(roles.get(draft.name))
    patch = patch_of(draft, read.value)

    async def again(problem: ProblemDetails | None) -> Response:
        seen = seen_after(visitor, problem, read.etag)
        return await _form(visitor, read.value, draft, seen, problem)

    proposal = Proposal(
        heading=f"Change role {draft.name}",
        action=EDIT,
        back=ONE,
        query={"name": draft.name},
        change=partial(roles.change, draft.name, patch),
        said=f"Role {draft.name} is changed",
        now=read.etag,
    )
    return await settle(visitor, proposal, again)


async def new(visitor: Visitor) -> Response:
    """Show an empty form."""
    return await _form(visitor, NOTHING, Draft(name=visitor.asked("name")), "")


async def create(visitor: Visitor) -> Response:
    """Show what a new role would do, or save it."""
    draft = Draft.sent(visitor)

    async def again(problem: ProblemDetails | None) -> Response:
        return await _form(visitor, NOTHING, draft, "", problem)

    proposal = Proposal(
        heading=f"New role {draft.name}",
        action=NEW,
        back=LIST,
        change=unguarded(partial(roles.create, draft.name, new_entry(draft))),
        said=f"Role {draft.name} is declared",
        now="",
    )
    return await settle(visitor, proposal, again)


async def deny(visitor: Visitor) -> Response:
    """Show what closing one tool to a role would do, or taking that back; or do it."""
    name, tool, takes_back = visitor.sent("name"), visitor.sent("tool"), visitor.is_sent("undo")
    read = await visitor.ask_tagged(roles.get(name))
    others = [pattern for pattern in read.value.deny if pattern != tool]
    proposal = Proposal(
        heading=f"{'Deny no more' if takes_back else 'Deny'} {tool} for role {name}",
        action=DENY,
        back=ONE,
        query={"name": name},
        change=partial(roles.change, name, {"deny": others if takes_back else [*others, tool]}),
        said=f"{tool} is {'not denied any more' if takes_back else 'denied'} for role {name}",
        now=read.etag,
    )
    return await settle(visitor, proposal)


async def remove(visitor: Visitor) -> Response:
    """Show what declaring a role no more would do, or do it."""
    name = visitor.sent("name")
    read = await visitor.ask_tagged(roles.get(name))
    proposal = Proposal(
        heading=f"Remove role {name}",
        action=REMOVE,
        back=ONE,
        then=LIST,
        query={"name": name},
        change=partial(roles.remove, name),
        said=f"Role {name} is removed",
        now=read.etag,
        note="Keys, agents and users that have the role can do nothing by it afterwards.",
    )
    return await settle(visitor, proposal)


def servers_of(role: Role) -> Sequence[str]:
    """Return the servers that a role names in any way."""
    literal = [pattern.partition("/")[0] for pattern in role.allow if "/" in pattern]
    named = (*role.mcp_servers, *role.tools, *(one for one in literal if "*" not in one))
    return list(dict.fromkeys(named))


async def _form(
    visitor: Visitor, role: Role, draft: Draft, etag: str, problem: ProblemDetails | None = None
) -> Response:
    servers = choices(await declared_servers(visitor), await tools_for(visitor), role)
    now: dict[str, Any] = entry_of(Draft.of(role, ()), role) if is_outdated(problem) else {}
    return visitor.render(
        "role_form.html",
        status=status_of(problem),
        role=role,
        draft=draft,
        servers=servers,
        denials=DENIALS,
        etag_field=ETAG,
        etag=etag,
        problem=problem,
        now=now,
        is_new=not role.name,
    )


PAGE: Final = Page(
    key="roles",
    path=LIST,
    title="Roles and grants",
    group="Access",
    show=show,
    who=READERS,
    actions=(
        Action(path=ONE, run=show_one, who=READERS, method="GET"),
        Action(path=EDIT, run=edit, who=ADMINISTRATORS, method="GET"),
        Action(path=EDIT, run=change, who=ADMINISTRATORS, makes="roles.change"),
        Action(path=NEW, run=new, who=ADMINISTRATORS, method="GET"),
        Action(path=NEW, run=create, who=ADMINISTRATORS, makes="roles.create"),
        Action(path=DENY, run=deny, who=ADMINISTRATORS, makes="roles.change"),
        Action(path=REMOVE, run=remove, who=ADMINISTRATORS, makes="roles.remove"),
        *grants.ACTIONS,
    ),
)
