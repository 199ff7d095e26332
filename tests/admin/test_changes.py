"""What a new declaration changes, and who gains or loses which tool by it (R18)."""

from datetime import UTC, datetime
from typing import Any

import pytest

from remit.admin.changes import (
    authority_changes,
    compare,
    document_changes,
    known_tools,
)
from remit.admin.declaration import parse_document
from remit.model.tools import ToolId
from remit.policy.snapshot import PolicySnapshot, compile_snapshot

NOW = datetime(2026, 11, 29, tzinfo=UTC)


def _changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return [str(change) for change in document_changes(old, new)]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({}, {"a": {"b": True}}, ['+ a: {"b": true}']),
        ({"a": None}, {}, ["- a: null"]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": 3, "b": 1}}, ["~ a.c: 2 → 3"]),
        ({"a": 1}, {"a": 1.0}, ["~ a: 1 → 1.0"]),
        ({"a": True}, {"a": 1}, ["~ a: true → 1"]),
        ({"a": ["x", "y"]}, {"a": ["y", "z"]}, ['- a: "x"', '+ a: "z"']),
        ({"a": ["x", "y"]}, {"a": ["y", "x"]}, ["~ a: other order or repetitions"]),
        ({"a": ["x"]}, {"a": ["x", "x"]}, ["~ a: other order or repetitions"]),
        ({"a": ["x"]}, {"a": {"x": 1}}, ['~ a: ["x"] → {"x": 1}']),
        ({"a": {"b": 1}}, {"a": "b"}, ['~ a: {"b": 1} → "b"']),
    ],
)
def test_every_difference_is_told_once(
    old: dict[str, Any], new: dict[str, Any], told: list[str]
) -> None:
    assert _changes(old, new) == told


def test_no_secret_is_told() -> None:
    secret = "hunter2-hunter2"
    entry = {"command": "x", "args": ["--token=" + secret], "env": {"A": secret}}
    web = {"url": "https://me:" + secret + "@x.test", "headers": {"X-Any": secret}}

    told = [
        *_changes({}, {"mcp_servers": {"a": entry, "b": web}}),
        *_changes({"mcp_servers": {"a": entry, "b": web}}, {}),
        *_changes({"m": {"a": {**entry, "env": {"A": "1"}}}}, {"m": {"a": entry}}),
        *_changes({"m": {"b": {"headers": {}}}}, {"m": {"b": web}}),
        *_changes({"api_key": "1"}, {"api_key": secret}),
    ]

    assert len(told) > 5
    assert secret not in "".join(told)


def test_a_long_value_is_cut() -> None:
    assert len(_changes({}, {"a": "x" * 1000})[0]) < 100


def _snapshot(document: dict[str, Any]) -> PolicySnapshot:
    return compile_snapshot(parse_document(document).declaration, tenant="default", revision=1)


def _document(**roles: dict[str, Any]) -> dict[str, Any]:
    return {"mcp_servers": {"git": {"command": "x"}, "wiki": {"command": "y"}}, "roles": roles}


def test_who_gains_and_loses_what_is_told_for_roles_that_come_go_and_change() -> None:
    old = _snapshot(
        _document(dev={"tools": {"git": ["log", "push"]}}, gone={"allow": ["wiki/read"]})
    )
    new = _snapshot(
        _document(dev={"allow": ["git/*"], "deny": ["git/push"]}, fresh={"allow": ["wiki/*"]})
    )
    tools = [ToolId("git", name) for name in ("log", "push", "pull")] + [ToolId("wiki", "read")]

    told = [str(change) for change in authority_changes(old, new, tools)]

    assert told == [
        "role:dev gains git/pull: roles.dev.allow[0]",
        "role:dev loses git/push: role 'dev' denies 'git/push'",
        "role:gone loses wiki/read: " + told[2].partition(": ")[2],
        "role:fresh gains wiki/read: roles.fresh.allow[0]",
    ]
    assert authority_changes(new, new, tools) == ()


DEV = {"tools": {"git": ["log"]}, "deny": ["git/push"]}
DENY = {"role": "dev", "effect": "deny", "tool": "git/log"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (_document(dev=DEV, b={"allow": ["git/*"]}), _document(dev=DEV, b={"allow": ["wiki/*"]})),
        (_document(dev=DEV), _document(dev=DEV, fresh={"allow": ["*/*"]})),
        (_document(dev=DEV, gone={"allow": ["*/*"]}), _document(dev=DEV)),
        (_document(dev=DEV), _document(dev=DEV) | {"grants": [DENY]}),
        (
            _document(dev=DEV, b={"tools": {"git": ["log"]}}),
            _document(dev=DEV, b={"tools": {"git": ["push"]}}) | {"grants": [DENY]},
        ),
        (_document(dev=DEV), {**_document(dev=DEV), "mcp_servers": {}, "roles": {}}),
        ({}, _document(dev=DEV)),
    ],
    ids=["a role", "one more", "one less", "a grant", "both", "servers", "all of it"],
)
def test_whoever_is_not_asked_neither_gains_nor_loses(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    """Where roles alone differ, only those are asked, and the answer is that of asking all."""
    before, after = (parse_document(one).declaration for one in (old, new))
    tools = {*known_tools(before), *known_tools(after), ToolId("git", "pull"), ToolId("wiki", "x")}

    told = compare(before, after, tools, tenant="default", now=NOW).shifts()

    assert told == authority_changes(_snapshot(old), _snapshot(new), tools)
    assert told != ()


def test_agent_types_and_user_roles_are_asked_too() -> None:
    old = _snapshot({"mcp_servers": {"mail": {"command": "x"}, "data": {"command": "y"}}})
    new = _snapshot({"mcp_servers": {"mail": {"command": "x"}}})

    told = {change.subject for change in authority_changes(old, new, known_tools_of("data"))}

    assert told >= {"user-role:user", "user-role:developer"}
    assert not {one for one in told if one.startswith("agent-type:")}


def known_tools_of(*servers: str) -> frozenset[ToolId]:
    document = {"mcp_servers": {name: {"command": "x"} for name in servers}}
    return known_tools(parse_document(document).declaration)


def test_known_are_the_tools_that_are_named_governed_or_published() -> None:
    declaration = parse_document(
        {"mcp_servers": {"git": {"builtin": "git"}}, "roles": {"a": {"tools": {"x": ["y"]}}}}
    ).declaration

    assert {ToolId("git", "git_log"), ToolId("x", "y")} <= known_tools(declaration)
    assert len(known_tools_of("data")) == 49


def test_a_secret_in_arguments_or_an_address_is_in_no_line_of_a_change() -> None:
    # T19
    def of(secret: str) -> dict[str, object]:
        child = {"command": "x", "args": ["--token", secret, "-v"]}
        return {"mcp_servers": {"a": child, "b": {"url": f"https://h.test/?k={secret}"}}}

    told = [
        *document_changes({}, of("sentinel-1")),
        *document_changes({"mcp_servers": {}}, of("sentinel-1")),
        *document_changes(of("sentinel-1"), {"mcp_servers": {}}),
        *document_changes(of("sentinel-1"), of("sentinel-2")),
    ]

    assert "sentinel" not in "\n".join(map(str, told))
    assert [str(change) for change in told[-2:]] == [
        "~ mcp_servers.a.args: [redacted] → [redacted]",
        '~ mcp_servers.b.url: "https://h.test/?k=[redacted]" → "https://h.test/?k=[redacted]"',
    ]
