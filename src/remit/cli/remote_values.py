"""From what a gateway answers to the values that commands show."""

from collections.abc import Mapping
from typing import Any, cast

from msgspec.structs import asdict

from remit.admin.authority import Answer
from remit.admin.authority import WhoCan as WhoCanValue
from remit.admin.changes import AuthorityChange, DocumentChange
from remit.admin.plans import Difference as DifferenceValue
from remit.client.agents import Agent as AgentShown
from remit.client.audit import Report, Row
from remit.client.authority import Explanation as ExplanationShown
from remit.client.authority import WhoCan
from remit.client.edits import Difference, Edited
from remit.client.keys import Key as KeyShown
from remit.client.revisions import Revision as RevisionShown
from remit.model.agents import Agent
from remit.model.calls import Examined
from remit.model.decisions import Decision, Explanation, Layer, LayerVerdict, Verdict
from remit.model.events import AuditEvent, EventKind
from remit.model.keys import Key
from remit.model.limits import Allowance, Limit
from remit.model.principals import DEFAULT_TENANT, AgentType, UserRole
from remit.model.retention import Cut
from remit.model.revisions import Revision
from remit.model.tools import ToolId
from remit.storage.chain import Break, BreakKind, ChainReport
from remit.storage.cuts import SignedCut


def key_of(shown: KeyShown) -> Key:
    """Return a key, without its hash."""
    return Key(
        id=shown.id,
        name=shown.name,
        tenant=DEFAULT_TENANT,
        secret_hash="",
        roles=shown.roles,
        user_roles=tuple(map(UserRole, shown.user_roles)),
        service=shown.service,
        queries=shown.queries,
        agent=shown.agent or "",
        act_for=shown.act_for,
        admin=shown.admin,
        auditor=shown.auditor,
        owner=shown.owner or "",
        created=shown.created,
        expires=shown.expires,
        revoked=shown.revoked,
        last_used=shown.last_used,
    )


def agent_of(shown: AgentShown) -> Agent:
    """Return an agent."""
    return Agent(
        id=shown.id,
        tenant=DEFAULT_TENANT,
        type=AgentType(shown.type),
        role=shown.role or "",
        epic=shown.epic or "",
        tmux_session=shown.tmux_session or "",
        created=shown.created,
    )


def revision_of(shown: RevisionShown, document: Mapping[str, Any] | None = None) -> Revision:
    """Return a revision, with what it says if that was asked for."""
    return Revision(
        number=shown.number,
        tenant=DEFAULT_TENANT,
        document=document or {},
        digest=shown.digest,
        author=shown.author,
        reason=shown.reason,
        created=shown.time,
    )


def difference_of(shown: Difference | Edited) -> DifferenceValue:
    """Return how two declarations differ."""
    return DifferenceValue(
        changes=[DocumentChange(**asdict(one)) for one in shown.changes],
        authority=[
            AuthorityChange(
                subject=one.subject,
                tool=tool_of(one.tool),
                gains=one.change == "gains",
                rule=one.rule,
                reason=one.reason,
            )
            for one in shown.authority
        ],
    )


def event_of(shown: Row) -> AuditEvent:
    """Return a row of the record; its own id is not shown, so that of the call stands for it."""
    return AuditEvent(kind=EventKind.FINISHED, call_id=shown.id, **asdict(shown))


def report_of(shown: Report) -> ChainReport:
    """Return what looking at a record found, without what its markers keep to themselves."""
    return ChainReport(
        rows=shown.rows,
        hash=shown.hash,
        broken=None
        if shown.broken is None
        else Break(
            kind=cast("BreakKind", shown.broken.kind),
            link=shown.broken.number,
            seq=shown.broken.seq,
            id=shown.broken.id,
            message=shown.broken.message,
        ),
        cuts=[
            SignedCut(
                cut=Cut(
                    tenant=DEFAULT_TENANT,
                    number=one.number,
                    time=one.time,
                    author=one.by,
                    reason=one.reason,
                    link=one.up_to,
                    hash=one.hash,
                    removed=one.removed,
                    previous="",
                ),
                signed=one.signed,
            )
            for one in shown.markers
        ],
    )


def answer_of(shown: ExplanationShown) -> Answer:
    """Return what is said of one caller and one tool."""
    decision = Decision(
        allowed=shown.allowed,
        layer=Layer(shown.layer),
        rule=shown.rule,
        reason=shown.reason,
        revision=shown.revision,
    )
    layers = tuple(
        LayerVerdict(
            layer=Layer(one.layer),
            verdict=Verdict(one.verdict),
            rule=one.rule,
            reason=one.reason,
        )
        for one in shown.layers
    )
    used = [one.used for one in shown.limits]
    return Answer(
        tool=None if shown.tool is None else tool_of(shown.tool),
        available=shown.available,
        explanation=Explanation(decision=decision, layers=layers),
        used=None if None in used else [count for count in used if count is not None],
        arguments=None
        if shown.arguments is None
        else Examined(checked=shown.arguments.checked, problem=shown.arguments.problem or ""),
        limits=tuple(
            Allowance(
                key="",
                calls=one.calls,
                seconds=one.seconds,
                rule=one.rule,
                rate=Limit(calls=one.calls, seconds=one.seconds).rate,
            )
            for one in shown.limits
        ),
    )


def who_of(shown: WhoCan) -> WhoCanValue:
    """Return who can call a tool."""
    return WhoCanValue(**asdict(shown))


def tool_of(text: str) -> ToolId:
    """Return the tool that the API names as `server/tool`."""
    server, _, name = text.partition("/")
    return ToolId(server, name)
