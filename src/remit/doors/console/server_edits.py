"""Servers are declared, changed and removed: form, preview of who gains and loses what, saving.

form ──▶ POST ──▶ dry run ──▶ preview ──▶ POST, step=save ──▶ revision
  ▲        └── refused, or wrong already: the form again, as it was filled in
  └── step=again: change it further
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from starlette.responses import Response

from remit.calls.redact import REDACTED
from remit.client import servers
from remit.client.edits import Edited
from remit.client.operations import Operation
from remit.doors.console.page import ADMINISTRATORS, Action
from remit.doors.console.proposals import AGAIN, ETAG, STEP, Proposal, is_outdated, settle
from remit.doors.console.rendering import as_part
from remit.doors.console.server_fields import FIELDS, TRANSPORTS, WAYS
from remit.doors.console.server_forms import (
    Entered,
    Entry,
    entered,
    kept,
    patch,
    problems_by_field,
    seen_in,
    shown,
)
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails

NEW: Final = "/servers/-new"
"""Where a server is added; no server's name begins with `-`."""

_UNKNOWN: Final = (
    "What it offers is known once it is connected, so who gains and loses tools is seen only then."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A form of a server, as it is filled in.

    Attributes:
        name: Of the server.
        is_new: Whether it is not declared yet.
        seen: Its entry when the form was loaded, secrets masked; `{}` of a new one.
        etag: Of the declaration at that time.
        entered: What stands in the fields.
        meanwhile: Members that somebody else has changed since.
    """

    name: str
    is_new: bool
    seen: Entry
    etag: str = ""
    entered: Entered
    meanwhile: Sequence[str] = ()

    @property
    def path(self) -> str:
        """Where it is sent."""
        return NEW if self.is_new else f"{_at(self.name)}/edit"

    @property
    def back(self) -> str:
        """Where the visitor came from."""
        return "/servers" if self.is_new else _at(self.name)

    @property
    def is_moved(self) -> bool:
        """Whether another program or address is named, which may offer other tools."""
        way = WAYS[self.entered.transport]
        return self.entered.values.get(way) != shown(self.seen).values.get(way)

    def operation(self, *, if_match: str, dry_run: bool, reason: str) -> Operation[Edited]:
        """Return what does what was entered."""
        changed = patch(self.seen, self.entered)
        if self.is_new:
            return servers.create(self.name, changed, dry_run=dry_run, reason=reason)
        return servers.change(self.name, changed, if_match=if_match, dry_run=dry_run, reason=reason)


async def show_new(visitor: Visitor) -> Response:
    """Show the form of a server that is not declared yet."""
    bundled = visitor.asked("builtin")
    entry = {"builtin": bundled} if bundled else {}
    return await _form(visitor, Draft(name=bundled, is_new=True, seen={}, entered=shown(entry)))


async def show_edit(visitor: Visitor) -> Response:
    """Show the form of a server."""
    name = visitor.path["name"]
    tagged = await visitor.ask_tagged(servers.get(name))
    entry = tagged.value.declared
    draft = Draft(name=name, is_new=False, seen=entry, etag=tagged.etag, entered=shown(entry))
    return await _form(visitor, draft)


async def create(visitor: Visitor) -> Response:
    """Preview or declare what was entered of a new server."""
    name = visitor.sent("name")
    return await _settle(
        visitor, Draft(name=name, is_new=True, seen={}, entered=entered(visitor.form, {}))
    )


async def change(visitor: Visitor) -> Response:
    """Preview or make the changes that were entered."""
    seen = seen_in(visitor.sent("seen"))
    draft = Draft(
        name=visitor.path["name"],
        is_new=False,
        seen=seen,
        etag=visitor.sent(ETAG),
        entered=entered(visitor.form, seen),
    )
    return await _settle(visitor, draft)


async def change_access(visitor: Visitor) -> Response:
    """Preview or make the change of a server's default access (S4.28)."""
    name, wanted = visitor.path["name"], visitor.sent("default_access")
    proposal = Proposal(
        heading=f"{name}: {wanted} by default",
        action=f"{_at(name)}/access",
        back=_at(name),
        change=partial(servers.change, name, {"default_access": wanted}),
        said=f"The default access of {name} is {wanted} now",
        now=(await visitor.ask_tagged(servers.get(name))).etag,
    )
    return await settle(visitor, proposal)


async def remove(visitor: Visitor) -> Response:
    """Preview or do away with a server."""
    name = visitor.path["name"]
    proposal = Proposal(
        heading=f"Remove {name}",
        action=f"{_at(name)}/remove",
        back=_at(name),
        then="/servers",
        change=partial(servers.remove, name),
        said=f"{name} is removed",
        now=(await visitor.ask_tagged(servers.get(name))).etag,
    )
    return await settle(visitor, proposal)


async def _settle(visitor: Visitor, draft: Draft) -> Response:
    """Do what a form says, or show it again as it was filled in."""

    async def again(problem: ProblemDetails | None) -> Response:
        is_late = is_outdated(problem)
        return await _form(visitor, await _caught_up(visitor, draft) if is_late else draft, problem)

    if draft.entered.problems and visitor.sent(STEP) != AGAIN:
        return await again(None)
    proposal = Proposal(
        heading=f"Add {draft.name}" if draft.is_new else f"Change {draft.name}",
        action=draft.path,
        back=draft.back,
        then=_at(draft.name),
        change=draft.operation,
        said=f"{draft.name} is {'added' if draft.is_new else 'changed'}",
        now=draft.etag,
        note=_UNKNOWN if draft.is_moved else "",
    )
    return await settle(visitor, proposal, again)


async def _caught_up(visitor: Visitor, draft: Draft) -> Draft:
    """Return a draft that counts from what is declared now; only what was entered is changed."""
    tagged = await visitor.ask_tagged(servers.get(draft.name))
    now = tagged.value.declared
    differing = {
        key for key in now.keys() | draft.seen.keys() if now.get(key) != draft.seen.get(key)
    }
    return replace(draft, etag=tagged.etag, meanwhile=sorted(differing))


async def _form(visitor: Visitor, draft: Draft, problem: ProblemDetails | None = None) -> Response:
    told = problem.problems if problem else ()
    problems = {**problems_by_field(draft.name, told), **draft.entered.problems}
    return visitor.render(
        "server_form.html",
        status=problem.status or 400 if problem else 422 if problems else 200,
        draft=draft,
        problem=problem,
        problems=problems,
        kept=kept(draft.seen),
        rare_open=any(each.is_rare and each.key in problems for each in FIELDS),
        fields=FIELDS,
        transports=TRANSPORTS,
        bundled=await _bundled(visitor, draft.entered.values.get("builtin", "")),
        seen=json.dumps(draft.seen),
        masked=REDACTED,
    )


async def _bundled(visitor: Visitor, chosen: object) -> Sequence[tuple[str, str]]:
    """Return the choices of built-in servers; one that is no longer there stays a choice."""
    known = await visitor.ask_all(servers.bundled())
    choices = {"": "choose one"} | {each.name: f"{each.name}: {each.description}" for each in known}
    return tuple(({str(chosen): str(chosen)} | choices).items())


def _at(name: str) -> str:
    return f"/servers/{as_part(name)}"


ACTIONS: Final = (
    Action(path=NEW, run=show_new, who=ADMINISTRATORS, method="GET"),
    Action(path=NEW, run=create, who=ADMINISTRATORS, makes="servers.create"),
    Action(path="/servers/{name}/edit", run=show_edit, who=ADMINISTRATORS, method="GET"),
    Action(path="/servers/{name}/edit", run=change, who=ADMINISTRATORS, makes="servers.change"),
    Action(
        path="/servers/{name}/access", run=change_access, who=ADMINISTRATORS, makes="servers.change"
    ),
    Action(path="/servers/{name}/remove", run=remove, who=ADMINISTRATORS, makes="servers.remove"),
)
"""They belong to the page "Servers"."""
