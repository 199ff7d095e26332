"""The snapshot: immutable, remembering, and bounded in what it remembers."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from remit.errors import DeclarationError
from remit.model.declaration import Declaration
from remit.model.principals import Principal, PrincipalKind
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId
from remit.policy.callers import standing_of
from remit.policy.engine import decide
from remit.policy.memo import Memo
from remit.policy.snapshot import MOST_CALLERS, MOST_DECISIONS, compile_snapshot

DECLARATION = Declaration(
    servers={"s": ServerConfig(name="s")},
    roles={"r": Role(name="r", tools={"s": ("x",)}), "q": Role(name="q", allow=("s/y",))},
)
READER = Principal(kind=PrincipalKind.ROLE, name="r", roles=("r",))


def test_a_snapshot_knows_its_tenant_and_revision() -> None:
    snapshot = compile_snapshot(DECLARATION, tenant="acme", revision=3)

    assert (snapshot.tenant, snapshot.revision) == ("acme", 3)
    assert (list(snapshot.servers), list(snapshot.roles)) == (["s"], ["r", "q"])


def test_a_snapshot_cannot_be_changed() -> None:
    snapshot: Any = compile_snapshot(DECLARATION, tenant="acme", revision=3)

    with pytest.raises(FrozenInstanceError):
        snapshot.revision = 4
    for mapping in (
        snapshot.servers,
        snapshot.roles,
        snapshot.roles["r"].named,
        snapshot.roles["r"].servers,
    ):
        with pytest.raises(TypeError):
            mapping["new"] = None


@pytest.mark.parametrize("role", [Role(name="r", allow=("*",)), Role(name="r", deny=("db",))])
def test_a_bad_pattern_makes_no_snapshot(role: Role) -> None:
    # R15: the one in use stays.
    with pytest.raises(DeclarationError, match="names no server"):
        compile_snapshot(Declaration(roles={"r": role}), tenant="acme", revision=1)


def test_a_decision_made_once_is_remembered() -> None:
    snapshot = compile_snapshot(DECLARATION, tenant="default", revision=1)

    first = decide(snapshot, READER, ToolId("s", "x"))

    assert decide(snapshot, READER, ToolId("s", "x")) is first
    assert len(snapshot.decisions) == 1


def test_what_is_remembered_is_told_apart_by_tenant_roles_and_tool() -> None:
    snapshot = compile_snapshot(DECLARATION, tenant="default", revision=1)
    stranger = Principal(kind=PrincipalKind.ROLE, name="r", roles=("r",), tenant="other")
    other_role = Principal(kind=PrincipalKind.ROLE, name="r", roles=("q",))

    answers = [
        decide(snapshot, principal, ToolId("s", name)).allowed
        for name in ("x", "y")
        for principal in (READER, stranger, other_role)
    ]

    assert answers == [True, False, False, False, False, True]
    assert len(snapshot.decisions) == 6


def test_the_memo_forgets_rather_than_grow() -> None:
    memo = Memo[str, int](2)

    sizes: list[int] = []
    for number, question in enumerate(("a", "b", "c")):
        memo.keep(question, number)
        sizes.append(len(memo))

    assert sizes == [1, 2, 1]
    assert memo.find("a") is None
    assert memo.find("c") == 2


def test_every_memo_of_a_snapshot_is_bounded() -> None:
    snapshot = compile_snapshot(DECLARATION, tenant="default", revision=1)
    decision = decide(snapshot, READER, ToolId("s", "x"))
    standing = standing_of(snapshot, READER)

    for number in range(MOST_DECISIONS):
        snapshot.decisions.keep((standing, ToolId("s", str(number))), decision)
    for number in range(MOST_CALLERS):
        standing_of(snapshot, Principal(kind=PrincipalKind.ROLE, name="r", roles=(str(number),)))

    assert len(snapshot.decisions) == 1
    assert len(snapshot.standings) == len(snapshot.recognised) == 1


def test_who_wears_the_same_hats_shares_a_standing_and_is_recognised() -> None:
    snapshot = compile_snapshot(DECLARATION, tenant="default", revision=1)
    other = Principal(kind=PrincipalKind.USER, name="ann", roles=("r",))

    first = standing_of(snapshot, READER)

    assert standing_of(snapshot, other) is standing_of(snapshot, READER) is first
    assert (len(snapshot.standings), len(snapshot.recognised)) == (1, 2)


def test_a_caller_that_was_seen_is_not_looked_up_again() -> None:
    snapshot = compile_snapshot(DECLARATION, tenant="default", revision=1)
    nobody = standing_of(snapshot, Principal(kind=PrincipalKind.ROLE, name="nobody"))

    snapshot.recognised.keep(id(READER), (READER, nobody))

    assert standing_of(snapshot, READER) is nobody
