import time
import uuid

from tests.calls.worlds import caller, declared

from remit.calls.ids import new_id
from remit.calls.inforce import PolicyInForce
from remit.model.declaration import AuditSettings
from remit.model.roles import Role


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
