"""What a tenant's calls of the last minutes come to, counted from the record."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How calls ended.

    Attributes:
        calls: All of them.
        denied: Those that the rules turned away.
        errors: Those that were allowed and did not succeed: turned away before they ran, failed,
            answered with an error, or of unknown outcome.
    """

    calls: int = 0
    denied: int = 0
    errors: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        """Return both together."""
        return Counts(
            calls=self.calls + other.calls,
            denied=self.denied + other.denied,
            errors=self.errors + other.errors,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """How long calls took that ran; interpolated between the two nearest, in milliseconds.

    Attributes:
        ran: How many it was measured on.
        p50: The median; None when none ran.
        p95: What 95 of 100 do not exceed; None when none ran.
    """

    ran: int = 0
    p50: float | None = None
    p95: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowTool:
    """A tool, and how long its calls took."""

    server: str
    tool: str
    speed: Speed


@dataclass(frozen=True, slots=True, kw_only=True)
class DeniedTool:
    """A tool that callers were denied, or a name that means none.

    Attributes:
        denied: How often.
        layer: Of the commonest reason; empty where the name means no tool.
        rule: That denied, likewise.
        code: Of that refusal.
    """

    server: str
    tool: str
    denied: int
    layer: str
    rule: str
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The calls of a tenant that ended in a stretch of time.

    Attributes:
        minutes: Start of each minute in which a call ended, aware UTC, to its calls.
        speed: Of all calls.
        servers: By name, most calls first; empty stands for names that mean no tool.
        speeds: Of each server on which a call ran.
        slowest: Tools, by their p95, slowest first.
        denied: Tools, most denied first.
        callers: SUBJECT spelling to calls, most first.
    """

    minutes: Mapping[datetime, Counts] = field(default_factory=dict[datetime, Counts])
    speed: Speed = field(default_factory=Speed)
    servers: Mapping[str, Counts] = field(default_factory=dict[str, Counts])
    speeds: Mapping[str, Speed] = field(default_factory=dict[str, Speed])
    slowest: tuple[SlowTool, ...] = ()
    denied: tuple[DeniedTool, ...] = ()
    callers: Mapping[str, Counts] = field(default_factory=dict[str, Counts])


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How much waits for somebody in a tenant.

    Attributes:
        alerts: That are open.
        mail: To the human, not read yet.
        suggestions: Queries on which nobody has decided.
        changes: Of schemas, likewise.
    """

    alerts: int = 0
    mail: int = 0
    suggestions: int = 0
    changes: int = 0
