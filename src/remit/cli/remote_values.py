"""From the shapes of the API to the values that commands show."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from remit.admin.authority import Answer, WhoCan
from remit.admin.changes import AuthorityChange, DocumentChange
from remit.admin.plans import Difference
from remit.model.agents import Agent
from remit.model.decisions import Decision, Explanation, Layer, LayerVerdict, Verdict
from remit.model.events import AuditEvent, EventKind
from remit.model.keys import Key
from remit.model.principals import DEFAULT_TENANT, AgentType, UserRole
from remit.model.revisions import Revision
from remit.model.tools import ToolId

Json = Mapping[str, Any]


def key_of(shown: Json) -> Key:
    """Return a key, without its hash."""
    return Key(
        id=shown["id"],
        name=shown["name"],
        tenant=DEFAULT_TENANT,
        secret_hash="",
        roles=tuple(shown["roles"]),
        user_roles=tuple(map(UserRole, shown["user_roles"])),
        service=shown["service"],
        queries=tuple(shown["queries"]),
        agent=shown["agent"] or "",
        act_for=tuple(shown["act_for"]),
        admin=shown["admin"],
        created=_moment(shown["created"]),
        expires=_maybe(shown["expires"]),
        revoked=_maybe(shown["revoked"]),
        last_used=_maybe(shown["last_used"]),
    )


def agent_of(shown: Json) -> Agent:
    """Return an agent."""
    return Agent(
        id=shown["id"],
        tenant=DEFAULT_TENANT,
        type=AgentType(shown["type"]),
        role=shown["role"] or "",
        epic=shown["epic"] or "",
        created=_moment(shown["created"]),
    )


def revision_of(shown: Json, document: Json | None = None) -> Revision:
    """Return a revision, with what it says if that was asked for."""
    return Revision(
        number=shown["number"],
        tenant=DEFAULT_TENANT,
        document=document or {},
        digest=shown["digest"],
        author=shown["author"],
        reason=shown["reason"],
        created=_moment(shown["time"]),
    )


def difference_of(shown: Json) -> Difference:
    """Return how two declarations differ."""
    return Difference(
        changes=[DocumentChange(**one) for one in shown["changes"]],
        authority=[
            AuthorityChange(
                subject=one["subject"],
                tool=_tool(one["tool"]),
                gains=one["change"] == "gains",
                rule=one["rule"],
                reason=one["reason"],
            )
            for one in shown["authority"]
        ],
    )


def event_of(shown: Json) -> AuditEvent:
    """Return a row of the record; its own id is not shown, so that of the call stands for it."""
    return AuditEvent(
        kind=EventKind.FINISHED,
        id=shown["id"],
        call_id=shown["id"],
        time=_moment(shown["time"]),
        **{name: value for name, value in shown.items() if name not in {"id", "time"}},
    )


def answer_of(shown: Json) -> Answer:
    """Return what is said of one caller and one tool."""
    decision = Decision(
        allowed=shown["allowed"],
        layer=Layer(shown["layer"]),
        rule=shown["rule"],
        reason=shown["reason"],
        revision=shown["revision"],
    )
    layers = tuple(
        LayerVerdict(
            layer=Layer(one["layer"]),
            verdict=Verdict(one["verdict"]),
            rule=one["rule"],
            reason=one["reason"],
        )
        for one in shown["layers"]
    )
    return Answer(
        tool=None if shown["tool"] is None else _tool(shown["tool"]),
        available=shown["available"],
        explanation=Explanation(decision=decision, layers=layers),
    )


def who_of(shown: Json) -> WhoCan:
    """Return who can call a tool."""
    return WhoCan(**{kind: tuple(names) for kind, names in shown.items()})


def _tool(text: str) -> ToolId:
    server, _, name = text.partition("/")
    return ToolId(server, name)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _maybe(text: str | None) -> datetime | None:
    return None if text is None else _moment(text)
