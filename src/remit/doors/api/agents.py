"""Agents: the supervised workers that keys can be bound to."""

from datetime import datetime
from functools import partial

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from remit.admin.agents import check_agent, get_agent, notes_on, register
from remit.doors.api.access import Administrator, ByAdministrator, Reason
from remit.doors.api.paging import Cursor, Limit, Page, read
from remit.doors.api.preconditions import IfMatch, require_match, require_tag, tag_of
from remit.model.agents import Agent
from remit.model.principals import AgentType

router = APIRouter(tags=["agents"])


class AgentShape(BaseModel):
    """A registered agent."""

    id: str
    type: AgentType
    role: str | None
    epic: str | None
    tmux_session: str | None = Field(description="Where its program runs, if somebody said so.")
    created: datetime

    @classmethod
    def of(cls, agent: Agent) -> "AgentShape":
        """Show an agent."""
        return cls(
            id=agent.id,
            type=agent.type,
            role=agent.role or None,
            epic=agent.epic or None,
            tmux_session=agent.tmux_session or None,
            created=agent.created,
        )


class WrittenAgent(AgentShape):
    """An agent that was registered or changed."""

    notes: list[str] = Field(
        description="What does not go together in it, such as an epic that there is not."
    )


class NewAgent(BaseModel):
    """An agent to be registered."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: str
    type: str
    role: str | None = None
    epic: str | None = None
    tmux_session: str | None = None


class AgentPatch(BaseModel):
    """What is to change; what is not sent stays, null takes role, epic or session away."""

    model_config = ConfigDict(extra="forbid", strict=True)

    type: str = ""
    role: str | None = None
    epic: str | None = None
    tmux_session: str | None = None


@router.get("/agents", operation_id="agents.list")
async def list_agents(
    by: ByAdministrator, limit: Limit = 100, cursor: Cursor = None
) -> Page[AgentShape]:
    """Show every agent."""
    after = partial(by.services.agents.agents_after, by.tenant.key)
    page = await read(after, lambda agent: agent.id, of="agents", cursor=cursor, limit=limit)
    return Page(items=[AgentShape.of(agent) for agent in page.items], next=page.next)


@router.post("/agents", operation_id="agents.create", status_code=201)
async def create_agent(
    by: ByAdministrator, new: NewAgent, response: Response, reason: Reason = ""
) -> WrittenAgent:
    """Register an agent; `POST /keys` then gives it a key."""
    async with by.making(reason, **new.model_dump()):
        agent = check_agent(
            new.id,
            tenant=by.tenant.key,
            type_name=new.type,
            now=by.services.now(),
            role=new.role or "",
            epic=new.epic or "",
            tmux_session=new.tmux_session or "",
            roles=by.tenant.policy.declaration.roles,
        )
        await register(by.services.agents, agent)
        by.services.forget()
    return await _written(by, agent, response)


@router.get("/agents/{agent_id:path}", operation_id="agents.get")
async def get_one(by: ByAdministrator, agent_id: str, response: Response) -> AgentShape:
    """Show one agent."""
    shown = AgentShape.of(await get_agent(by.services.agents, by.tenant.key, agent_id))
    response.headers["ETag"] = tag_of(shown)
    return shown


@router.patch("/agents/{agent_id:path}", operation_id="agents.change")
async def change_agent(
    by: ByAdministrator,
    agent_id: str,
    patch: AgentPatch,
    response: Response,
    *,
    if_match: IfMatch = None,
    reason: Reason = "",
) -> WrittenAgent:
    """Change an agent; its keys follow everywhere within 2 seconds."""
    services, tenant = by.services, by.tenant
    sent, tags = patch.model_fields_set, require_tag(if_match)
    async with by.making(reason, id=agent_id, **patch.model_dump(exclude_unset=True)):
        old = await get_agent(services.agents, tenant.key, agent_id)
        require_match(tags, tag_of(AgentShape.of(old)))
        agent = check_agent(
            agent_id,
            tenant=tenant.key,
            type_name=patch.type if "type" in sent else old.type.value,
            now=old.created,
            role=(patch.role or "") if "role" in sent else old.role,
            epic=(patch.epic or "") if "epic" in sent else old.epic,
            tmux_session=(
                (patch.tmux_session or "") if "tmux_session" in sent else old.tmux_session
            ),
            roles=tenant.policy.declaration.roles,
        )
        await services.agents.change(agent, seen=old)
        services.forget()
    return await _written(by, agent, response)


async def _written(by: Administrator, agent: Agent, response: Response) -> WrittenAgent:
    shown = AgentShape.of(agent)
    response.headers["ETag"] = tag_of(shown)
    return WrittenAgent(**shown.model_dump(), notes=list(await notes_on(by.services.crew, agent)))
