"""The words in which the record tells of calls, as far as they do not differ from call to call."""

from datetime import UTC, datetime
from typing import Final

from remit.calls.redact import recorded_text
from remit.model.contents import Kind, kind_of
from remit.model.decisions import Decision
from remit.model.events import AuditEvent, EventKind
from remit.model.principals import Principal, PrincipalKind
from remit.model.tools import ToolId

MOST_NAME: Final = 256
"""Characters of a requested name that are kept; a longer one means no tool anyway."""

_LATER: Final = datetime.min.replace(tzinfo=UTC)


def words_of(
    principal: Principal, tool: ToolId, decision: Decision, agent: Principal | None = None
) -> AuditEvent:
    """Return the event of a call that is about to run, without what is of one call alone."""
    return AuditEvent(
        id="",
        kind=EventKind.INVOKED,
        call_id="",
        time=_LATER,
        tenant=principal.tenant,
        principal=principal.subject,
        role=role_of(principal),
        server=tool.server,
        tool=name_of(tool.name),
        decision="allow",
        layer=decision.layer.value,
        rule=decision.rule,
        revision=decision.revision,
        outcome="unknown",
        agent=agent_of(principal, agent),
    )


def role_of(principal: Principal) -> str:
    """Return the roles that a caller acts in."""
    return ",".join(principal.roles)


def agent_of(principal: Principal, agent: Principal | None) -> str | None:
    """Return the id of the agent that acts: the one that the caller acts for, or is."""
    acting = agent or principal
    return acting.name if acting.kind is PrincipalKind.AGENT else None


def name_of(name: str) -> str:
    """Return a name that means something; a URI is the caller's own text all the same."""
    return recorded_text(name, MOST_NAME) if kind_of(name) is Kind.RESOURCE else name
