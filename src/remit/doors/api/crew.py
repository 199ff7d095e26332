"""The crew at work: what each agent is at."""

from datetime import datetime
from functools import partial

from fastapi import APIRouter
from pydantic import BaseModel, Field

from remit.doors.api.access import ByAdministrator
from remit.doors.api.paging import Cursor, Limit, Page, read
from remit.errors import NotFound
from remit.model.crew import AgentState, Member
from remit.model.principals import AgentType

router = APIRouter(tags=["agents"])


class MemberShape(BaseModel):
    """A registered agent at its work."""

    id: str
    type: AgentType
    state: AgentState = Field(description="`WAITING` is for somebody else.")
    epic: str | None = Field(description="Id of the epic that it runs or works on.")
    task: str | None = Field(description="Id of the task that it has now.")
    paused: str | None = Field(description="Why it is given no work.")
    crashes: int = Field(description="How often it stopped in the middle of its work.")
    last_active: datetime | None

    @classmethod
    def of(cls, member: Member) -> "MemberShape":
        """Show an agent at its work."""
        return cls(
            id=member.id,
            type=member.type,
            state=member.state,
            epic=member.epic or None,
            task=member.task or None,
            paused=member.paused or None,
            crashes=member.crashes,
            last_active=member.last_active,
        )


@router.get("/crew", operation_id="crew.list")
async def list_crew(
    by: ByAdministrator, limit: Limit = 100, cursor: Cursor = None
) -> Page[MemberShape]:
    """Show what every agent is at."""
    after = partial(by.services.crew.members_after, by.tenant.key)
    page = await read(after, lambda member: member.id, of="crew", cursor=cursor, limit=limit)
    return Page(items=[MemberShape.of(member) for member in page.items], next=page.next)


@router.get("/crew/{agent_id}", operation_id="crew.get")
async def get_member(by: ByAdministrator, agent_id: str) -> MemberShape:
    """Show what one agent is at."""
    member = await by.services.crew.find_member(by.tenant.key, agent_id)
    if member is None:
        raise NotFound(f"there is no agent {agent_id[:80]!r}")
    return MemberShape.of(member)
