"""Page: the supervised workers: what each is, what it is at, what it may call and has decided."""

from collections.abc import Iterable, Mapping
from typing import Final

from starlette.responses import Response

from remit.client import agents, audit, authority, crew, roles
from remit.client.agents import Agent, WrittenAgent
from remit.client.crew import Member
from remit.doors.console.forms import status_of
from remit.doors.console.page import ADMINISTRATORS, READERS, Action, Page
from remit.doors.console.rendering import as_part
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails
from remit.model.principals import AgentType

STATES: Final[Mapping[str, str]] = {
    "IDLE": "plain",
    "BUSY": "good",
    "WAITING": "warn",
    "FAILED": "bad",
}
"""What an agent is at to the tone of its badge."""

NEW: Final = "/agents/-new"
"""Where an agent is registered; no agent's id begins with `-`."""

MOST: Final = 100
"""Agents of one page, and those that forms suggest; any other can be typed."""

_PATH: Final = "/agents"
_MOST_TOOLS: Final = 200
_MOST_DECISIONS: Final = 50
_NOT_FOUND: Final = 404
_PRECONDITION_FAILED: Final = 412
_BESIDE: Final = "."  # between two cursors, of which none has it
_FIELDS: Final = ("id", "type", "role", "epic", "reason")


async def show(visitor: Visitor) -> Response:
    """Show agents and what each is at, by id: a page of both lists, which go on side by side."""
    cursor = visitor.asked("cursor")
    after, _, crew_after = cursor.partition(_BESIDE)
    page = await visitor.ask(agents.list_all(limit=MOST, cursor=after or None))
    at_work = await visitor.ask(crew.list_all(limit=MOST, cursor=crew_after or None))
    return visitor.render(
        "agents.html",
        items=page.items,
        cursor=cursor,
        next=page.next and _BESIDE.join((page.next, at_work.next or "")),
        members=await members_of(visitor, [each.id for each in page.items], at_work.items),
        states=STATES,
        at=at,
    )


async def members_of(
    visitor: Visitor, ids: Iterable[str], known: Iterable[Member] = ()
) -> Mapping[str, Member]:
    """Return what agents are at, by id: of thousands only those who are shown are asked about.

    Args:
        visitor: Whoever looks.
        ids: Of those who are shown; one that is no agent is left out.
        known: What was read already.
    """
    found = {member.id: member for member in known}
    for agent_id in dict.fromkeys(ids):
        if agent_id not in found:
            try:
                found[agent_id] = await visitor.ask(crew.get(agent_id))
            except ProblemDetails as problem:
                if problem.status != _NOT_FOUND:
                    raise
    return found


async def show_one(visitor: Visitor) -> Response:
    """Show one agent."""
    return await _shown(visitor)


async def show_new(visitor: Visitor) -> Response:
    """Show the form of an agent that is not registered yet."""
    return await _form(visitor, dict.fromkeys(_FIELDS, "") | {"type": AgentType.WORKER.value})


async def create(visitor: Visitor) -> Response:
    """Register an agent, or show the form again with what was entered."""
    given = {name: visitor.sent(name) for name in _FIELDS}
    operation = agents.create(
        given["id"],
        type=given["type"],
        role=given["role"] or None,
        epic=given["epic"] or None,
        reason=given["reason"],
    )
    try:
        agent = await visitor.ask(operation)
    except ProblemDetails as problem:
        return await _form(visitor, given, problem)
    return visitor.go(
        at(agent.id), said=_said(f"{agent.id} is registered. Make a key for it next.", agent)
    )


async def change(visitor: Visitor) -> Response:
    """Change an agent, unless somebody else did since the page was loaded."""
    agent_id = visitor.path["id"]
    patch = {
        "type": visitor.sent("type"),
        "role": visitor.sent("role") or None,
        "epic": visitor.sent("epic") or None,
    }
    operation = agents.change(
        agent_id, patch, if_match=visitor.sent("etag"), reason=visitor.sent("reason")
    )
    try:
        agent = await visitor.ask(operation)
    except ProblemDetails as problem:
        return await _shown(visitor, problem)
    return visitor.go(at(agent_id), said=_said(f"{agent_id} is changed: its keys follow.", agent))


def _said(done: str, agent: WrittenAgent) -> str:
    """Return what was done, with what does not go together in the agent now."""
    return " ".join([done, *(f"Note: {note}." for note in agent.notes)])


async def _shown(visitor: Visitor, problem: ProblemDetails | None = None) -> Response:
    """Return the page of an agent; after a refusal with what was entered, to be sent again."""
    agent_id = visitor.path["id"]
    tagged = await visitor.ask_tagged(agents.get(agent_id))
    agent, cursor = tagged.value, visitor.asked("cursor")
    subject = f"agent:{agent_id}"
    tools = authority.tools(subject, limit=_MOST_TOOLS, cursor=cursor or None)
    decisions = audit.decisions(agent_id, limit=_MOST_DECISIONS)
    return visitor.render(
        "agent.html",
        status=status_of(problem),
        here=visitor.url(at(agent_id)),
        agent=agent,
        etag=tagged.etag,
        given=_given(visitor, agent, problem),
        is_outdated=problem is not None and problem.status == _PRECONDITION_FAILED,
        member=await visitor.ask(crew.get(agent_id)),
        tools=await visitor.ask(tools),
        decisions=(await visitor.ask(decisions)).items,
        cursor=cursor,
        problem=problem,
        states=STATES,
        at=at,
        **await _choices(visitor),
    )


def _given(visitor: Visitor, agent: Agent, problem: ProblemDetails | None) -> Mapping[str, str]:
    if problem is not None:
        return {name: visitor.sent(name) for name in _FIELDS}
    return {"type": agent.type, "role": agent.role or "", "epic": agent.epic or "", "reason": ""}


async def _form(
    visitor: Visitor, given: Mapping[str, str], problem: ProblemDetails | None = None
) -> Response:
    return visitor.render(
        "agent_form.html",
        status=status_of(problem),
        here=visitor.url(_PATH),
        given=given,
        problem=problem,
        **await _choices(visitor),
    )


async def _choices(visitor: Visitor) -> Mapping[str, list[str]]:
    declared = await visitor.ask_all(roles.list_all())
    return {
        "types": [each.value for each in AgentType],
        "roles": [role.name for role in declared],
    }


def at(agent_id: str) -> str:
    """Return where the page of an agent is."""
    return f"{_PATH}/{as_part(agent_id)}"


PAGE: Final = Page(
    key="agents",
    path=_PATH,
    title="Agents",
    group="People",
    show=show,
    who=READERS,
    actions=(
        Action(path=NEW, run=show_new, who=ADMINISTRATORS, method="GET"),
        Action(path=NEW, run=create, who=ADMINISTRATORS, makes="agents.create"),
        Action(path=f"{_PATH}/{{id}}", run=show_one, who=READERS, method="GET"),
        Action(
            path=f"{_PATH}/{{id}}/change", run=change, who=ADMINISTRATORS, makes="agents.change"
        ),
    ),
)
