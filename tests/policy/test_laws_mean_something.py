"""The laws are about something: what they draw is allowed often and refused often (issue 3)."""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policy import test_laws, test_laws_of_hats

from remit.model.decisions import Decision, Layer
from remit.model.declaration import Declaration
from remit.model.principals import Principal
from remit.model.tools import ToolId
from remit.policy.engine import decide, decide_for

DRAWN = 600
LEAST = 0.04
"""The share of what is drawn that each side of a law must have."""

draws = settings(deadline=None, max_examples=DRAWN, database=None, derandomize=True)


def of_roles(said: list[Decision]) -> None:
    @draws
    @given(declaration=test_laws.declarations, held=test_laws.held_roles, tool=test_laws.tools)
    def ask(declaration: Declaration, held: tuple[str, ...], tool: ToolId) -> None:
        said.append(decide(test_laws.compiled(declaration), test_laws.caller(held), tool))

    ask()


def of_hats(said: list[Decision]) -> None:
    @draws
    @given(
        declaration=test_laws_of_hats.declarations,
        principal=test_laws_of_hats.principals,
        tool=test_laws_of_hats.tools,
    )
    def ask(declaration: Declaration, principal: Principal, tool: ToolId) -> None:
        said.append(decide(test_laws_of_hats.compiled(declaration), principal, tool))

    ask()


@pytest.mark.parametrize("draw", [of_roles, of_hats])
def test_what_the_laws_draw_is_allowed_often_and_refused_often_by_every_layer_they_are_about(
    draw: Callable[[list[Decision]], None],
) -> None:
    said: list[Decision] = []

    draw(said)

    by_layer = Counter(one.layer for one in said if not one.allowed)
    least = LEAST * len(said)
    assert len(said) >= DRAWN / 2
    assert sum(one.allowed for one in said) > least
    assert min(by_layer[layer] for layer in (Layer.SERVER, Layer.DENY, Layer.CEILING)) > least
    assert by_layer[Layer.ACCESS] > 0


def test_acting_for_another_is_drawn_where_it_shrinks_and_where_it_does_not() -> None:
    pairs: Counter[tuple[bool, bool]] = Counter()

    @draws
    @given(
        declaration=test_laws_of_hats.declarations,
        actor=test_laws_of_hats.principals,
        other=test_laws_of_hats.principals,
        data=st.data(),
    )
    def ask(
        declaration: Declaration, actor: Principal, other: Principal, data: st.DataObject
    ) -> None:
        tool = data.draw(test_laws_of_hats.tools)
        snapshot = test_laws_of_hats.compiled(declaration)
        own = decide(snapshot, actor, tool).allowed
        theirs = decide(snapshot, other, tool).allowed
        assert decide_for(snapshot, actor, other, tool).allowed is (own and theirs)
        pairs[own, theirs] += 1

    ask()

    assert min(pairs[pair] for pair in ((True, False), (False, True), (False, False))) > 0
    assert pairs[True, True] > 0
