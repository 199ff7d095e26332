import time
import uuid
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal

import anyio
import pytest
from tests.calls.worlds import NOON, caller, declared

from remit.calls.ids import new_id
from remit.calls.inforce import LEAST_WAIT, PolicyInForce
from remit.errors import DeclarationError
from remit.model.declaration import AuditSettings
from remit.model.grants import Grant
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId
from remit.policy.engine import decide


def test_the_policy_in_force_is_one_revision_of_declaration_and_snapshot() -> None:
    declaration = declared([Role(name="clerk")], ["git"], AuditSettings(body_cap=100))

    policy = PolicyInForce(declaration, tenant="acme", revision=3)

    assert policy.declaration is declaration
    assert (policy.snapshot.tenant, policy.snapshot.revision) == ("acme", 3)
    assert policy.revision == 3
    assert policy.body_cap() == 100
    assert policy.server("git") is declaration.servers["git"]
    assert policy.server("nosuch") is None


def test_a_caller_is_told_why_as_soon_as_one_of_its_roles_is() -> None:
    # R14
    roles = [Role(name="quiet"), Role(name="open", denials="explain")]
    policy = PolicyInForce(declared(roles), tenant="default", revision=1)

    assert policy.explains_denials(caller("quiet", "open"))
    assert not policy.explains_denials(caller("quiet"))
    assert not policy.explains_denials(caller("nosuch"))
    assert not policy.explains_denials(caller())


async def test_a_swap_puts_everything_of_another_revision_in_force_at_once() -> None:
    # R17: whoever reads declaration and snapshot never sees halves
    old = declared([Role(name="clerk")], ["git"])
    new = declared([Role(name="clerk", denials="explain")], ["hub"], AuditSettings(body_cap=1))
    policy = PolicyInForce(old, tenant="acme", revision=3)
    before = policy.current

    policy.swap(new, revision=4)

    assert before.declaration is old
    assert before.snapshot.revision == 3
    assert policy.current.declaration is policy.declaration is new
    assert (policy.snapshot.revision, policy.revision) == (4, 4)
    assert (policy.snapshot.tenant, policy.body_cap()) == ("acme", 1)
    assert policy.server("git") is None
    assert policy.explains_denials(caller("clerk", tenant="acme"))


def test_what_cannot_be_compiled_leaves_what_is_in_force() -> None:
    policy = PolicyInForce(declared([Role(name="clerk")]), tenant="acme", revision=3)
    before = policy.current

    with pytest.raises(DeclarationError):
        policy.swap(declared([Role(name="clerk", allow=("bare",))]), revision=4)

    assert policy.current is before


async def test_whoever_waits_for_a_change_hears_of_every_swap() -> None:
    policy = PolicyInForce(declared([]), tenant="acme", revision=1)
    heard: list[int] = []
    first = await policy.wait(-1)

    async def listen() -> None:
        heard.append(await policy.wait(first))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        assert heard == []
        policy.swap(declared([]), revision=2)

    assert heard == [first + 1]
    assert await policy.wait(first) == first + 1


def test_a_grant_that_ends_counts_no_more_from_that_moment_on() -> None:
    # S4.16
    clock = [NOON]
    grant = Grant(
        subject="key:ci", effect="allow", server="wiki", until=NOON + timedelta(seconds=5)
    )
    servers = [ServerConfig(name="wiki", default_access="deny")]
    declaration = replace(declared([Role(name="reader", allow=("*/*",))], servers), grants=(grant,))
    policy = PolicyInForce(declaration, tenant="default", revision=1, now=lambda: clock[0])

    def may() -> bool:
        return decide(policy.snapshot, caller("reader"), ToolId("wiki", "read")).allowed

    before = policy.snapshot
    assert may()
    assert policy.snapshot is before

    clock[0] += timedelta(seconds=5)

    assert not may()
    assert policy.snapshot is policy.snapshot is not before


@pytest.mark.parametrize("effect", ["allow", "deny"])
async def test_whoever_waits_for_a_change_hears_of_the_end_of_a_grant(
    effect: Literal["allow", "deny"],
) -> None:
    # R17: nobody asks anything, and nothing happens but that the time is over
    began, clock = anyio.current_time(), NOON
    ends = (NOON + timedelta(seconds=0.2), NOON + timedelta(seconds=0.4))
    grants = tuple(
        Grant(subject="key:ci", effect=effect, server="wiki", until=until) for until in ends
    )
    policy = PolicyInForce(
        replace(declared([], ["wiki"]), grants=grants),
        tenant="default",
        revision=1,
        now=lambda: clock + timedelta(seconds=anyio.current_time() - began),
    )
    heard = [await policy.wait(-1)]

    with anyio.fail_after(20):
        for _ in ends:
            heard.append(await policy.wait(heard[-1]))

    assert heard == [0, 1, 2]
    assert anyio.current_time() - began >= 0.4
    with anyio.move_on_after(0.2) as waiting:
        await policy.wait(heard[-1])
    assert waiting.cancelled_caught


async def test_a_clock_that_stands_before_the_end_of_a_grant_is_not_asked_all_the_time() -> None:
    asked = 0

    def now() -> datetime:
        nonlocal asked
        asked += 1
        return NOON

    until = NOON + timedelta(microseconds=1)
    grant = Grant(subject="key:ci", effect="deny", server="wiki", until=until)
    declaration = replace(declared([], ["wiki"]), grants=(grant,))
    policy = PolicyInForce(declaration, tenant="default", revision=1, now=now)

    with anyio.move_on_after(3 * LEAST_WAIT):
        await policy.wait(0)

    assert asked <= 12  # two askings a look, and those of the beginning


def test_an_id_is_a_uuid_of_the_kind_that_sorts_by_time() -> None:
    identifier = uuid.UUID(new_id())

    assert identifier.version == 7
    assert identifier.variant == uuid.RFC_4122
    assert str(identifier) == str(identifier).lower()


def test_an_id_begins_with_the_milliseconds_of_the_clock() -> None:
    before = time.time_ns() // 1_000_000
    millis = int(new_id().replace("-", "")[:12], 16)

    assert before <= millis <= time.time_ns() // 1_000_000


def test_ids_are_unique_and_sort_by_the_time_at_which_they_were_made() -> None:
    ids = [new_id() for _ in range(2000)]

    assert len(set(ids)) == 2000
    times = [identifier[:18] for identifier in ids]  # the rest is random
    assert times == sorted(times)
    assert len({identifier[15:18] for identifier in ids}) > 1  # finer than milliseconds
