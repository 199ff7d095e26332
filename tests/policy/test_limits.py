"""Which limits a call falls under, and what tells one count from another (issue 4)."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.model.declaration import Declaration
from remit.model.limits import Allowance, Limit
from remit.model.principals import Principal, PrincipalKind
from remit.model.tools import ToolId
from remit.policy.limits import LimitRules
from remit.policy.snapshot import compile_snapshot

LOG, PUSH, FIND = ToolId("git", "log"), ToolId("git", "push"), ToolId("jira", "find")


def caller(name: str = "ci", *roles: str) -> Principal:
    return Principal(kind=PrincipalKind.KEY, name=name, roles=roles)


def user(name: str, issuer: str) -> Principal:
    return Principal(kind=PrincipalKind.USER, name=name, issuer=issuer)


def limit(
    *, role: str = "", principal: str = "", tool: str = "", calls: int = 5, per_caller: bool = True
) -> Limit:
    return Limit(
        role=role, principal=principal, tool=tool, calls=calls, seconds=60, per_caller=per_caller
    )


def rules_of(rules: LimitRules, principal: Principal, tool: ToolId = LOG) -> list[str]:
    return [allowance.rule for allowance in rules.allowances(principal, tool)]


def key(declared: Limit, principal: Principal, tool: ToolId = LOG, tenant: str = "default") -> str:
    (allowance,) = LimitRules(tenant, [declared]).allowances(principal, tool)
    return allowance.key


def test_without_limits_nothing_counts() -> None:
    assert LimitRules("default").allowances(caller(), LOG) == ()


def test_an_allowance_says_what_its_limit_says() -> None:
    rules = LimitRules("default", [limit(role="other"), limit(calls=7)])

    (allowance,) = rules.allowances(caller(), LOG)

    assert allowance == Allowance(
        key=allowance.key, calls=7, seconds=60, rule="limits[1]", rate="7 calls per minute"
    )


@pytest.mark.parametrize(
    ("calls", "seconds", "rate"),
    [
        (1, 1, "1 call per second"),
        (2, 3600, "2 calls per hour"),
        (3, 86_400, "3 calls per day"),
        (4, 61, "4 calls per 61 seconds"),
    ],
)
def test_a_rate_in_words(calls: int, seconds: int, rate: str) -> None:
    assert Limit(calls=calls, seconds=seconds).rate == rate


def test_what_is_left_out_narrows_nothing_and_what_is_said_must_all_hold() -> None:
    rules = LimitRules(
        "default",
        [
            limit(),
            limit(role="clerk"),
            limit(principal="key:ci"),
            limit(tool="git/*"),
            limit(role="clerk", principal="key:ci", tool="git/push"),
        ],
    )
    every = [f"limits[{at}]" for at in range(5)]

    assert rules_of(rules, caller("ci", "other", "clerk"), PUSH) == every
    assert rules_of(rules, caller("ci", "clerk"), LOG) == every[:4]
    assert rules_of(rules, caller("ci", "clerk"), FIND) == every[:3]
    assert rules_of(rules, caller("ci"), PUSH) == ["limits[0]", "limits[2]", "limits[3]"]
    assert rules_of(rules, caller("cd", "clerk"), FIND) == every[:2]
    assert rules_of(rules, user("ci", "https://idp"), FIND) == ["limits[0]"]


def test_patterns_are_those_of_policy() -> None:
    # R15
    rules = LimitRules("default", [limit(tool="mcp__git__p*"), limit(tool="git/Log")])

    assert rules_of(rules, caller(), PUSH) == ["limits[0]"]
    assert rules_of(rules, caller(), LOG) == []


def test_each_caller_counts_for_itself() -> None:
    declared = limit(role="clerk")

    keys = [
        key(declared, caller("ci", "clerk")),
        key(declared, caller("cd", "clerk")),
        key(declared, caller("ci", "clerk"), tenant="other"),
        *(key(limit(), user("ann", issuer)) for issuer in ("https://a", "https://b")),
        key(limit(), caller("ann")),
    ]

    assert len(set(keys)) == len(keys)


def test_a_caller_is_the_same_whatever_else_it_is() -> None:
    assert key(limit(), caller("ci", "clerk")) == key(limit(), caller("ci", "other"))


def test_those_who_share_a_limit_count_together() -> None:
    declared = limit(per_caller=False)

    assert key(declared, caller("ci")) == key(declared, user("ann", "https://a"), PUSH)
    assert key(declared, caller("ci")) != key(declared, caller("ci"), tenant="other")
    assert key(declared, caller("ci")) != key(limit(), caller("ci"))


def test_the_calls_of_all_tools_that_fit_count_together() -> None:
    declared = limit(tool="git/*")

    assert key(declared, caller(), LOG) == key(declared, caller(), PUSH)


def test_limits_of_other_callers_tools_and_spans_are_counted_apart() -> None:
    here = caller("ci", "clerk")
    different = [
        limit(),
        limit(role="clerk"),
        limit(principal="key:ci"),
        limit(tool="git/*"),
        Limit(calls=5, seconds=61),
    ]

    keys = [key(one, here) for one in different]

    assert len(set(keys)) == len(keys)


def test_a_limit_that_is_moved_or_raised_goes_on_counting() -> None:
    before = LimitRules("default", [limit(tool="git/*", calls=2)])
    after = LimitRules("default", [limit(role="x"), limit(tool="git/*", calls=9)])

    (old,), (new,) = (rules.allowances(caller(), LOG) for rules in (before, after))

    assert old.key == new.key
    assert (old.calls, new.calls) == (2, 9)


@pytest.mark.parametrize("order", list(itertools.permutations([3, 2, 5])))
def test_of_limits_about_the_same_the_strictest_counts(order: tuple[int, ...]) -> None:
    rules = LimitRules("default", [limit(calls=calls) for calls in order])

    (allowance,) = rules.allowances(caller(), LOG)

    assert allowance.calls == 2
    assert allowance.rule == f"limits[{order.index(2)}]"


def test_of_two_that_are_the_same_the_first_is_named() -> None:
    assert rules_of(LimitRules("default", [limit(), limit()]), caller()) == ["limits[0]"]


def test_keys_are_the_same_in_every_process() -> None:
    # a key that changed with a release would start every window anew
    assert key(limit(role="clerk", tool="git/*"), caller("ci", "clerk")) == (
        "fb4f24d9ca7f96a202610e96bf7b9ebc"
    )


def test_a_snapshot_has_the_limits_of_its_declaration_and_tenant() -> None:
    declaration = Declaration(limits=(limit(),))

    keys = {
        compile_snapshot(declaration, tenant=tenant, revision=1).limits.allowances(caller(), LOG)
        for tenant in ("default", "other")
    }

    assert keys == {
        LimitRules(t, [limit()]).allowances(caller(), LOG) for t in ("default", "other")
    }


def test_an_answer_is_remembered_for_whom_and_what_it_was_given() -> None:
    declared = [limit(role="clerk"), limit(principal="key:ci", tool="git/*")]
    rules = LimitRules("default", declared)
    callers = [caller("ci", "clerk"), caller("ci"), caller("cd", "clerk"), user("ci", "a")]
    questions = [(one, tool) for one in callers for tool in (LOG, PUSH, FIND)]

    first = [rules.allowances(*question) for question in questions]

    assert first == [LimitRules("default", declared).allowances(*one) for one in questions]
    for question, answer in zip(questions, first, strict=True):
        assert rules.allowances(*question) is answer


LIMITS = st.lists(
    st.builds(
        Limit,
        role=st.sampled_from(["", "clerk", "other"]),
        principal=st.sampled_from(["", "key:ci", "key:cd"]),
        tool=st.sampled_from(["", "git/*", "git/log", "*/find"]),
        calls=st.integers(1, 9),
        seconds=st.sampled_from([1, 60]),
        per_caller=st.booleans(),
    ),
    max_size=6,
)


@given(LIMITS, st.data())
def test_order_never_matters(limits: list[Limit], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(limits))
    here = caller("ci", "clerk")

    def counted(declared: list[Limit]) -> set[tuple[str, int]]:
        found = LimitRules("default", declared).allowances(here, LOG)
        return {(allowance.key, allowance.calls) for allowance in found}

    assert counted(limits) == counted(shuffled)
