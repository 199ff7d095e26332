"""Grants and groups, the other half of the page of roles: what is opened or closed beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, NamedTuple, cast

from starlette.responses import Response

from remit.client import declaration, grants, roles
from remit.client.grants import Grant
from remit.doors.console.forms import status_of
from remit.doors.console.page import ADMINISTRATORS, READERS, Action
from remit.doors.console.proposals import ETAG, Proposal, is_outdated, seen_after, settle, unguarded
from remit.doors.console.role_tools import declared_servers
from remit.doors.console.stretches import stretch_of
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails

ROWS: Final = 100
"""Grants on a page of the list."""

LIST: Final = "/roles/grants"
NEW: Final = "/roles/grants/new"
EDIT: Final = "/roles/grants/edit"
REMOVE: Final = "/roles/grants/remove"

EVERYBODY: Final = "everyone"
KINDS: Final = (
    ("user", "user"),
    ("group", "group"),
    ("agent", "agent"),
    ("key", "key"),
    ("role", "role"),
    (EVERYBODY, "everybody"),
)
"""Whom a grant may be about."""

EFFECTS: Final = (("deny", "deny: close it"), ("allow", "allow: open the server"))

NOTE: Final = (
    "Compared are roles, user roles and agent types, each alone, and whom the grant names: a key or"
    " an agent as it is now, a user or a group alone and with each role that a token may name."
)


class Row(NamedTuple):
    """A grant in the list.

    Attributes:
        state: `in force`, `ended` or `switched off`.
    """

    grant: Grant
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a form says of a grant; empty where nothing was entered."""

    kind: str = "user"
    subject: str = ""
    effect: str = "deny"
    server: str = ""
    tool: str = ""
    until: str = ""
    enabled: bool = True

    @classmethod
    def of(cls, grant: Grant) -> "Draft":
        """Return what the form shows of a declared grant."""
        kind, _, name = grant.subject.partition(":")
        until = grant.until.astimezone(UTC).isoformat() if grant.until else ""
        return cls(
            kind=kind if name else EVERYBODY,
            subject=name,
            effect=grant.effect,
            server=grant.server,
            tool=grant.tool,
            until=until.replace("+00:00", "Z"),
            enabled=grant.enabled,
        )

    @classmethod
    def sent(cls, visitor: Visitor) -> "Draft":
        """Return what was sent."""
        return cls(
            kind=visitor.sent("kind"),
            subject=visitor.sent("subject"),
            effect=visitor.sent("effect"),
            server=visitor.sent("server"),
            tool=visitor.sent("tool"),
            until=visitor.sent("until"),
            enabled=visitor.is_sent("enabled"),
        )

    def entry(self) -> Mapping[str, Any]:
        """Return what `grants` of a declaration has; what does not fit the API refuses."""
        whom = {self.kind: True} if self.kind == EVERYBODY else {self.kind: self.subject}
        said = {"server": self.server, "tool": self.tool, "until": self.until}
        entry: dict[str, Any] = {**whom, "effect": self.effect}
        entry |= {key: text for key, text in said.items() if text}
        return entry if self.enabled else {**entry, "enabled": False}


async def show(visitor: Visitor) -> Response:
    """Show every grant, those that have ended, too, and the groups that grants are about."""
    now = datetime.now(UTC)
    found = await visitor.ask_all(grants.list_all())
    stretch = stretch_of(visitor, found, _text_of, step=ROWS)
    whole = await visitor.ask(declaration.get())
    return visitor.render(
        "grants.html",
        rows=[Row(grant, _state(grant, now)) for grant in stretch.items],
        stretch=stretch,
        etag=(await visitor.ask_tagged(grants.list_all(limit=1))).etag,
        members=_groups(whole),
    )


def _text_of(grant: Grant) -> str:
    return f"{grant.subject} {grant.effect} {grant.server or grant.tool}"


async def new(visitor: Visitor) -> Response:
    """Show an empty form, or one with what the link to it says."""
    draft = Draft(
        kind=visitor.asked("kind", "user"),
        subject=visitor.asked("subject"),
        tool=visitor.asked("tool"),
        server=visitor.asked("server"),
    )
    return await _form(visitor, "", draft, "")


async def create(visitor: Visitor) -> Response:
    """Show what a new grant would do, or save it."""
    draft = Draft.sent(visitor)

    async def again(problem: ProblemDetails | None) -> Response:
        return await _form(visitor, "", draft, "", problem)

    proposal = Proposal(
        heading="New grant",
        action=NEW,
        back=LIST,
        change=unguarded(partial(grants.create, draft.entry())),
        said="The grant is declared",
        now="",
        note=NOTE,
    )
    return await settle(visitor, proposal, again)


async def edit(visitor: Visitor) -> Response:
    """Show the form of a grant."""
    grant = visitor.asked("id")
    read = await visitor.ask_tagged(grants.get(grant))
    return await _form(visitor, grant, Draft.of(read.value), read.etag)


async def change(visitor: Visitor) -> Response:
    """Show what a changed grant would do, or save it."""
    grant, draft = visitor.sent("id"), Draft.sent(visitor)
    etag = (await visitor.ask_tagged(grants.list_all(limit=1))).etag

    async def again(problem: ProblemDetails | None) -> Response:
        seen = seen_after(visitor, problem, etag)
        return await _form(visitor, grant, draft, seen, problem)

    proposal = Proposal(
        heading="Change a grant",
        action=EDIT,
        back=LIST,
        change=partial(grants.replace, grant, draft.entry()),
        said="The grant is changed",
        now=etag,
        note=NOTE,
    )
    return await settle(visitor, proposal, again)


async def remove(visitor: Visitor) -> Response:
    """Show what taking a grant out would do, or do it."""
    grant = visitor.sent("id")
    read = await visitor.ask_tagged(grants.get(grant))
    proposal = Proposal(
        heading=f"Remove the grant for {read.value.subject}",
        action=REMOVE,
        back=LIST,
        change=partial(grants.remove, grant),
        said="The grant is removed",
        now=read.etag,
        note=NOTE,
    )
    return await settle(visitor, proposal)


async def _form(
    visitor: Visitor, grant: str, draft: Draft, etag: str, problem: ProblemDetails | None = None
) -> Response:
    declared = await declared_servers(visitor)
    named = [role.name for role in await visitor.ask_all(roles.list_all())]
    servers = [("", "by a pattern over tools, below"), *((name, name) for name in declared)]
    if draft.server and draft.server not in declared:
        servers.append((draft.server, f"{draft.server} (not declared)"))
    return visitor.render(
        "grant_form.html",
        status=status_of(problem),
        grant=grant,
        draft=draft,
        kinds=KINDS,
        effects=EFFECTS,
        servers=servers,
        roles=named,
        etag_field=ETAG,
        etag=etag,
        problem=problem,
        now=await _now(visitor, grant) if is_outdated(problem) else "",
    )


async def _now(visitor: Visitor, grant: str) -> str:
    """Return what is declared of a grant that somebody else may have changed meanwhile."""
    try:
        found = await visitor.ask(grants.get(grant))
    except ProblemDetails:
        return "the grant is not declared any more: make a new one, or leave it"
    what = found.server or found.tool
    return f"{found.effect} {what} for {found.subject}"


def _state(grant: Grant, now: datetime) -> str:
    if not grant.enabled:
        return "switched off"
    return "ended" if grant.until is not None and grant.until <= now else "in force"


def _groups(document: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
    found = document.get("groups")
    if not isinstance(found, Mapping):
        return {}
    groups = cast("Mapping[str, object]", found)
    return {
        name: [str(one) for one in cast("list[object]", members)]
        for name, members in groups.items()
        if isinstance(members, list)
    }


ACTIONS: Final = (
    Action(path=LIST, run=show, who=READERS, method="GET"),
    Action(path=NEW, run=new, who=ADMINISTRATORS, method="GET"),
    Action(path=NEW, run=create, who=ADMINISTRATORS, makes="grants.create"),
    Action(path=EDIT, run=edit, who=ADMINISTRATORS, method="GET"),
    Action(path=EDIT, run=change, who=ADMINISTRATORS, makes="grants.replace"),
    Action(path=REMOVE, run=remove, who=ADMINISTRATORS, makes="grants.remove"),
)
"""What the page of roles has of this."""
