"""Grants that end: policy has no clock, so a snapshot is compiled for a moment (S4.16)."""

from datetime import UTC, datetime, timedelta

from remit.model.declaration import Declaration
from remit.model.grants import Grant
from remit.model.principals import Principal, PrincipalKind
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId
from remit.policy.engine import decide
from remit.policy.snapshot import PolicySnapshot, compile_snapshot

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
KEY = Principal(kind=PrincipalKind.KEY, name="ci", roles=("dev",))


def declared(*grants: Grant) -> Declaration:
    return Declaration(
        servers={
            "git": ServerConfig(name="git"),
            "ci": ServerConfig(name="ci"),
            "wiki": ServerConfig(name="wiki", default_access="deny"),
        },
        roles={"dev": Role(name="dev", allow=("*/*",))},
        grants=grants,
    )


def test_a_grant_counts_until_its_end_and_not_at_it() -> None:
    declaration = declared(
        Grant(subject="key:ci", effect="allow", server="wiki", until=NOON),
        Grant(subject="key:ci", effect="deny", tool="git/log", until=NOON + timedelta(hours=1)),
        Grant(subject="key:ci", effect="deny", tool="ci/*", until=NOON - timedelta(days=1)),
    )
    early = compile_snapshot(
        declaration, tenant="default", revision=1, now=NOON - timedelta(hours=1)
    )

    def answers(at: PolicySnapshot) -> list[bool]:
        tools = (ToolId("wiki", "read"), ToolId("git", "log"), ToolId("ci", "run"))
        return [decide(at, KEY, tool).allowed for tool in tools]

    assert (early.good_until, answers(early)) == (NOON, [True, False, True])
    noon = early.at(NOON)
    assert early.at(NOON - timedelta(seconds=1)) is early
    assert (noon.good_until, answers(noon)) == (NOON + timedelta(hours=1), [False, False, True])
    late = noon.at(NOON + timedelta(hours=1))
    assert (late.good_until, answers(late)) == (None, [False, True, True])
    assert late.at(NOON + timedelta(days=9)) is late


def test_without_a_moment_no_allow_that_ends_counts_and_every_deny_does() -> None:
    far = NOON + timedelta(days=999)
    declaration = declared(
        Grant(subject="*", effect="allow", server="wiki", until=far),
        Grant(subject="*", effect="deny", server="git", until=NOON - timedelta(days=999)),
    )
    timeless = compile_snapshot(declaration, tenant="default", revision=1)

    assert timeless.good_until is None
    assert not decide(timeless, KEY, ToolId("wiki", "read")).allowed
    assert not decide(timeless, KEY, ToolId("git", "log")).allowed
