"""What `remit doctor` finds, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Grade(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at; for people, never a secret's value.

    Attributes:
        code: Stable kebab-case name; docs/doctor.md has all of them.
        about: What was looked at, such as `database` or `server git`.
        remedy: What to do about it; empty where there is nothing to do.
    """

    code: str
    about: str
    grade: Grade
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerHealth:
    """What connecting to one server showed.

    Attributes:
        reason: Why it could not be used, one line; empty when it could.
        protocol: The MCP revision that it speaks, or empty.
        tools: How many it offers.
        tokens: What the list of all of them costs a model, about.
        memory: Bytes of its process and what that started; None where it has none here.
        skew: Seconds by which its clock is ahead of ours; None where it tells no time.
        ms: Milliseconds until its tools were known.
    """

    name: str
    transport: str
    enabled: bool
    reason: str = ""
    protocol: str = ""
    tools: int = 0
    tokens: int = 0
    memory: int | None = None
    skew: float | None = None
    ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """Everything that was found.

    Attributes:
        findings: In the order in which it was looked at.
        servers: In the order of the declaration.
    """

    findings: tuple[Finding, ...]
    servers: tuple[ServerHealth, ...]

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is wrong; warnings alone are no reason."""
        return all(finding.grade is not Grade.ERROR for finding in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseHealth:
    """What looking at the database showed, without changing anything in it.

    Attributes:
        name: For messages; holds no credentials.
        problem: Why it cannot be used, one line; empty when it can.
        is_file: Whether it is a file, and no server's.
        is_read_only: Whether that file is on storage that nobody can write, or a server lets its
            user not write.
        is_damaged: Whether what is in that file is no database, or not a whole one.
        is_new: Whether it is not there yet.
        is_newer: Whether a newer remit wrote its tables.
        is_current: Whether its tables are what this code knows.
        ms: Milliseconds that one question took.
        skew: Seconds by which its clock is ahead of ours; None where it has no clock of its own.
        broken_heads: Tenants whose record does not end where it should.
        backlog: Bytes of the journal that are not in it yet.
    """

    name: str
    problem: str = ""
    is_file: bool = False
    is_read_only: bool = False
    is_damaged: bool = False
    is_new: bool = False
    is_newer: bool = False
    is_current: bool = True
    ms: float = 0.0
    skew: float | None = None
    broken_heads: tuple[str, ...] = ()
    backlog: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasourceHealth:
    """What came of connecting to a datasource.

    Attributes:
        problem: Why it cannot be used, or empty.
        warnings: What whoever reads could do beyond reading, a sentence each.
        ms: Milliseconds until it had answered.
    """

    name: str
    problem: str = ""
    warnings: tuple[str, ...] = ()
    ms: float = 0.0
