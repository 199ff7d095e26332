"""Every error remit raises on purpose, as one tree.

    RemitError
    ├── Refused                 the caller may not
    │   ├── Unauthenticated     no credential, or one that does not hold
    │   ├── InsufficientScope   a token that holds, without a scope that its issuer must give
    │   ├── CallDenied          policy said no, or there is no such tool: told apart only inside
    │   └── NotYours            it is another agent's: mail, task or epic
    ├── BadCall                 the caller may, but these arguments do not fit
    │   ├── UnknownToolGroup        no such group of tools of the `data` server (S2.15)
    │   ├── InvalidToolName         no name of a tool of the bridge (a `ValueError`, S1.22)
    │   └── InvalidMember           no UUID of a squad member (a `ValueError`, S0.23)
    ├── DataFailure             a data tool will not, or cannot, with a code of its own (S2.45)
    ├── LimitReached            the caller may, but not so often
    ├── UpstreamError           the server behind us failed
    │   ├── UpstreamUnavailable     it cannot be reached
    │   │   └── MCPConnectionError      said by the library (a `RuntimeError`, S1.12)
    │   ├── UpstreamTimeout         it did not answer in time
    │   ├── UpstreamProtocolError   it answered, with a JSON-RPC error or with nonsense
    │   └── MCPProtocolError        said by the library: no result of a request (S1.12)
    ├── AuditUnavailable        a call cannot be recorded, so it is not made
    ├── DeclarationError        a configuration file is wrong: file, line, field, remedy
    ├── NotFound                what was asked for by name does not exist
    │   └── AgentNotFound           no agent of that id is registered
    ├── InvalidAgentState       an agent is not in a position to do this, or to have it done
    ├── Conflict                what was to be made exists already, or changed meanwhile
    │   ├── Outdated                it was changed by somebody else since the caller looked
    │   └── KeyNotRecoverable       a key is shown when it is made, and never again (R33)
    ├── StartupError            something remit needs cannot be reached or started
    │   └── StorageUnavailable      the database, while running
    └── ClientError             said by `remit.client`: a gateway gave no answer of use
        ├── GatewayUnreachable      it cannot be reached, or cannot serve at the moment
        ├── CredentialRefused       it does not take the key
        ├── CallRefused             it did not make the call: denied, unfit arguments, a limit
        └── ProblemDetails          its HTTP API refused

Codes are public and permanent (rulings.md R22). Each door translates them by one table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


class RemitError(Exception):
    """Anything remit refuses or fails at, with a permanent code and a one-line text."""

    code: str = "INTERNAL_ERROR"


class Refused(RemitError):
    """The caller may not do this.

    Attributes:
        sent: Whether a server had heard of the call before, in an earlier round of it.
    """

    code = "PERMISSION_DENIED"
    sent: bool = False


class Unauthenticated(Refused):
    """No credential, or one that does not hold."""


class InsufficientScope(Refused):
    """A token that holds, but was not given every scope that it needs to come in.

    Attributes:
        scopes: All that it needs, in the order of the declaration.
    """

    def __init__(self, scopes: Sequence[str]) -> None:
        super().__init__(f"the token lacks a scope; it needs all of: {' '.join(scopes)}")
        self.scopes = tuple(scopes)


class CallDenied(Refused):
    """Policy said no, or there is no such tool; outside the gateway the two look alike (R14).

    Attributes:
        server: Server of the tool that was meant, or empty when the name meant none.
        tool: Its own name there, or the requested name when it meant none.
        layer: The layer that denied (words of the contract), or empty.
        rule: The rule that denied, or empty.
        reason: One line for administrators, and for callers whose role explains denials.
        is_of_agent: Whether it is the agent that the caller acts for who may not (R9).
    """

    def __init__(
        self,
        reason: str,
        *,
        tool: str,
        server: str = "",
        layer: str = "",
        rule: str = "",
        is_of_agent: bool = False,
    ) -> None:
        super().__init__(reason)
        self.is_of_agent = is_of_agent
        self.server = server
        self.tool = tool
        self.layer = layer
        self.rule = rule
        self.reason = reason


class NotYours(Refused):
    """The caller may do such things, but this one is another agent's (R9: layer F)."""


class BadCall(RemitError):
    """The arguments do not fit, or the name means several tools; no upstream has heard of it."""

    code = "INVALID_INPUT"


class InvalidState(BadCall):
    """What a caller brings back of an earlier round is not what it was given for this call."""


class UnknownToolGroup(BadCall):
    """There is no such group of tools of the `data` server (S2.15)."""


class InvalidToolName(BadCall, ValueError):
    """A name given to the bridge names no tool, or fits several (S1.22)."""


class InvalidMember(BadCall, ValueError):
    """What was given for the acting squad member is no UUID (S0.23)."""


class DataFailure(RemitError):
    """A tool of the `data` server will not do something, or cannot (S2.45).

    Attributes:
        code: Of `model/data.py: DataCode`.
        details: For programs, such as `{"parameter": "since"}`; never a secret.
    """

    def __init__(
        self, code: str, message: str, *, details: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.details = details or {}


class LimitReached(RemitError):
    """The caller may, but has called so often that it has to wait; no upstream has heard of it.

    Attributes:
        rate: What the limit allows, such as `30 calls per minute`.
        rule: The limit's path into the declaration.
        retry_after: Whole seconds until a call may go through, at least 1.
    """

    code = "LIMIT_REACHED"

    def __init__(self, *, rate: str, rule: str, retry_after: int) -> None:
        super().__init__(
            f"limit reached: at most {rate} ({rule}); the call was not made,"
            f" retry after {retry_after} s"
        )
        self.rate = rate
        self.rule = rule
        self.retry_after = retry_after


class UpstreamError(RemitError):
    """The server behind us failed.

    Attributes:
        sent: Whether the request may have reached the server; if so the outcome of a write is
            unknown (R23).
        transient: Whether the same request may succeed soon.
        retry_after: Seconds that the server asks to wait before the next attempt, or None.
        attempts: How often the request was made, where it was made at all.
    """

    code = "UPSTREAM_UNAVAILABLE"
    attempts: int = 1

    def __init__(
        self,
        message: str,
        *,
        sent: bool = False,
        transient: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.sent = sent
        self.transient = transient
        self.retry_after = retry_after

    @property
    def is_outcome_unknown(self) -> bool:
        """Whether nobody can say if the call took effect: it went out, and no answer came."""
        return self.sent


class UpstreamUnavailable(UpstreamError):
    """The server cannot be reached, or went away."""


class MCPConnectionError(UpstreamUnavailable, RuntimeError):
    """There is no connection to the server: it cannot be started, or is not connected (S1.12)."""


class UpstreamTimeout(UpstreamError):
    """The server did not answer within the call's time limit; the outcome is unknown."""

    code = "UPSTREAM_TIMEOUT"


class UpstreamProtocolError(UpstreamError):
    """The server answered with a JSON-RPC error, or with something that is not an answer.

    Attributes:
        rpc_error: The server's own `error` object as raw JSON, or empty when it sent none.
    """

    code = "INTERNAL_ERROR"

    def __init__(self, message: str, *, rpc_error: bytes = b"") -> None:
        super().__init__(message, sent=True)
        self.rpc_error = rpc_error

    @property
    def is_outcome_unknown(self) -> bool:
        """No: it answered."""
        return False


class UnreadableAnswer(UpstreamProtocolError):
    """The server answered with something that is no answer, or too much of it: it may have run."""

    @property
    def is_outcome_unknown(self) -> bool:
        """Yes: whatever it did, it did not say so in words that can be read."""
        return True


class MCPProtocolError(UpstreamError):
    """A request to a connected server came to no result (S1.12).

    The server answered with an error or with nonsense, did not answer in time, or went away.

    Attributes:
        rpc_error: The server's own `error` object, or None when it sent none.
    """

    code = "INTERNAL_ERROR"

    def __init__(
        self,
        message: str,
        *,
        sent: bool = False,
        transient: bool = False,
        rpc_error: object = None,
    ) -> None:
        super().__init__(message, sent=sent, transient=transient)
        self.rpc_error = rpc_error


class AuditUnavailable(RemitError):
    """Neither database nor journal can be written, so the call is refused before it runs (R29)."""


class NotFound(RemitError):
    """What was asked for by name does not exist."""

    code = "RESOURCE_NOT_FOUND"


class AgentNotFound(NotFound):
    """No agent of that id is registered; said only to who may act for any (R26)."""

    code = "AGENT_NOT_FOUND"


class InvalidAgentState(RemitError):
    """An agent is not in a position to do this, or to have it done (S3.18, S3.19)."""

    code = "INVALID_AGENT_STATE"


class Conflict(RemitError):
    """What was to be made exists already, or was changed by somebody else meanwhile."""

    code = "INVALID_INPUT"


class Outdated(Conflict):
    """Somebody else changed it since the caller looked, so that the change would undo theirs."""


class KeyNotRecoverable(Conflict):
    """Only a hash of a key is kept, so that it can be shown only when it is made (R33)."""


class StartupError(RemitError):
    """Something that remit needs cannot be reached or started (exit status 3)."""


class StorageUnavailable(StartupError):
    """The database cannot be reached, or refuses to be written, while remit runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong or suspicious in a configuration file.

    Attributes:
        code: Stable kebab-case name, such as `unknown-key`.
        message: One line, lower case, never a secret's value.
        file: Path as the user gave it, or empty.
        line: 1-based line in `file`, or 0 when there is none.
        remedy: What to do about it, one line.
    """

    code: str
    message: str
    file: str = ""
    line: int = 0
    remedy: str = ""

    def __str__(self) -> str:
        """Return `file:line: message; remedy`, leaving out what is empty."""
        where = (
            f"{self.file}:{self.line}: " if self.line else (f"{self.file}: " if self.file else "")
        )
        return where + self.message + (f"; {self.remedy}" if self.remedy else "")


class DeclarationError(RemitError):
    """A configuration file cannot be used.

    Attributes:
        problems: Every error found, in file order; at least one.
    """

    code = "INVALID_INPUT"

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class ClientError(RemitError):
    """A gateway that was asked over HTTP gave no answer of use.

    Attributes:
        status: HTTP status of its answer, or None where there was none.
        code: Its code, such as `PERMISSION_DENIED`.
        request_id: By which an administrator finds the call in the record, or empty.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str = "INTERNAL_ERROR",
        request_id: str = "",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.request_id = request_id


class GatewayUnreachable(ClientError):
    """The gateway cannot be reached, did not answer in time, or cannot serve at the moment.

    Attributes:
        sent: Whether the request may have reached it; if so the outcome of a call is unknown.
        retry_after: Seconds that it asks to wait, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        sent: bool,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, status=status, code="UPSTREAM_UNAVAILABLE")
        self.sent = sent
        self.retry_after = retry_after


class CredentialRefused(ClientError):
    """The gateway does not take the key, or there is none."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message, status=status, code="PERMISSION_DENIED")


class CallRefused(ClientError):
    """The gateway did not make the call; the same call fares no better at once.

    Attributes:
        reason: Why, as far as this caller is told.
        layer: The layer that denied, where the caller's role explains denials, or empty.
        rule: The rule that denied, likewise.
        retry_after: Seconds until a limit lets a call through, or None where it was no limit.
    """

    def __init__(
        self,
        reason: str,
        *,
        code: str,
        status: int | None = None,
        request_id: str = "",
        layer: str = "",
        rule: str = "",
        retry_after: float | None = None,
    ) -> None:
        told = f"{reason} (request {request_id})" if request_id else reason
        super().__init__(told, status=status, code=code, request_id=request_id)
        self.reason = reason
        self.layer = layer
        self.rule = rule
        self.retry_after = retry_after


class ProblemDetails(ClientError):
    """The HTTP API refused, with a problem document (RFC 9457).

    Attributes:
        title: What kind of problem it is.
        detail: What is wrong this time.
        problems: Each single thing that is wrong, where the document lists them.
        retry_after: Seconds that it asks to wait, or None.
    """

    def __init__(
        self,
        detail: str,
        *,
        status: int,
        code: str,
        request_id: str = "",
        title: str = "",
        problems: Sequence[str] = (),
        retry_after: float | None = None,
    ) -> None:
        told = "\n".join(problems) or detail
        super().__init__(told, status=status, code=code, request_id=request_id)
        self.title = title
        self.detail = detail
        self.problems = tuple(problems)
        self.retry_after = retry_after
