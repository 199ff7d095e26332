from dataclasses import dataclass
from typing import Any

import pytest

from remit import MCPServerManager


@dataclass(kw_only=True)
class Config:
    default_access: str = "allow"


@dataclass(kw_only=True)
class Settings:
    mcp_servers: dict[str, Any]


@dataclass(kw_only=True)
class Workspace:
    context: dict[str, Any]


SERVERS = {
    "docs": Config(),
    "internal_admin_fs": Config(),
    "research_fs": Config(default_access="deny"),
    "vault": Config(default_access="deny"),
}


def opened(policy: Any, servers: dict[str, Any] | None = None) -> list[str]:
    return list(filtered(policy, SERVERS if servers is None else servers))


def filtered(policy: Any, servers: dict[str, Any]) -> dict[str, Any]:
    workspace = Workspace(context={} if policy is None else {"mcp_policy": policy})
    manager = MCPServerManager(Settings(mcp_servers=servers), workspace)
    return manager._filter_by_policy()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the contract names it (servers.md)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (None, ["docs", "internal_admin_fs"]),
        ({}, ["docs", "internal_admin_fs"]),
        ({"denyIds": ["docs"]}, ["internal_admin_fs"]),
        (
            {"denyIds": ["internal_admin_fs"], "allowIds": ["research_fs"], "isAdmin": False},
            ["docs", "research_fs"],
        ),
        ({"denyIds": ["vault"], "allowIds": ["vault"]}, ["docs", "internal_admin_fs"]),
        ({"denyIds": ["docs"], "isAdmin": True}, list(SERVERS)),
        ({"denyIds": None, "allowIds": None, "isAdmin": None}, ["docs", "internal_admin_fs"]),
        ({"allowIds": ["nowhere"]}, ["docs", "internal_admin_fs"]),
    ],
    ids=[
        *("none", "empty", "deny", "the document's example", "deny and allow", "administrator"),
        *("nulls", "unknown server"),
    ],
)
def test_a_policy_opens_what_the_document_says(policy: Any, expected: list[str]) -> None:
    # S4.4, S4.5, S4.31; R12: an administrator has every server
    assert opened(policy) == expected


@pytest.mark.parametrize(
    "policy",
    [
        "deny",
        ["docs"],
        {"denyIds": "docs"},
        {"denyIds": {"docs": True}},
        {"allowIds": [1]},
        {"isAdmin": "false"},
        {"isAdmin": 1},
    ],
    ids=str,
)
def test_a_policy_that_cannot_be_read_opens_nothing(policy: Any) -> None:  # S4.18
    assert opened(policy) == []


def test_the_configuration_is_given_back_as_it_was() -> None:
    allowed = filtered(None, dict(SERVERS))

    assert allowed["docs"] is SERVERS["docs"]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, ["one"]),
        ({"default_access": "allow"}, ["one"]),
        ({"defaultAccess": " Allow "}, ["one"]),
        ({"default_access": "DENY"}, []),
        ({"defaultAccess": "deny"}, []),
        ({"default_access": "sometimes"}, []),
    ],
    ids=str,
)
def test_a_default_access_that_is_not_allow_is_deny(
    said: dict[str, str], expected: list[str]
) -> None:  # S4.6, S4.7
    assert opened({}, {"one": said}) == expected
