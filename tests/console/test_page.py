"""What somebody is to the console."""

import pytest

from remit.doors.console.page import Role, roles_of
from remit.model.principals import Principal, PrincipalKind, UserRole


@pytest.mark.parametrize(
    ("what", "roles"),
    [
        ({}, set[Role]()),
        ({"admin": True}, {Role.ADMINISTRATOR}),
        ({"auditor": True}, {Role.AUDITOR}),
        ({"auditor": True, "user_roles": (UserRole.DATA, UserRole.USER)}, {Role.AUDITOR}),
        ({"user_roles": (UserRole.USER,)}, {Role.USER}),
        ({"user_roles": (UserRole.ADMIN,)}, {Role.REVIEWER}),
        ({"user_roles": (UserRole.USER, UserRole.DEVELOPER)}, {Role.USER, Role.REVIEWER}),
        ({"roles": ("tech_lead",), "service": True}, set[Role]()),
    ],
)
def test_an_auditor_is_nothing_that_decides_whatever_else_it_is(
    what: dict[str, object], roles: set[Role]
) -> None:
    principal = Principal(kind=PrincipalKind.USER, name="ann", **what)  # pyright: ignore[reportArgumentType] - what each case says

    assert roles_of(principal) == roles | {Role.ANYBODY}
