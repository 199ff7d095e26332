"""`remit check`: R16, R30, T19's secrets in clear, and the shape of the contract."""

import os
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from remit.admin.check import Report, check_declaration
from remit.admin.declaration import load_declaration, parse_document
from remit.errors import Problem

ENVIRON = {"PATH": os.environ["PATH"]}


def check(
    document: Mapping[str, object],
    environ: Mapping[str, str] | None = None,
    **offered: frozenset[str],
) -> Report:
    return check_declaration(parse_document(document), offered=offered, environ=environ or ENVIRON)


def check_server(
    entry: Mapping[str, object], environ: Mapping[str, str] | None = None
) -> list[Problem]:
    return list(check({"mcp_servers": {"s": entry}}, environ).warnings)


def found(problems: list[Problem], code: str) -> list[str]:
    return [p.message.split("'")[1] for p in problems if p.code == code]


def test_the_nine_roles_have_no_error_and_101_grants(nine_roles_yaml: Path) -> None:
    report = check_declaration(load_declaration(nine_roles_yaml), environ=ENVIRON)

    assert report.errors == ()
    assert (report.roles, report.grants) == (9, 101)


def test_what_the_published_git_server_does_not_offer_is_named_with_its_lines(
    nine_roles_yaml: Path,
) -> None:
    # R16, R30
    report = check_declaration(load_declaration(nine_roles_yaml), environ=ENVIRON)

    missing = [w for w in report.warnings if w.code == "unknown-tool"]
    lines = nine_roles_yaml.read_text().splitlines()
    named = Counter(lines[w.line - 1].strip("- ") for w in missing)
    assert named == {"git_push": 4, "git_pull": 4, "git_merge": 2}
    assert all(w.file == str(nine_roles_yaml) and w.remedy for w in missing)


def test_unclaimed_packages_and_missing_variables_of_the_nine_roles_are_named(
    nine_roles_yaml: Path,
) -> None:
    # R30, R20
    warnings = check_declaration(load_declaration(nine_roles_yaml), environ=ENVIRON).warnings

    unclaimed = [w for w in warnings if w.code == "unclaimed-package"]
    assert len(unclaimed) == 1
    assert "mcp-server-github" in unclaimed[0].message
    assert found(list(warnings), "missing-variable") == [
        "mcp_servers.github.env.GITHUB_TOKEN",
        "mcp_servers.jira.env.JIRA_URL",
        "mcp_servers.jira.env.JIRA_USERNAME",
        "mcp_servers.jira.env.JIRA_API_TOKEN",
    ]


def test_the_example_of_the_contract_has_warnings_alone(example_yaml: Path) -> None:
    report = check_declaration(load_declaration(example_yaml), environ=ENVIRON)

    assert report.errors == ()
    codes = Counter(w.code for w in report.warnings)
    assert codes["unknown-server"] == codes["unknown-tool"] == 0


def test_a_data_server_without_a_parser_of_sql_is_warned_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded = parse_document({"mcp_servers": {"data": {"builtin": "data"}}})
    assert "missing-extra" not in {w.code for w in check_declaration(loaded, environ={}).warnings}

    monkeypatch.setitem(sys.modules, "sqlglot", None)

    warnings = check_declaration(loaded, environ={}).warnings
    assert [w.remedy for w in warnings if w.code == "missing-extra"] == ["install remit[data]"]


def test_what_a_server_really_offers_counts_more_than_the_catalogue() -> None:
    document = {
        "mcp_servers": {"git": {"builtin": "git"}},
        "roles": {"r": {"tools": {"git": ["git_status", "git_dance"]}}},
    }

    guessed = check(document)
    asked = check(document, git=frozenset({"git_status", "git_dance"}))

    assert [w.code for w in guessed.warnings if w.code == "unknown-tool"] == ["unknown-tool"]
    assert asked.warnings == ()


def test_what_is_offered_and_granted_to_nobody_is_reported() -> None:
    # R16
    report = check(
        {
            "mcp_servers": {"git": {"builtin": "git"}},
            "roles": {"r": {"tools": {"git": ["git_status"]}}},
        }
    )

    assert "git_merge" in next(w.message for w in report.warnings if w.code == "granted-to-nobody")


def test_a_role_that_names_a_server_which_is_nowhere_is_an_error_with_its_line(
    tmp_path: Path,
) -> None:
    path = tmp_path / "remit.yaml"
    path.write_text(
        "mcp_servers:\n  git: {builtin: git}\nroles:\n  r:\n    tools:\n      gti: [a]\n"
    )

    report = check_declaration(load_declaration(path), environ=ENVIRON)

    assert [(e.code, e.line) for e in report.errors] == [("unknown-server", 6)]


def test_the_json_has_the_shape_of_the_contract() -> None:
    problem = Problem(code="c", message="m", file="f", line=3, remedy="r")
    wire = {"code": "c", "message": "m", "file": "f", "line": 3, "remedy": "r"}

    assert Report(errors=(problem,), warnings=(problem,), roles=9, grants=101).to_json() == {
        "errors": [wire],
        "warnings": [wire],
        "summary": {"roles": 9, "grants": 101},
    }


def test_a_grant_written_twice_counts_once() -> None:
    document: dict[str, object] = {
        "mcp_servers": {"git": {"builtin": "git"}},
        "roles": {"r": {"tools": {"git": ["git_log", "git_log"]}}},
    }

    assert check(document).grants == 1


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({"command": "sh", "env": {"API_KEY": "hunter2-hunter2"}}, "env.API_KEY"),
        ({"command": "sh", "env": {"DB_PASSWORD": "hunter2"}}, "env.DB_PASSWORD"),
        ({"command": "sh", "env": {"ANY": "ghp_0123456789abcdefghij"}}, "env.ANY"),
        ({"command": "sh", "args": ["--token", "hunter2"]}, "args[1]"),
        ({"command": "sh", "args": ["--token=hunter2"]}, "args[0]"),
        ({"command": "sh", "args": ["-e", "API_TOKEN=hunter2"]}, "args[1]"),
        (
            {"url": "https://a.test", "headers": {"Authorization": "Bearer abc"}},
            "headers.Authorization",
        ),
        ({"url": "https://a.test", "headers": {"X-Api-Key": "hunter2"}}, "headers.X-Api-Key"),
        ({"command": "ghp_0123456789abcdefghij"}, "command"),
        ({"url": "https://a.test/?api_key=hunter2"}, "url"),
        ({"url": "https://ada:hunter2@a.test/"}, "url"),
    ],
)
def test_a_secret_in_clear_is_pointed_out_and_never_repeated(
    entry: dict[str, object], field: str
) -> None:
    warnings = check_server(entry)

    assert found(warnings, "secret-in-clear") == [f"mcp_servers.s.{field}"]
    assert not any("hunter2" in str(w) or "ghp_" in str(w) for w in warnings)


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "sh", "env": {"API_KEY": "${API_KEY}", "TOKEN_FILE": "/run/token"}},
        {"command": "sh", "env": {"MAX_TOKENS": "4096", "USE_TOKEN": "true", "PASSWORD": ""}},
        {"command": "sh", "args": ["--token", "${T}", "--secret", "--verbose", "--token=${T}"]},
        {"command": "sh", "args": ["--header", "Authorization: Bearer ${T}"]},
        {"command": "sh", "args": ["--repository", "."], "env": {"GITHUB_HOST": "a.test"}},
        {"url": "https://a.test/?q=1", "headers": {"Authorization": "Bearer ${T}"}},
        {"url": "https://[${HOST}/?api_key=x"},
        {"url": "https://${U}:${P}@a.test/?key=${K}", "headers": {"X-Team": "core"}},
    ],
)
def test_what_is_no_secret_or_a_reference_is_left_alone(entry: dict[str, object]) -> None:
    assert found(check_server(entry), "secret-in-clear") == []


def test_a_command_that_is_not_there_is_named_with_what_to_do() -> None:
    (absent,) = check_server({"command": "no-such-program-anywhere"})
    (joined,) = check_server({"command": "sh -c true"})
    (path,) = check_server({"command": "/no/such/program"})

    assert absent.code == joined.code == path.code == "command-not-found"
    assert "install it" in absent.remedy
    assert "`args`" in joined.remedy


def test_a_command_is_looked_for_where_the_child_would_look(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "tool"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    assert check_server({"command": "tool", "env": {"PATH": str(program.parent)}}) == []
    assert check_server({"command": "bin/tool", "cwd": str(tmp_path)}) == []
    assert check_server({"command": str(program)}) == []
    assert check_server({"command": "${BIN}"}, {"BIN": str(program), **ENVIRON}) == []
    assert [w.code for w in check_server({"command": "sh", "cwd": str(tmp_path / "none")})] == [
        "folder-not-found"
    ]


def test_variables_that_may_be_unset_are_only_pointed_out() -> None:
    remote = check_server({"url": "https://a.test", "bearer_token_env_var": "WIKI_TOKEN"})
    child = check_server({"command": "sh", "env_passthrough": ["PATH", "NOT_SET"]})

    assert found(remote, "missing-variable") == ["mcp_servers.s.bearer_token_env_var"]
    assert found(child, "missing-variable") == ["mcp_servers.s.env_passthrough[1]"]


def test_a_server_that_is_switched_off_is_not_looked_into() -> None:
    assert check_server({"command": "no-such-program", "enabled": False}) == []


def test_problems_come_in_the_order_of_the_file(nine_roles_yaml: Path) -> None:
    report = check_declaration(load_declaration(nine_roles_yaml), environ=ENVIRON)

    lines = [w.line for w in report.warnings]
    assert lines == sorted(lines)
    assert all(lines)
