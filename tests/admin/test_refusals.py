"""What a file may not say, and how it is told: R15, R16, R36, S4.9, the typo rows of case T20."""

from pathlib import Path

import pytest

from remit.admin.declaration import load_declaration, parse_document
from remit.errors import DeclarationError, Problem


def problems_of(tmp_path: Path, text: str) -> list[Problem]:
    path = tmp_path / "remit.yaml"
    path.write_text(text)
    with pytest.raises(DeclarationError) as caught:
        load_declaration(path)
    return list(caught.value.problems)


def refusals(section: str, entry: object) -> list[Problem]:
    with pytest.raises(DeclarationError) as caught:
        parse_document({section: {"s": entry}})
    return list(caught.value.problems)


def test_one_key_in_two_spellings_is_refused() -> None:
    problems = refusals("mcp_servers", {"url": "https://a.test", "endpoint": "https://b.test"})

    assert [p.code for p in problems] == ["duplicate-key"]


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ({}, "missing-key"),
        ({"command": ""}, "missing-key"),
        ({"command": " "}, "missing-key"),
        ({"transport": "http"}, "missing-key"),
        ({"description": "d"}, "missing-key"),
        ({"url": "https://a.test", "command": "c"}, "conflicting-keys"),
        ({"builtin": "git", "command": "c"}, "conflicting-keys"),
        ({"builtin": "git", "transport": "stdio"}, "conflicting-keys"),
        ({"url": "https://a.test", "transport": "stdio"}, "conflicting-keys"),
        ({"command": "c", "transport": "sse"}, "conflicting-keys"),
    ],
)
def test_a_server_is_reached_in_exactly_one_way_and_its_name_is_said(
    entry: dict[str, object], code: str
) -> None:
    # S4.9
    problems = refusals("mcp_servers", entry)

    assert [p.code for p in problems] == [code]
    assert "mcp_servers.s" in problems[0].message


@pytest.mark.parametrize(
    "name",
    [
        "a__b",
        "execute",
        "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
        "F81D4FAE7DEC11D0A76500A0C91E6BF6",
        "",
        "-a",
        "_a",
        "a b",
        "a/b",
        "naïve",
        "a\n",
        "a" * 65,
    ],
)
def test_names_that_no_server_can_have_are_refused(name: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        parse_document({"mcp_servers": {name: {"command": "c"}}})

    assert [p.code for p in caught.value.problems] == ["bad-name"]


def test_an_unknown_builtin_is_refused_with_the_known_ones() -> None:
    (near,) = refusals("mcp_servers", {"builtin": "gti"})
    (far,) = refusals("mcp_servers", {"builtin": "postgres"})

    assert (near.code, far.code) == ("unknown-builtin", "unknown-builtin")
    assert "'git'" in near.remedy
    assert "git" in far.remedy


@pytest.mark.parametrize(
    ("text", "line", "words", "remedy"),
    [
        ("rols: {}\n", 1, "unknown key 'rols'", "'roles'"),
        ("mcp_servers:\n  a:\n    comand: x\n", 3, "'comand' in 'mcp_servers.a'", "'command'"),
        (
            "mcp_servers:\n  a:\n    type: http\n    url: https://a.test\n",
            3,
            "'type'",
            "'transport'",
        ),
        ("mcp_servers:\n  a:\n    command: c\n    defaultAcess: deny\n", 4, "", "'default_access'"),
        ("roles:\n  r:\n    alow: ['db/*']\n", 3, "'alow' in 'roles.r'", "'allow'"),
        ("roles:\n  r:\n    frobnicate: 1\n", 3, "'frobnicate'", "known keys: mcp_servers, tools"),
        ("audit:\n  bodycap: 1\n", 2, "'bodycap' in 'audit'", "'body_cap'"),
        ("toolsets:\n  user: {allowOntology: true}\n", 2, "", "'allowOntologyMaintenance'"),
        ("identity:\n  jwt:\n  - isuer: x\n", 3, "'isuer' in 'identity.jwt[0]'", "'issuer'"),
        ("limits:\n- {role: r, cals: 3}\n", 2, "'cals' in 'limits[0]'", "'calls'"),
        (
            "mcp_servers:\n  a:\n    command: c\n    tools:\n      t: {retries: never}\n",
            5,
            "'retries' in 'mcp_servers.a.tools.t'",
            "'retry'",
        ),
    ],
)
def test_an_unknown_key_is_named_with_file_line_and_the_nearest_known_one(
    tmp_path: Path, text: str, line: int, words: str, remedy: str
) -> None:
    # R16 and the typo of T20
    first = problems_of(tmp_path, text)[0]

    assert first.code == "unknown-key"
    assert (first.file, first.line) == (str(tmp_path / "remit.yaml"), line)
    assert words in first.message
    assert remedy in first.remedy


@pytest.mark.parametrize(
    ("section", "entry", "code", "words"),
    [
        (
            "mcp_servers",
            {"command": "c", "args": "--x"},
            "wrong-type",
            "must be a list, not a text",
        ),
        ("mcp_servers", {"command": "c", "args": [1.5]}, "wrong-type", "in quotes"),
        ("mcp_servers", {"command": ["c"]}, "wrong-type", "must be a text, not a list"),
        ("mcp_servers", {"command": "c", "env": ["A=b"]}, "wrong-type", "must be a mapping"),
        ("mcp_servers", {"command": "c", "env": {"A": True}}, "wrong-type", "in quotes"),
        ("mcp_servers", {"command": "c", "env": {"A": None}}, "wrong-type", "not nothing"),
        ("mcp_servers", {"command": "c", "env": {"A=": "b"}}, "bad-value", "environment variable"),
        ("mcp_servers", {"command": "c\0"}, "bad-value", "NUL"),
        ("mcp_servers", {"command": "c", "timeout": 601}, "bad-value", "600"),
        ("mcp_servers", {"command": "c", "timeout": 0}, "bad-value", "greater than 0"),
        ("mcp_servers", {"command": "c", "timeout": True}, "wrong-type", "must be a number"),
        ("mcp_servers", {"command": "c", "tools": {"t": {"timeout": 601}}}, "bad-value", "600"),
        ("mcp_servers", {"command": "c", "max_children": 0}, "bad-value", "greater than"),
        ("mcp_servers", {"command": "c", "max_children": 1.5}, "wrong-type", "whole number"),
        ("mcp_servers", {"command": "c", "max_message": "lots"}, "bad-value", "16KiB"),
        ("mcp_servers", {"command": "c", "enabled": "maybe"}, "wrong-type", "true or false"),
        ("mcp_servers", {"command": "c", "default_access": "all"}, "bad-value", "'allow' or"),
        ("mcp_servers", {"command": "c", "env_passthrough": ["A B"]}, "bad-value", "variable"),
        ("mcp_servers", {"command": "c", "env": {"A": "${input:x}"}}, "bad-reference", "${input:"),
        ("mcp_servers", {"command": "${X"}, "bad-reference", "${X"),
        (
            "mcp_servers",
            {"command": "c", "env": {"A": "${REMIT_KEY}"}},
            "own-variable",
            "REMIT_KEY",
        ),
        ("mcp_servers", {"command": "c", "env_passthrough": ["REMIT_A"]}, "own-variable", "R21"),
        ("mcp_servers", {"url": "ftp://a.test"}, "bad-value", "https://"),
        ("mcp_servers", {"url": "https://"}, "bad-value", "https://"),
        ("mcp_servers", {"url": "https://[a"}, "bad-value", "https://"),
        ("mcp_servers", {"url": "https://a.test/ x"}, "bad-value", "https://"),
        ("mcp_servers", {"url": "https://a.test", "headers": {"A:": "b"}}, "bad-value", "header"),
        (
            "mcp_servers",
            {"url": "https://a.test", "headers": {"A": "b\r\nC: d"}},
            "bad-value",
            "line",
        ),
        (
            "mcp_servers",
            {"url": "https://a.test", "headers": {"A": "b", "a": "c"}},
            "duplicate-key",
            "twice",
        ),
        ("mcp_servers", ["command"], "wrong-type", "must be a mapping, not a list"),
        ("mcp_servers", None, "wrong-type", "must be a mapping, not nothing"),
        ("roles", ["git"], "wrong-type", "must be a mapping, not a list"),
        ("roles", {"tools": ["git"]}, "wrong-type", "must be a mapping, not a list"),
        ("roles", {"tools": {"git": "git_log"}}, "wrong-type", "must be a list, not a text"),
        ("roles", {"tools": {"git": {"git_log": True}}}, "wrong-type", "must be a list"),
        ("roles", {"tools": {"git": [""]}}, "bad-name", "empty"),
        ("roles", {"allow": "git/*"}, "wrong-type", "must be a list, not a text"),
        ("roles", {"denials": "loud"}, "bad-value", "'quiet' or 'explain'"),
        ("roles", {"allow": ["db"]}, "bad-pattern", "allow[0]"),
        ("roles", {"deny": ["a/b", ""]}, "bad-pattern", "deny[1]"),
    ],
)
def test_what_does_not_fit_is_said_without_repeating_it(
    section: str, entry: object, code: str, words: str
) -> None:
    problems = refusals(section, entry)

    assert [p.code for p in problems] == [code]
    assert words in problems[0].message
    assert f"{section}.s" in problems[0].message


@pytest.mark.parametrize(
    "document",
    [
        {"mcp_servers": []},
        {"roles": "x"},
        {"version": "2.0"},
        {"version": True},
        {"audit": {"body_cap": -1}},
        {"audit": {"retention_days": 0}},
        {"server": {"public_url": 1.5}},
        {"limits": {}},
        {"tenants": "one"},
        {"toolsets": {"other": {}}},
    ],
)
def test_sections_of_the_wrong_shape_are_refused(document: dict[str, object]) -> None:
    with pytest.raises(DeclarationError):
        parse_document(document)


@pytest.mark.parametrize(
    "role",
    [
        {"when": {"branch": "main"}},
        {"arguments": {"git_push": {"branch": "main"}}},
        {"allow": [{"tool": "git/git_push", "when": "branch == 'main'"}]},
        {"deny": [{"git/git_push": {"branch": "main"}}]},
        {"tools": {"git": [{"git_push": {"branch": "main"}}]}},
        {"tools": {"git": {"git_push": {"branch": "main"}}}},
    ],
)
def test_rules_on_arguments_are_refused_with_the_reason(role: dict[str, object]) -> None:
    # R36
    problems = refusals("roles", role)

    assert [p.code for p in problems] == ["rule-on-arguments"]
    assert "not in this release" in problems[0].message


def test_all_errors_are_reported_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    problems = problems_of(
        tmp_path,
        "mcp_servers:\n"
        "  a: {comand: x}\n"
        "  b: {command: x, timeout: 900, env: {A: '${REMIT_X}'}}\n"
        "  b: {command: y}\n"
        "roles:\n"
        "  r: {alow: [], allow: [db]}\n"
        "audit: {durability: dsk}\n"
        "extra: 1\n",
    )

    assert [(p.line, p.code) for p in problems] == [
        (2, "unknown-key"),
        (3, "bad-value"),
        (3, "own-variable"),
        (4, "duplicate-key"),
        (6, "unknown-key"),
        (6, "bad-pattern"),
        (7, "bad-value"),
        (8, "unknown-key"),
    ]


def test_no_message_repeats_a_value_of_the_file(tmp_path: Path) -> None:
    secret = "sentinel-5f1e"
    text = (
        "mcp_servers:\n"
        f"  a: {{command: [{secret}], timeout: {secret}, transport: {secret}}}\n"
        f"  b: {{url: '{secret}', headers: {{A: 1.5, B: '{secret}${{'}}}}\n"
        f"  c: {{builtin: {secret}, env: {secret}}}\n"
        f"audit: {{body_cap: {secret}}}\n"
    )

    problems = problems_of(tmp_path, text)

    assert len(problems) >= 6
    assert not any(secret in str(problem) for problem in problems)


@pytest.mark.parametrize("name", ["", " r", "a,b", "a\nb"])
def test_role_names_that_would_be_misread_are_refused(name: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        parse_document({"roles": {name: {}}})

    assert [p.code for p in caught.value.problems] == ["bad-name"]


def test_a_document_nested_without_end_is_refused() -> None:
    data: dict[str, object] = {}
    for _ in range(500):
        data = {"data": data}

    with pytest.raises(DeclarationError):
        parse_document(data)
