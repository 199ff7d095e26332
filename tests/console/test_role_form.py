"""What the form of a role changes: what was touched, and nothing else. No gateway is asked."""

from typing import Any

import pytest

from remit.client.roles import Role
from remit.doors.console.role_form import NOTHING, Draft, entry_of, new_entry, patch_of
from remit.doors.console.role_tools import oddities

ROLE = Role(
    name="odd",
    description="Something of everything",
    mcp_servers=("wiki", "git", "gone"),
    tools={"git": ("git_push", "git_log"), "gone": ("was_here",), "empty": ()},
    allow=("git/*", "*/search_*", "wiki/*"),
    deny=("*/delete_*", "git/git_reset"),
    denials="explain",
)
SERVERS = ("git", "wiki", "jira")


def draft(**changed: Any) -> Draft:
    shown = Draft.of(ROLE, SERVERS)
    fields = {name: getattr(shown, name) for name in Draft.__dataclass_fields__}
    return Draft(**{**fields, **changed})


def test_a_form_that_nobody_touched_changes_nothing() -> None:
    """Whatever an entry says: tools that are not offered, empty lists, servers that are gone."""
    assert patch_of(draft(), ROLE) == {}
    assert entry_of(draft(), ROLE)["tools"] == {k: list(v) for k, v in ROLE.tools.items()}


def test_all_tools_of_a_server_are_a_pattern_with_a_box_of_its_own() -> None:
    shown = draft()
    assert (shown.whole, shown.allow) == ({"git", "wiki"}, "*/search_*")

    patch = patch_of(draft(whole=frozenset({"wiki", "jira"})), ROLE)

    assert patch == {"allow": ["*/search_*", "wiki/*", "jira/*"]}


@pytest.mark.parametrize(
    ("changed", "patch"),
    [
        ({"description": "Less"}, {"description": "Less"}),
        ({"denials": "quiet"}, {"denials": "quiet"}),
        ({"servers": frozenset({"wiki", "jira"})}, {"mcp_servers": ["wiki", "jira"]}),
        ({"deny": "git/git_reset\n\n  */drop_* "}, {"deny": ["git/git_reset", "*/drop_*"]}),
        ({"deny": ""}, {"deny": []}),
        (
            {"tools": frozenset({"git/git_push", "git/git_add", "jira/get", "gone/was_here"})},
            {"tools": {"git": ["git_push", "git_add"], "jira": ["get"]}},
        ),
        ({"tools": frozenset({"git/git_push", "git/git_log"})}, {"tools": {"gone": None}}),
    ],
    ids=["words", "denials", "servers", "patterns", "no pattern", "tools", "tools of a server"],
)
def test_only_what_was_touched_is_sent_and_the_rest_keeps_its_order(
    changed: dict[str, Any], patch: dict[str, Any]
) -> None:
    assert patch_of(draft(**changed), ROLE) == patch


def test_a_new_role_says_nothing_that_is_usual_anyway() -> None:
    made = Draft(name="new", tools=frozenset({"git/git_log"}), whole=frozenset({"wiki"}))

    assert new_entry(made) == {"tools": {"git": ["git_log"]}, "allow": ["wiki/*"]}


@pytest.mark.parametrize(
    ("role", "told"),
    [
        ({}, ["allows nothing"]),
        ({"allow": ("git/*",)}, []),
        ({"tools": {"git": ()}}, ["server git is empty"]),
        ({"tools": {"jira": ("get",)}}, ["jira, which is not declared"]),
        ({"tools": {"git": ("git_log", "gone")}}, ["git/gone, which server git does not offer"]),
        ({"tools": {"down": ("any",)}}, []),
        ({"mcp_servers": ("git", "down"), "allow": ("git/*",)}, ["down and none of its tools"]),
        ({"mcp_servers": ("down",), "allow": ("*/get_*",)}, []),
        ({"allow": ("git/gti_*",)}, ["allow pattern git/gti_* fits no tool"]),
        ({"allow": ("git/*",), "deny": ("mcp__git__GIT_log",)}, ["deny pattern mcp__git__GIT_log"]),
        ({"allow": ("gti/*",)}, ["names server gti, which is not declared"]),
        ({"allow": ("down/any*", "*/any", "git/prompt:any")}, []),
    ],
)
def test_what_is_odd_about_a_role_is_told(role: dict[str, Any], told: list[str]) -> None:
    """R8: a role that allows nothing says so; R16, T20: and so does what fits nothing."""
    fields = {name: getattr(NOTHING, name) for name in NOTHING.__struct_fields__}

    found = oddities(Role(**{**fields, **role}), {"git", "down"}, {"git/git_log"})

    assert len(found) == len(told)
    assert all(part in whole for part, whole in zip(told, found, strict=True))
