"""Who may use a route: a rule for each, declared in the route's own parameters.

A route's function asks for an `Administrator`, an `Operator` or a `Caller`, and FastAPI gives it
one only when the rule is kept. There is no way to the services but through one of them, so a route
without a rule can do nothing; `rule_of` fails the build for it all the same.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, cast

from fastapi import Depends, Path, Query
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.requests import Request

from remit.admin.change_record import Change, Progress
from remit.admin.editor import LONGEST_REASON, checked_reason
from remit.doors.api.needs import Services, Tenant
from remit.errors import NotFound, Refused
from remit.model.principals import DEFAULT_TENANT, Principal

ONLY_ADMINISTRATORS: Final = "only an administrator of the tenant may do this"
ONLY_OPERATORS: Final = "only an administrator of the installation may do this"

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
class Administrator(Caller):
    """An administrator of `tenant`. Administering never grants use (R12)."""

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
class Operator(Administrator):
    """An administrator of the installation: of the tenant `default`, where every other begins."""


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


async def administrator(
    request: Request,
    tenant: Annotated[
        str | None,
        Query(description="Name or UUID of the tenant that is meant; the caller's own if none."),
    ] = None,
) -> Administrator:
    """Give an administrator of the tenant that is meant.

    An administrator of the installation administers every tenant.

    Raises:
        Refused: The caller is none; a change that it tried to make is on record.
        NotFound: There is no such tenant, and the caller would administer it if there were.
    """
    return await _administrator_of(request, tenant)


async def project_administrator(
    request: Request,
    tenant: Annotated[str, Path(description="Name or UUID of the project, which is a tenant.")],
) -> Administrator:
    """Give an administrator of the tenant that the path names.

    Raises:
        RemitError: As `administrator` does.
    """
    return await _administrator_of(request, tenant)


async def operator(request: Request) -> Operator:
    """Give an administrator of the installation.

    Raises:
        Refused: The caller is none; a change that it tried to make is on record.
    """
    principal, services = _asked_by(request)
    own = services.tenants.find(principal.tenant)
    if own is None or not is_operator(principal):
        await _note_refusal(request, principal, own, services, ONLY_OPERATORS)
        raise Refused(ONLY_OPERATORS)
    return Operator(**_parts(request, principal, own, services))


RULES: Final[Mapping[Callable[..., Awaitable[Caller]], str]] = {
    caller: "any caller about itself",
    administrator: "administrator of the tenant",
    project_administrator: "administrator of the tenant",
    operator: "administrator of the installation",
}
"""What gives a route its caller, and what the OpenAPI document calls that rule."""

Anybody = Annotated[Caller, Depends(caller)]
ByAdministrator = Annotated[Administrator, Depends(administrator)]
ByProjectAdministrator = Annotated[Administrator, Depends(project_administrator)]
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
    is_own = own is not None and meant is own
    if own is None or not principal.admin or not (is_own or is_operator(principal)):
        await _note_refusal(request, principal, own, services, ONLY_ADMINISTRATORS)
        raise Refused(ONLY_ADMINISTRATORS)
    if meant is None:
        raise NotFound(f"there is no tenant {(tenant or '')[:80]!r}")
    return Administrator(**_parts(request, principal, meant, services))


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


async def _note_refusal(
    request: Request, principal: Principal, own: Tenant | None, services: Services, reason: str
) -> None:
    """Put a refused attempt at a change on record; reading is no change."""
    if request.method in _READING:
        return
    change = Change(
        id=request.scope["remit.request_id"],
        tenant=principal.tenant,
        author=principal.subject,
        operation=_operation(request),
        revision=0 if own is None else own.policy.revision,
    )
    await services.changes.refused(change, reason, Refused.code)
