"""Is it healthy, and what to do about each finding: `remit doctor`, asked of a running gateway."""

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from remit.doors.api.access import ByActingAdministrator, is_operator
from remit.model.health import Examination, Finding, ServerHealth

router = APIRouter(tags=["doctor"])


class FindingShape(BaseModel):
    """One thing that was looked at."""

    code: str = Field(description="`ok`, or what is wrong.")
    about: str
    grade: Literal["ok", "warning", "error"]
    message: str
    remedy: str = Field(description="What to do about it; empty where there is nothing to do.")

    @classmethod
    def of(cls, finding: Finding) -> "FindingShape":
        """Show a finding."""
        return cls(
            code=finding.code,
            about=finding.about,
            grade=finding.grade.value,
            message=finding.message,
            remedy=finding.remedy,
        )


class ServerHealthShape(BaseModel):
    """What connecting to one server showed."""

    name: str
    transport: str
    enabled: bool
    reason: str = Field(description="Why it could not be used; empty when it could.")
    protocol: str = Field(description="The revision of MCP that it speaks, or empty.")
    tools: int
    tokens: int = Field(description="What the list of all its tools costs a model, about.")
    memory: int | None = Field(description="Bytes of its process, if it has one here.")
    skew: float | None = Field(description="Seconds by which its clock is ahead, if it tells.")
    ms: float = Field(description="Milliseconds until its tools were known.")

    @classmethod
    def of(cls, health: ServerHealth) -> "ServerHealthShape":
        """Show a server."""
        return cls(
            name=health.name,
            transport=health.transport,
            enabled=health.enabled,
            reason=health.reason,
            protocol=health.protocol,
            tools=health.tools,
            tokens=health.tokens,
            memory=health.memory,
            skew=health.skew,
            ms=round(health.ms, 1),
        )


class ExaminationShape(BaseModel):
    """Everything that was found."""

    healthy: bool = Field(description="Whether nothing is wrong; warnings alone are no reason.")
    findings: list[FindingShape]
    servers: list[ServerHealthShape]

    @classmethod
    def of(cls, found: Examination) -> "ExaminationShape":
        """Show an examination."""
        return cls(
            healthy=found.is_healthy,
            findings=[FindingShape.of(finding) for finding in found.findings],
            servers=[ServerHealthShape.of(server) for server in found.servers],
        )


@router.get("/doctor", operation_id="doctor.examine")
async def examine(by: ByActingAdministrator) -> ExaminationShape:
    """Connect to every server beside what is connected, and look at everything else.

    Database, files, disk and record are of the installation: only its own administrators see them.
    Nothing changes, so nothing is recorded; but programs start for it, so auditors may not ask.
    """
    found = await by.services.examine(by.tenant.key, is_operator(by.principal))
    return ExaminationShape.of(found)
