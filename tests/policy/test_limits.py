"""Which limits a call falls under, and which of them are the same."""

from dataclasses import replace

import pytest

from remit.model.limits import Allowance, Limit
from remit.model.principals import Principal, PrincipalKind
from remit.model.tools import ToolId
from remit.policy.limits import LimitRules

ANN = Principal(kind=PrincipalKind.USER, name="ann", roles=("reader", "writer"), issuer="idp")
LOG = ToolId("git", "log")
ANY = Limit(calls=30, seconds=60)


def keys(*limits: Limit, caller: Principal = ANN, tenant: str = "acme") -> list[str]:
    return [one.key for one in LimitRules(tenant, limits).allowances(caller, LOG)]


def test_without_limits_nothing_has_to_be_kept_to() -> None:
    assert LimitRules("acme").allowances(ANN, LOG) == ()


def test_an_allowance_says_how_much_and_where_that_is_written() -> None:
    # The key is the same in every worker and version, since they count together.
    rules = LimitRules(
        "acme", [Limit(role="nobody", calls=1, seconds=1), Limit(tool="git/*", calls=2, seconds=90)]
    )

    assert rules.allowances(ANN, LOG) == (
        Allowance(
            key="20864cd41b08a6c8c1bc9347ed908831",
            calls=2,
            seconds=90,
            rule="limits[1]",
            rate="2 calls per 90 seconds",
        ),
    )


@pytest.mark.parametrize(
    ("limit", "binds"),
    [
        (ANY, True),
        (replace(ANY, role="writer"), True),
        (replace(ANY, role="owner"), False),
        (replace(ANY, principal="user:ann"), True),
        (replace(ANY, principal="key:ann"), False),
        (replace(ANY, tool="git/l*"), True),
        (replace(ANY, tool="mcp__git__log"), True),
        (replace(ANY, tool="git/push"), False),
        (replace(ANY, role="reader", principal="user:ann", tool="*/log"), True),
        (replace(ANY, role="owner", principal="user:ann", tool="*/log"), False),
        (replace(ANY, role="reader", principal="user:bob", tool="*/log"), False),
        (replace(ANY, role="reader", principal="user:ann", tool="*/push"), False),
    ],
)
def test_a_limit_binds_whom_and_what_it_names(limit: Limit, binds: bool) -> None:
    assert len(keys(limit)) == int(binds)


def test_every_limit_that_binds_has_to_be_kept_to_in_the_order_of_the_declaration() -> None:
    hourly = Limit(role="reader", calls=100, seconds=3600)
    rules = LimitRules("acme", [ANY, hourly])

    said = [(one.rule, one.calls, one.seconds) for one in rules.allowances(ANN, LOG)]

    assert said == [("limits[0]", 30, 60), ("limits[1]", 100, 3600)]


def test_a_limit_goes_on_counting_when_it_is_raised_or_moved() -> None:
    other = Limit(role="reader", calls=5, seconds=1)

    assert keys(other, replace(ANY, calls=60))[1:] == keys(ANY)


@pytest.mark.parametrize(
    "caller",
    [
        replace(ANN, name="bob"),
        replace(ANN, kind=PrincipalKind.KEY),
        replace(ANN, issuer="other"),
    ],
)
def test_each_caller_has_its_own_share_unless_all_share_one(caller: Principal) -> None:
    shared = replace(ANY, per_caller=False)

    assert keys(ANY, caller=caller) != keys(ANY)
    assert keys(shared, caller=caller) == keys(shared)
    assert keys(shared) != keys(ANY)


def test_tenants_and_limits_about_other_calls_count_apart() -> None:
    different = [
        ANY,
        replace(ANY, role="reader"),
        replace(ANY, principal="user:ann"),
        replace(ANY, tool="git/*"),
        replace(ANY, seconds=61),
    ]

    assert len({*keys(*different), *keys(ANY, tenant="other")}) == len(different) + 1


def test_of_limits_about_the_same_calls_the_strictest_counts() -> None:
    for calls, place in (((3, 2, 4), 1), ((2, 2), 0), ((1, 2), 0)):
        limits = [replace(ANY, calls=number) for number in calls]

        said = LimitRules("acme", limits).allowances(ANN, LOG)

        assert [(one.calls, one.rule) for one in said] == [(min(calls), f"limits[{place}]")]


def test_the_limits_of_a_caller_and_tool_are_looked_up_once() -> None:
    rules = LimitRules("acme", [replace(ANY, role="reader"), replace(ANY, tool="git/*")])
    first = rules.allowances(ANN, LOG)

    assert rules.allowances(replace(ANN, groups=("g",)), LOG) is first
    for caller, tool in (
        (replace(ANN, kind=PrincipalKind.KEY), LOG),
        (replace(ANN, name="bob"), LOG),
        (replace(ANN, issuer="other"), LOG),
        (replace(ANN, roles=()), LOG),
        (ANN, ToolId("wiki", "log")),
    ):
        assert rules.allowances(caller, tool) not in ((), first)
