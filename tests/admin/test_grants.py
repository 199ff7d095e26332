"""Agent types, toolsets, grants, groups and the bypass, as declared (S2.5, S3.6, S4.16, R12)."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from remit.admin.declaration import load_declaration, parse_document
from remit.errors import DeclarationError, Problem
from remit.model.grants import AgentTypeRule, Grant, PolicySettings, ToolsetOptions
from remit.model.principals import AgentType


def problems(document: dict[str, object]) -> list[Problem]:
    with pytest.raises(DeclarationError) as caught:
        parse_document(document)
    return list(caught.value.problems)


def test_the_options_of_toolsets_default_to_true_and_are_read_in_camel_case() -> None:
    # S2.5: a missing key is true, and false is false.
    def read(section: object) -> ToolsetOptions:
        return parse_document({"toolsets": section}).declaration.toolsets

    assert read({}) == read({"user": {}, "developer": {"enabled": False}}) == ToolsetOptions()
    assert read({"user": {"allowOntologyMaintenance": False}}) == ToolsetOptions(
        allow_ontology_maintenance=False
    )
    assert read(
        {"developer": {"addQueryTools": "no", "addOntologyMaintenance": False}}
    ) == ToolsetOptions(add_query_tools=False, add_ontology_maintenance=False)


def test_the_bypass_for_administrators_is_off_unless_switched_on() -> None:
    # R12
    assert parse_document({}).declaration.policy == PolicySettings()
    assert parse_document({"policy": {"admin_bypass": True}}).declaration.policy.admin_bypass


def test_agent_types_are_read() -> None:
    declared = parse_document(
        {"agent_types": {"WORKER": {"allow": ["mcp__mail__*"], "deny": ["mail/send"]}}}
    ).declaration.agent_types

    assert declared == (
        AgentTypeRule(type=AgentType.WORKER, allow=("mcp__mail__*",), deny=("mail/send",)),
    )


def test_grants_are_read_in_every_spelling_of_a_subject() -> None:
    entries: list[object] = [
        {"user": "ann", "effect": "allow", "server": "wiki", "until": "2027-01-31T19:00:00+01:00"},
        {"subject": "group:night", "effect": "DENY", "tool": "*/delete_*"},
        {"group": "night", "effect": "deny", "server": "vault", "enabled": False},
        {"agent": "w1", "effect": "allow", "server": "wiki"},
        {"key": "ci", "effect": "allow", "server": "wiki"},
        {"role": "reviewer", "effect": "allow", "server": "wiki", "until": "2027-01-31 18:00Z"},
        {"everyone": True, "effect": "deny", "server": "vault"},
        {"subject": "*", "effect": "deny", "server": "vault"},
    ]

    loaded = parse_document({"grants": entries})

    end = datetime(2027, 1, 31, 18, tzinfo=UTC)
    assert loaded.warnings == ()
    assert loaded.declaration.grants == (
        Grant(subject="user:ann", effect="allow", server="wiki", until=end),
        Grant(subject="group:night", effect="deny", tool="*/delete_*"),
        Grant(subject="group:night", effect="deny", server="vault", enabled=False),
        Grant(subject="agent:w1", effect="allow", server="wiki"),
        Grant(subject="key:ci", effect="allow", server="wiki"),
        Grant(subject="role:reviewer", effect="allow", server="wiki", until=end),
        Grant(subject="*", effect="deny", server="vault"),
        Grant(subject="*", effect="deny", server="vault"),
    )


def test_a_bare_member_of_a_group_is_a_user() -> None:
    loaded = parse_document({"groups": {"night": ["ann", "agent:w1", "key:ci", "user:ann"]}})

    assert loaded.declaration.groups == {"night": ("user:ann", "agent:w1", "key:ci", "user:ann")}
    assert [(w.code, w.message) for w in loaded.warnings] == [
        ("duplicate-entry", "'groups.night[3]' repeats 'user:ann' and adds nothing")
    ]


def test_a_user_or_a_group_whom_no_token_can_name_is_a_warning() -> None:
    # R16: else a deny of it would match nobody in silence
    far = "CN=" + "x" * 300
    entries: list[object] = [
        {"user": "ann ", "effect": "deny", "server": "wiki"},
        {"subject": "group: ops", "effect": "deny", "server": "wiki"},
        {"group": far, "effect": "deny", "server": "wiki"},
        {"group": "listed ", "effect": "deny", "server": "wiki"},
        {"group": "CN=ops,OU=groups", "effect": "deny", "server": "wiki"},
    ]

    loaded = parse_document({"grants": entries, "groups": {"listed ": ["ann", "user:bob\u200b"]}})

    assert [(w.code, w.message) for w in loaded.warnings] == [
        ("unknown-subject", "'grants[0]' names the user 'ann ', as no token can"),
        ("unknown-subject", "'grants[1]' names the group ' ops', as no token can"),
        ("unknown-subject", f"'grants[2]' names the group {far[:80]!r}, as no token can"),
        ("unknown-subject", "'groups.listed [1]' names the user 'bob\\u200b', as no token can"),
    ]
    assert "without a space at an end" in loaded.warnings[0].remedy
    assert len(loaded.declaration.grants) == len(entries)


GOOD: dict[str, object] = {"user": "ann", "effect": "allow", "server": "wiki"}


@pytest.mark.parametrize(
    ("change", "code", "told", "remedy"),
    [
        ({"user": ""}, "missing-key", "'grants[0]' says nothing of whom", "`everyone`"),
        ({"group": "g"}, "conflicting-keys", "has user and group", "a grant each"),
        ({"everyone": True}, "conflicting-keys", "has user and everyone", "a grant each"),
        ({"effect": None}, "missing-key", "needs `effect`", "effect: allow"),
        ({"effect": "alow"}, "bad-value", "'grants[0].effect' must be", "'allow'"),
        ({"server": ""}, "missing-key", "says nothing of what it opens", "`server`"),
        ({"tool": "wiki/*"}, "conflicting-keys", "has server and tool", "'wiki/…'"),
        ({"server": "*"}, "bad-name", "must be the name of one server", "'*/get_*'"),
        ({"server": "wiki/read"}, "bad-name", "must be the name of one server", "`tool`"),
        ({"server": "", "tool": "wiki"}, "bad-pattern", "names no server", ""),
        ({"until": "2027-01-31"}, "bad-value", "no moment with a time zone", "2027-01-31T18"),
        ({"until": "soon"}, "bad-value", "no moment with a time zone", "2027-01-31T18"),
        ({"until": "0001-01-01T00:00:00+14:00"}, "bad-value", "no moment", "2027"),
        ({"user": "", "subject": "ann"}, "bad-subject", "is no subject", ""),
        ({"user": "", "subject": "uesr:ann"}, "bad-subject", "is no subject", "'user:ann'"),
        ({"user": "", "subject": "user:"}, "bad-subject", "is no subject", ""),
        ({"user": "", "subject": "user-role:data"}, "bad-subject", "is no subject", ""),
        ({"sever": "x"}, "unknown-key", "'sever' in 'grants[0]'", "'server'"),
        ({"arguments": {}}, "rule-on-arguments", "not in this release", ""),
        ({"enabled": 3}, "wrong-type", "'grants[0].enabled' must be true or false", ""),
    ],
)
def test_a_grant_that_says_too_little_or_too_much_is_refused(
    change: dict[str, object], code: str, told: str, remedy: str
) -> None:
    (problem,) = problems({"grants": [{**GOOD, **change}]})

    assert problem.code == code
    assert told in problem.message
    assert remedy in problem.remedy


@pytest.mark.parametrize(
    ("name", "remedy"), [("worker", "'WORKER'"), ("BOSS", "SUPERVISOR, ORCHESTRATOR, WORKER")]
)
def test_an_agent_type_that_is_none_is_refused(name: str, remedy: str) -> None:
    # R7
    (problem,) = problems({"agent_types": {name: {"allow": ["mcp__mail__*"]}}})

    assert (problem.code, problem.message) == (
        "unknown-agent-type",
        f"'agent_types.{name}' is no agent type",
    )
    assert remedy in problem.remedy


def test_a_bare_star_of_an_agent_type_is_refused_as_everywhere() -> None:
    # R15, although the source writes it for a SUPERVISOR (S3.6)
    (problem,) = problems({"agent_types": {"SUPERVISOR": {"allow": ["*"]}}})

    assert problem.code == "bad-pattern"


@pytest.mark.parametrize("member", ["role:r", "user:", "nobody:x", "", " "])
def test_a_member_that_is_none_is_refused(member: str) -> None:
    assert [p.code for p in problems({"groups": {"g": [member]}})] == ["bad-subject"]


def test_a_group_without_a_name_is_refused() -> None:
    assert [p.code for p in problems({"groups": {" ": ["ann"]}})] == ["bad-name"]


def test_problems_name_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "remit.yaml"
    path.write_text(
        "grants:\n"
        "  - user: ann\n"
        "    effect: allow\n"
        "    server: wiki\n"
        "    until: tomorrow\n"
        "  - {group: g, effect: deny, tool: bare}\n"
        "agent_types:\n"
        "  WORKER:\n"
        "    allow:\n"
        "      - send\n"
    )
    with pytest.raises(DeclarationError) as caught:
        load_declaration(path)

    assert [(p.code, p.line) for p in caught.value.problems] == [
        ("bad-value", 5),
        ("bad-pattern", 6),
        ("bad-pattern", 10),
    ]
