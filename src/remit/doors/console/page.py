"""What a page of the console is: where it stands, who reads it, and what can be done there."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from remit.model.principals import Principal, UserRole

if TYPE_CHECKING:
    from remit.doors.console.visitor import Visitor

Show = Callable[["Visitor"], Awaitable[Response]]
"""Answers one request of somebody who may make it; path parameters are in `visitor.path`."""


class Role(StrEnum):
    """What somebody who is signed in is to the console; one may be several."""

    ADMINISTRATOR = "administrator"
    AUDITOR = "auditor"
    REVIEWER = "reviewer"
    USER = "user"
    ANYBODY = "anybody"


ADMINISTRATORS: Final = frozenset({Role.ADMINISTRATOR})
READERS: Final = frozenset({Role.ADMINISTRATOR, Role.AUDITOR})
DECIDERS: Final = frozenset({Role.ADMINISTRATOR, Role.REVIEWER})
REVIEWERS: Final = frozenset({Role.ADMINISTRATOR, Role.AUDITOR, Role.REVIEWER})
MEMBERS: Final = frozenset({Role.ADMINISTRATOR, Role.AUDITOR, Role.REVIEWER, Role.USER})
EVERYBODY: Final = frozenset(Role)

_REVIEWING: Final = frozenset({UserRole.ADMIN, UserRole.DATA, UserRole.DEVELOPER})


def roles_of(principal: Principal) -> frozenset[Role]:
    """Return what *principal* is to the console; the API decides again about each request."""
    found = {Role.ANYBODY}
    if principal.admin:
        found.add(Role.ADMINISTRATOR)
    if principal.auditor:
        found.add(Role.AUDITOR)
        return frozenset(found)  # it changes nothing, whatever else it is
    if _REVIEWING & set(principal.user_roles):
        found.add(Role.REVIEWER)
    if UserRole.USER in principal.user_roles:
        found.add(Role.USER)
    return frozenset(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A path below `/console` that belongs to a page.

    Attributes:
        path: As Starlette writes it, such as `/servers/{name}/restart`.
        run: Answers; a POST that comes here has a token of the visitor's own session.
        who: One of these roles is needed.
        method: `GET` or `POST`.
        counts: Whether somebody is there who asks; what a page asks by itself keeps no session
            alive.
        is_of_tenant: Whether a form that comes here means the tenant that its page was about.
        makes: What the API calls the change that is asked for here, such as `keys.create`, or what
            tells; empty where nothing is changed. What somebody may not is on record as that.
    """

    path: str
    run: Show
    who: frozenset[Role]
    method: str = "POST"
    counts: bool = True
    is_of_tenant: bool = True
    makes: "str | Callable[[Visitor], str]" = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page that the navigation leads to.

    Attributes:
        key: As `servers`: names its template, its pictures and its place in tests.
        path: Below `/console`.
        title: As the navigation has it.
        group: Heading of the navigation that it stands under.
        show: Answers a GET of `path`.
        who: Whoever has one of these roles sees it.
        actions: What else belongs to it.
    """

    key: str
    path: str
    title: str
    group: str
    show: Show
    who: frozenset[Role]
    actions: tuple[Action, ...] = ()
