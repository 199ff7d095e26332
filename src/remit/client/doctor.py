"""Is the installation healthy?"""

import msgspec

from remit.client.operations import Operation, at


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about something.

    Attributes:
        grade: `ok`, `warning` or `error`.
        remedy: What to do about it, or empty.
    """

    code: str
    about: str
    grade: str
    message: str
    remedy: str


class ServerHealth(msgspec.Struct, frozen=True, kw_only=True):
    """How a server did when it was tried.

    Attributes:
        reason: Why it failed, or empty.
        memory: Bytes, or None where nobody can tell.
        skew: Seconds that its clock is ahead, or None.
        ms: Milliseconds that it took.
    """

    name: str
    transport: str
    enabled: bool
    reason: str
    protocol: str
    tools: int
    tokens: int
    memory: int | None
    skew: float | None
    ms: float


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """All that was found."""

    healthy: bool
    findings: tuple[Finding, ...]
    servers: tuple[ServerHealth, ...]


def examine() -> Operation[Examination]:
    """Look at servers, declaration, database and record; nothing is changed."""
    return Operation(id="doctor.examine", method="GET", path=at("doctor"), answer=Examination)
