"""Who may use a route: a rule for each, declared in the route's own parameters.

A route's function asks for an `Administrator`, an `Operator`, a `Reviewer`, a `Member` or a
`Caller`, and FastAPI gives it one only when the rule is kept. There is no way to the services but
through one of them, so a route without a rule can do nothing; `rule_of` fails the build for it all
the same.

Administrators manage everything of their tenant. Auditors read what administrators read, and no
rule lets them change anything, whatever other hats they wear. What the `data` server works with,
approved queries and the ontology, is also managed by the user roles `admin`, `data` and `developer`
of the tenant, and read in part by `user` (S2.1, S2.19, R13): to whom the rules close that server,
the API is closed as well.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, cast

from fastapi import Depends, Path, Query
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.requests import Request

from remit.admin.change_record import Change, Progress
from remit.admin.editor import LONGEST_REASON, checked_reason
from remit.admin.toolset_config import data_server_of
from remit.data.desk import audience_in_data, may_decide
from remit.doors.api.needs import Services, Tenant
from remit.errors import NotFound, Refused
from remit.model.principals import DEFAULT_TENANT, Principal
from remit.model.tools import ToolId
from remit.policy.engine import decide
from remit.policy.toolsets import Audience

ONLY_ADMINISTRATORS: Final = "only an administrator of the tenant may do this"
ONLY_OPERATORS: Final = "only an administrator of the installation may do this"
ONLY_REVIEWERS: Final = (
    "only an administrator of the tenant, or its user roles `admin`, `data` and `developer`,"
    " may do this"
)
ONLY_MEMBERS: Final = "only an administrator of the tenant, or a user role of it, may do this"
AUDITORS_READ: Final = "an auditor reads and changes nothing"

_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})

Reason = Annotated[
    str,
    Query(max_length=LONGEST_REASON, description="Why, in a line, for the record."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whoever has a credential that holds; may ask about itself.

    Attributes:
        tenant: Its own, or the one that it administers and has named.
        operation: Such as `keys.rotate`.
        request_id: Finds the request in the record.
        base: The root of this gateway's own URLs, as the caller reaches it.
    """

    principal: Principal
    tenant: Tenant
    services: Services = field(repr=False)
    operation: str
    request_id: str
    base: str

    def reason(self, given: str) -> str:
        """Return why, for the record: what the caller says, or what it does.

        Raises:
            BadCall: That does not do.
        """
        return checked_reason(given or self.operation)

    def change(self, reason: str, **what: object) -> Change:
        """Return what it asks to be changed, for the record.

        Raises:
            BadCall: The reason does not do.
        """
        return Change(
            id=self.request_id,
            tenant=self.tenant.key,
            author=self.principal.subject,
            operation=self.operation,
            what=what,
            reason=self.reason(reason),
            revision=self.tenant.policy.revision,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Member(Caller):
    """Whoever has to do with the data of `tenant`: a business user, or a reviewer (S2.1).

    Attributes:
        sees_all: Whether it sees what others suggest, as reviewers and auditors do; else it sees
            what is approved, and what it has suggested itself.
    """

    sees_all: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer(Caller):
    """Whoever decides on what others suggest for `tenant`, and changes its ontology (S2.19).

    Or an auditor, who reads what is there to be decided.
    """

    @asynccontextmanager
    async def making(self, reason: str, **what: object) -> AsyncGenerator[Progress]:
        """Record the change that the block makes; *what* holds no secret.

        Raises:
            BadCall: The reason does not do.
            AuditUnavailable: It cannot be recorded, so nothing is changed.
        """
        async with self.services.changes.making(self.change(reason, **what)) as progress:
            yield progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Administrator(Reviewer):
    """An administrator of `tenant`, or an auditor that reads. Neither grants use (R12)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator(Administrator):
    """An administrator of the installation: of the tenant `default`, where every other begins.

    Or an auditor of that tenant, who reads.
    """


async def caller(request: Request) -> Caller:
    """Give whoever asks, about itself.

    Raises:
        Refused: Its tenant is not served here.
    """
    principal, services = _asked_by(request)
    tenant = services.tenants.find(principal.tenant)
    if tenant is None:
        raise Refused("the tenant of this credential is not served here")
    return Caller(**_parts(request, principal, tenant, services))


_Meant = Annotated[
    str | None,
    Query(description="Name or UUID of the tenant that is meant; the caller's own if none."),
]


async def administrator(request: Request, tenant: _Meant = None) -> Administrator:
    """Give an administrator of the tenant that is meant, or an auditor of it who only reads.

    An administrator of the installation administers every tenant, and an auditor reads each.

    Raises:
        Refused: The caller is none; a change that it tried to make is on record.
        NotFound: There is no such tenant, and the caller would administer it if there were.
    """
    return await _administrator_of(request, tenant)


async def acting_administrator(request: Request, tenant: _Meant = None) -> Administrator:
    """Give an administrator of the tenant that is meant, and no auditor.

    For what changes nothing, and so is a GET, but runs programs or connects to something.

    Raises:
        RemitError: As `administrator` does.
    """
    by = await _administrator_of(request, tenant)
    if not by.principal.admin:
        raise Refused(ONLY_ADMINISTRATORS)
    return by


async def project_administrator(
    request: Request,
    tenant: Annotated[str, Path(description="Name or UUID of the project, which is a tenant.")],
) -> Administrator:
    """Give an administrator of the tenant that the path names, or an auditor who only reads.

    Raises:
        RemitError: As `administrator` does.
    """
    return await _administrator_of(request, tenant)


async def project_reviewer(
    request: Request,
    tenant: Annotated[str, Path(description="Name or UUID of the project, which is a tenant.")],
) -> Reviewer:
    """Give a reviewer of the tenant that the path names, or an auditor of it who only reads.

    Raises:
        RemitError: As `administrator` does.
    """
    meant = await _tenant_of_data(
        request, tenant, frozenset({Audience.DEVELOPER}), otherwise=ONLY_REVIEWERS
    )
    principal, services = _asked_by(request)
    return Reviewer(**_parts(request, principal, meant, services))


async def project_member(
    request: Request,
    tenant: Annotated[str, Path(description="Name or UUID of the project, which is a tenant.")],
) -> Member:
    """Give a reviewer or business user of the tenant that the path names, or a reading auditor.

    Raises:
        RemitError: As `administrator` does.
    """
    meant = await _tenant_of_data(
        request, tenant, frozenset({Audience.DEVELOPER, Audience.USER}), otherwise=ONLY_MEMBERS
    )
    principal, services = _asked_by(request)
    sees_all = may_decide(principal) or principal.auditor
    return Member(**_parts(request, principal, meant, services), sees_all=sees_all)


async def operator(request: Request) -> Operator:
    """Give an administrator of the installation, or an auditor of it who only reads.

    Raises:
        Refused: The caller is none; a change that it tried to make is on record.
    """
    principal, services = _asked_by(request)
    own = services.tenants.find(principal.tenant)
    if own is None or not (principal.tenant == DEFAULT_TENANT and _is_trusted(request, principal)):
        raise await _refusal(request, principal, services, ONLY_OPERATORS)
    return Operator(**_parts(request, principal, own, services))


RULES: Final[Mapping[Callable[..., Awaitable[Caller]], str]] = {
    caller: "any caller about itself",
    administrator: "administrator of the tenant",
    acting_administrator: "administrator of the tenant, no auditor",
    project_administrator: "administrator of the tenant",
    project_reviewer: "reviewer of the tenant",
    project_member: "business user or reviewer of the tenant",
    operator: "administrator of the installation",
}
"""What gives a route its caller, and what the OpenAPI document calls that rule."""

Anybody = Annotated[Caller, Depends(caller)]
ByAdministrator = Annotated[Administrator, Depends(administrator)]
ByActingAdministrator = Annotated[Administrator, Depends(acting_administrator)]
ByProjectAdministrator = Annotated[Administrator, Depends(project_administrator)]
ByProjectReviewer = Annotated[Reviewer, Depends(project_reviewer)]
ByProjectMember = Annotated[Member, Depends(project_member)]
ByOperator = Annotated[Operator, Depends(operator)]


def rule_of(route: APIRoute) -> str:
    """Return the rule of a route.

    Raises:
        TypeError: It has none, or several.
    """
    found = list(_rules_in(route.dependant))
    if len(found) != 1:
        raise TypeError(f"{route.path}: a route has one rule, not {found or 'none'}")
    return found[0]


def _rules_in(dependant: Dependant) -> list[str]:
    own = [rule for give, rule in RULES.items() if give is dependant.call]
    return [*own, *(rule for each in dependant.dependencies for rule in _rules_in(each))]


async def _administrator_of(request: Request, tenant: str | None) -> Administrator:
    principal, services = _asked_by(request)
    own = services.tenants.find(principal.tenant)
    meant = own if tenant is None else services.tenants.find(tenant)
    if not _reaches(request, principal, own, meant):
        raise await _refusal(request, principal, services, ONLY_ADMINISTRATORS)
    if meant is None:
        raise NotFound(f"there is no tenant {(tenant or '')[:80]!r}")
    return Administrator(**_parts(request, principal, meant, services))


async def _tenant_of_data(
    request: Request, tenant: str, audiences: Collection[Audience], *, otherwise: str
) -> Tenant:
    """Return the tenant that is meant, to its administrators and to *audiences* of its own.

    To an auditor of it, too, who only reads.

    Raises:
        Refused: The caller is neither, or the rules close the `data` server to it; a change that
            it tried to make is on record.
        NotFound: There is no such tenant, and the caller would administer it if there were.
    """
    principal, services = _asked_by(request)
    own, meant = services.tenants.find(principal.tenant), services.tenants.find(tenant)
    if _reaches(request, principal, own, meant):
        if meant is None:
            raise NotFound(f"there is no tenant {tenant[:80]!r}")
        return meant
    is_one = audience_in_data(principal) in audiences and not _would_act(request, principal)
    if meant is None or meant is not own or not is_one or not _is_let_in(principal, meant):
        raise await _refusal(request, principal, services, otherwise)
    return meant


def _reaches(
    request: Request, principal: Principal, own: Tenant | None, meant: Tenant | None
) -> bool:
    """Whether it administers the tenant that is meant, or audits it and only reads."""
    if own is None or not _is_trusted(request, principal):
        return False
    return meant is own or principal.tenant == DEFAULT_TENANT


def _is_trusted(request: Request, principal: Principal) -> bool:
    return principal.admin or (principal.auditor and request.method in _READING)


def _would_act(request: Request, principal: Principal) -> bool:
    """Whether an auditor tries to change something, which no other hat of it allows either."""
    return principal.auditor and request.method not in _READING


def _is_let_in(principal: Principal, tenant: Tenant) -> bool:
    """Whether the rules open the `data` server at all: an explicit deny counts here, too (R8)."""
    policy = tenant.policy
    everybodys = ToolId(data_server_of(policy.declaration), "health")
    return decide(policy.snapshot, principal, everybodys).allowed


def _asked_by(request: Request) -> tuple[Principal, Services]:
    """Return what the edge of the door put there once the credential held."""
    return request.scope["remit.principal"], request.scope["remit.services"]


def is_operator(principal: Principal) -> bool:
    """Whether it administers the installation, and so every tenant."""
    return principal.admin and principal.tenant == DEFAULT_TENANT


def _parts(
    request: Request, principal: Principal, tenant: Tenant, services: Services
) -> dict[str, Any]:
    return {
        "principal": principal,
        "tenant": tenant,
        "services": services,
        "operation": _operation(request),
        "request_id": request.scope["remit.request_id"],
        "base": request.scope["remit.base"],
    }


def _operation(request: Request) -> str:
    return cast("APIRoute", request.scope["route"]).operation_id or ""


async def _refusal(
    request: Request, principal: Principal, services: Services, otherwise: str
) -> Refused:
    """Return what to answer; a refused attempt at a change is on record then, as reading is not."""
    if request.method in _READING:
        return Refused(otherwise)
    return await refused_change(
        services,
        principal,
        operation=_operation(request),
        request_id=request.scope["remit.request_id"],
        otherwise=otherwise,
    )


async def refused_change(
    services: Services, principal: Principal, *, operation: str, request_id: str, otherwise: str
) -> Refused:
    """Return what to answer to an attempt at a change by somebody who may not; it is on record.

    Args:
        services: What the API asks.
        principal: Who tried.
        operation: At what, such as `keys.create`.
        request_id: Finds the attempt in the record.
        otherwise: Why it may not; of an auditor it is that one changes nothing.

    Raises:
        AuditUnavailable: It can be written nowhere.
    """
    own = services.tenants.find(principal.tenant)
    reason = AUDITORS_READ if principal.auditor else otherwise
    change = Change(
        id=request_id,
        tenant=principal.tenant,
        author=principal.subject,
        operation=operation,
        revision=0 if own is None else own.policy.revision,
    )
    await services.changes.refused(change, reason, Refused.code)
    return Refused(reason)
