"""Who gains or loses what by a change of grants and groups, of those whom these name (R10, R18)."""

from datetime import UTC, datetime
from typing import Any

import pytest

from remit.admin.changes import compare
from remit.admin.declaration import parse_document
from remit.admin.named_changes import MOST_NAMED, find_named, named_by, named_changes
from remit.admin.subjects import Subjects
from remit.model.agents import Agent
from remit.model.keys import Key
from remit.model.principals import AgentType
from remit.testing.fakes import InMemoryAgents, InMemoryKeys, InMemoryUsers

NOW = datetime(2026, 11, 29, tzinfo=UTC)
DOCUMENT: dict[str, Any] = {
    "mcp_servers": {
        "git": {"command": "x", "default_access": "allow"},
        "vault": {"command": "y", "default_access": "deny"},
    },
    "roles": {"dev": {"tools": {"git": ["log"]}}, "keeper": {"allow": ["*/open"]}},
}


def denying(**grant: Any) -> dict[str, Any]:
    return {"effect": "deny", "server": "git", **grant}


def opening(**grant: Any) -> dict[str, Any]:
    return {"effect": "allow", "server": "vault", **grant}


async def told(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return caller, what it does, and tool, for each change of what DOCUMENT says beside."""
    before, after = (parse_document(DOCUMENT | more).declaration for more in (old, new))
    users = InMemoryUsers()
    await users.disable("default", "gone", NOW)
    subjects = Subjects(
        tenant="default",
        roles=(),
        keys=InMemoryKeys(
            Key(id="1", name="ci", tenant="default", secret_hash="0f", created=NOW, roles=("dev",)),
        ),
        agents=InMemoryAgents(
            Agent(id="w1", tenant="default", type=AgentType.WORKER, role="dev", created=NOW)
        ),
        users=users,
        now=NOW,
    )
    named = await find_named(subjects, named_by(before, after))
    rules = compare(before, after, (), tenant="default", now=NOW)
    changes = named_changes(rules.old, rules.new, rules.tools, named)
    return [(one.subject, "gains" if one.gains else "loses", str(one.tool)) for one in changes]


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ({}, {"grants": [denying(key="ci")]}, [("key:ci", "loses", "git/log")]),
        ({"grants": [denying(key="ci")]}, {}, [("key:ci", "gains", "git/log")]),
        ({}, {"grants": [denying(agent="w1")]}, [("agent:w1", "loses", "git/log")]),
        ({}, {"grants": [denying(user="ann")]}, [("user:ann + role:dev", "loses", "git/log")]),
        ({}, {"grants": [denying(group="ops")]}, [("group:ops + role:dev", "loses", "git/log")]),
        ({}, {"grants": [denying(key="ci", enabled=False)]}, []),
        ({}, {"grants": [denying(key="ci", until="2026-11-28T00:00:00Z")]}, []),
        ({}, {"grants": [denying(key="nobody"), denying(agent="none")]}, []),
        ({}, {"grants": [denying(user="gone")]}, []),
        ({}, {"grants": [denying(role="dev")]}, []),
        ({}, {"grants": [denying(everyone=True)]}, []),
        (
            {"grants": [denying(group="ops")]},
            {"grants": [denying(group="ops")], "groups": {"ops": ["key:ci", "bea"]}},
            [("key:ci", "loses", "git/log"), ("user:bea + role:dev", "loses", "git/log")],
        ),
        (
            {"groups": {"ops": ["key:ci"]}},
            {"groups": {"ops": ["key:ci"]}, "grants": [denying(group="ops")]},
            [("group:ops + role:dev", "loses", "git/log"), ("key:ci", "loses", "git/log")],
        ),
        ({}, {"limits": [{"calls": 3, "per": "minute"}]}, []),
    ],
    ids=[
        "a key",
        "a key again",
        "an agent",
        "a user with a role",
        "a group with a role",
        "switched off",
        "ended",
        "nobody of that name",
        "a disabled user",
        "a role alone",
        "everybody",
        "somebody joins a group",
        "a group and who is in it",
        "no grant",
    ],
)
async def test_whoever_is_named_is_asked_about(
    old: dict[str, Any], new: dict[str, Any], changes: list[tuple[str, str, str]]
) -> None:
    assert await told(old, new) == changes


async def test_a_server_that_is_opened_to_somebody_is_gained_with_the_role_that_allows_it() -> None:
    # R11: a grant opens a server and never widens a ceiling
    gained = await told({}, {"grants": [opening(user="ann"), opening(key="ci")]})

    assert {change for _, change, _ in gained} <= {"gains"}
    assert "key:ci" not in {subject for subject, _, _ in gained}


async def test_of_very_many_only_some_are_asked_about() -> None:
    everybody = [denying(user=f"u{number:03}") for number in range(100)]

    found = {subject for subject, _, _ in await told({}, {"grants": everybody})}

    assert found == {f"user:u{number:03} + role:dev" for number in range(MOST_NAMED)}
