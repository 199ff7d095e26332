"""What lint finds, to the letter: it is what people read when a rule does nothing (R8, R16)."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from remit.errors import DeclarationError
from remit.model.declaration import Declaration
from remit.model.roles import Role
from remit.model.servers import BorrowedNames, ServerConfig
from remit.policy.findings import Finding, Severity
from remit.policy.lint import lint

GIT = frozenset({"git_status", "git_log", "git_push"})
OFFERED = {"git": GIT}


def declare(*roles: Role, servers: str = "git", disabled: str = "") -> Declaration:
    return Declaration(
        servers={
            name: ServerConfig(name=name, enabled=name not in disabled.split())
            for name in [*servers.split(), *disabled.split()]
        },
        roles={role.name: role for role in roles},
    )


def found(
    declaration: Declaration, offered: Mapping[str, frozenset[str]] = OFFERED
) -> list[Finding]:
    """Lint, leaving out what is granted to nobody."""
    return [
        finding for finding in lint(declaration, offered) if finding.code != "granted-to-nobody"
    ]


def test_a_clean_declaration_has_no_findings() -> None:
    role = Role(
        name="r",
        mcp_servers=("git",),
        tools={"git": ("git_status",)},
        allow=("*/git_*", "mcp__git__git_log"),
        deny=("git/git_push", "mcp__*__git_push"),
    )
    rest = Role(name="rest", tools={"git": ("git_push",)})

    assert lint(declare(role, rest), OFFERED) == ()


def test_a_role_that_allows_nothing_is_told() -> None:
    # R8
    assert found(declare(Role(name="idle", deny=("git/git_push",)))) == [
        Finding(
            code="empty-allow-list",
            message="role 'idle' allows nothing: it has neither tools nor allow",
            path="roles.idle",
            remedy="name what it may use under 'tools' or 'allow', or remove the role",
        )
    ]


def test_an_empty_list_for_a_server_is_told_once() -> None:
    # R8
    role = Role(name="r", mcp_servers=("git",), tools={"git": ()})

    assert found(declare(role)) == [
        Finding(
            code="empty-allow-list",
            message="role 'r' has an empty list for server 'git', which allows nothing",
            path="roles.r.tools.git",
            remedy="name the tools it may use there, or remove the server from the role",
        )
    ]


@pytest.mark.parametrize(
    ("tools", "allow"),
    [({"git": ("git_log",)}, ()), ({}, ("git/git_*",)), ({"git": ("git_log",)}, ("git/git_*",))],
)
def test_a_role_with_any_grant_is_not_empty(
    tools: dict[str, tuple[str, ...]], allow: tuple[str, ...]
) -> None:
    assert found(declare(Role(name="r", tools=tools, allow=allow))) == []


def test_a_server_named_without_tools_is_told() -> None:
    # R11
    role = Role(name="r", mcp_servers=("git", "wiki"), allow=("git/git_log",))

    assert found(declare(role, servers="git wiki")) == [
        Finding(
            code="server-without-tools",
            message="role 'r' names server 'wiki' and none of its tools, which gives it nothing",
            path="roles.r.mcp_servers[1]",
            remedy="add tools.wiki or 'wiki/*' under 'allow', or remove the server",
        )
    ]


def test_a_pattern_over_servers_counts_as_tools_of_each() -> None:
    assert found(declare(Role(name="r", mcp_servers=("git",), allow=("*/git_log",)))) == []


def test_a_server_that_exists_nowhere_is_an_error() -> None:
    role = Role(name="r", mcp_servers=("git", "gti"), tools={"gti": ("x",)})

    findings = found(declare(role))

    assert findings == [
        Finding(
            code="unknown-server",
            severity=Severity.ERROR,
            message="role 'r' names server 'gti', which is not declared",
            path=path,
            remedy="did you mean 'git'? otherwise declare it under 'mcp_servers'",
        )
        for path in ("roles.r.mcp_servers[1]", "roles.r.tools.gti")
    ] + [
        Finding(
            code="server-without-tools",
            message="role 'r' names server 'git' and none of its tools, which gives it nothing",
            path="roles.r.mcp_servers[0]",
            remedy="add tools.git or 'git/*' under 'allow', or remove the server",
        )
    ]


def test_a_server_that_exists_undeclared_is_a_warning() -> None:
    role = Role(name="r", tools={"mail": ("send",)})

    assert found(declare(role), {"mail": frozenset({"send"})}) == [
        Finding(
            code="unknown-server",
            severity=Severity.WARNING,
            message="role 'r' names server 'mail', which is not declared",
            path="roles.r.tools.mail",
            remedy="declare it under 'mcp_servers'",
        )
    ]


@pytest.mark.parametrize("key", ["allow", "deny"])
@pytest.mark.parametrize("pattern", ["GIT/git_log", "mcp__GIT__*"])
def test_a_pattern_over_an_unknown_server_is_a_warning(key: str, pattern: str) -> None:
    # A deny may well be written before its server comes.
    role = Role(name="r", tools={"git": ("git_log",)}, **{key: (pattern,)})  # pyright: ignore[reportArgumentType]  # allow or deny

    assert found(declare(role)) == [
        Finding(
            code="unknown-server",
            severity=Severity.WARNING,
            message="role 'r' names server 'GIT', which is not declared",
            path=f"roles.r.{key}[0]",
            remedy="did you mean 'git'? otherwise declare it under 'mcp_servers'",
        )
    ]


def test_a_granted_tool_that_is_not_offered_is_told() -> None:
    # R16
    role = Role(name="r", tools={"git": ("git_log", "git_pusj", "frobnicate")})

    assert found(declare(role)) == [
        Finding(
            code="unknown-tool",
            message="role 'r' is granted 'git_pusj', which server 'git' does not offer",
            path="roles.r.tools.git[1]",
            remedy="did you mean 'git_push'? otherwise remove it, or map it under 'tool_names'",
        ),
        Finding(
            code="unknown-tool",
            message="role 'r' is granted 'frobnicate', which server 'git' does not offer",
            path="roles.r.tools.git[2]",
            remedy="remove it, or map it under 'tool_names'",
        ),
    ]


def with_names(*left_out: str) -> Declaration:
    """Declare `git` with a shipped map that cannot serve these, and a role that is granted all."""
    names = BorrowedNames(choice="theirs", left_out=dict.fromkeys(left_out, "it has none"))
    role = Role(name="r", tools={"git": ("git_log", "git_pull"), "other": ("x",)})
    declaration = declare(role, servers="git other")
    git = replace(declaration.servers["git"], names=names)
    return replace(declaration, servers={**declaration.servers, "git": git})


@pytest.mark.parametrize("offered", [{}, OFFERED], ids=["not seen", "seen"])
def test_a_granted_name_that_a_map_leaves_out_is_told_with_its_reason(
    offered: Mapping[str, frozenset[str]],
) -> None:
    # R30
    (finding,) = found(with_names("git_pull", "git_push"), offered)

    assert finding == Finding(
        code="unserved-name",
        message="role 'r' is granted 'git_pull', which the names of server 'git' leave out: "
        "it has none",
        path="roles.r.tools.git[1]",
        remedy="grant the server's own tools, or declare remit's own server instead",
    )
    assert finding.server == "git"


def test_a_name_that_the_server_has_by_itself_is_not_left_out() -> None:
    assert found(with_names("git_log"), {"git": frozenset({"git_log", "git_pull"})}) == []


def test_letter_case_is_the_first_guess() -> None:
    role = Role(name="r", tools={"git": ("GIT_LOG",)})

    (finding,) = found(declare(role), {"git": frozenset({"GIT_LAG", "git_log"})})

    assert finding.remedy.startswith("did you mean 'git_log'?")


def test_of_equally_near_names_the_first_in_order_is_shown() -> None:
    role = Role(name="r", tools={"git": ("Git_Log",)})

    (finding,) = found(declare(role), {"git": frozenset({"git_log", "GIT_LOG", "git_LOG"})})

    assert finding.remedy.startswith("did you mean 'GIT_LOG'?")


def test_what_a_server_offers_that_has_not_been_seen_is_not_guessed() -> None:
    role = Role(
        name="r",
        tools={"git": ("git_log",), "wiki": ("anything",)},
        allow=("wiki/*", "*/nothing"),
        deny=("wiki/delete",),
    )

    assert found(declare(role, servers="git wiki")) == []


def test_a_star_in_tools_is_told_and_not_called_unknown() -> None:
    # S0.17: exact membership.
    role = Role(name="r", tools={"git": ("git_log", "git_*"), "wiki": ("*",)})

    assert found(declare(role, servers="git wiki")) == [
        Finding(
            code="star-in-tools",
            message="'git_*' is taken as an exact name: 'tools' has no patterns",
            path="roles.r.tools.git[1]",
            remedy="write 'git/git_*' under 'allow'",
        ),
        Finding(
            code="star-in-tools",
            message="'*' is taken as an exact name: 'tools' has no patterns",
            path="roles.r.tools.wiki[0]",
            remedy="write 'wiki/*' under 'allow'",
        ),
    ]


def test_a_pattern_that_matches_nothing_is_told() -> None:
    # R16
    role = Role(
        name="r",
        tools={"git": ("git_log",)},
        allow=("git/git_*", "git/git_pish", "mcp__git__git_statis"),
        deny=("*/zzz",),
    )

    assert found(declare(role)) == [
        Finding(
            code="pattern-matches-nothing",
            message="allow 'git/git_pish' of role 'r' matches no offered tool",
            path="roles.r.allow[1]",
            remedy="did you mean 'git/git_push'? otherwise correct or remove it",
        ),
        Finding(
            code="pattern-matches-nothing",
            message="allow 'mcp__git__git_statis' of role 'r' matches no offered tool",
            path="roles.r.allow[2]",
            remedy="did you mean 'mcp__git__git_status'? otherwise correct or remove it",
        ),
        Finding(
            code="pattern-matches-nothing",
            message="deny '*/zzz' of role 'r' matches no offered tool",
            path="roles.r.deny[0]",
            remedy="correct or remove it",
        ),
    ]


def test_an_unseen_server_does_not_hide_a_later_pattern() -> None:
    role = Role(name="r", tools={"git": ("git_log",)}, allow=("wiki/*", "git/zzz"))

    assert [finding.path for finding in found(declare(role, servers="git wiki"))] == [
        "roles.r.allow[1]"
    ]


def test_a_disabled_server_does_not_keep_a_pattern_from_being_judged() -> None:
    role = Role(name="r", tools={"git": ("git_log",)}, allow=("*/zzz",))

    assert [finding.code for finding in found(declare(role, disabled="off"))] == [
        "pattern-matches-nothing"
    ]


def test_a_grant_that_the_role_itself_denies_is_told() -> None:
    role = Role(
        name="r",
        tools={"git": ("git_log", "git_push")},
        allow=("git/git_*", "git/git_p*", "*/git_push"),
        deny=("mcp__git__git_push", "git/git_pu*", "*/git_p*", "git/git_p*"),
    )

    assert found(declare(role)) == [
        Finding(
            code="shadowed-allow",
            message="role 'r' allows 'git/git_push' and denies it all by 'mcp__git__git_push'",
            path="roles.r.tools.git[1]",
            remedy="remove it, or narrow roles.r.deny[0]",
        ),
        Finding(
            code="shadowed-allow",
            message="role 'r' allows 'git/git_p*' and denies it all by '*/git_p*'",
            path="roles.r.allow[1]",
            remedy="remove it, or narrow roles.r.deny[2]",
        ),
        Finding(
            code="shadowed-allow",
            message="role 'r' allows '*/git_push' and denies it all by '*/git_p*'",
            path="roles.r.allow[2]",
            remedy="remove it, or narrow roles.r.deny[2]",
        ),
    ]


def test_another_roles_deny_shadows_nothing() -> None:
    one = Role(name="one", tools={"git": ("git_push",)})
    two = Role(name="two", tools={"git": ("git_log",)}, deny=("git/git_push",))

    assert found(declare(one, two)) == []


def test_servers_that_read_alike_are_told() -> None:
    role = Role(name="r", allow=("mcp__a__*",))

    assert found(declare(role, servers="a a_ b_ c")) == [
        Finding(
            code="confusable-servers",
            message="servers 'a' and 'a_' read alike in 'mcp__server__tool'",
            path="mcp_servers.a_",
            remedy="rename one of them, or write patterns as 'server/tool'",
        )
    ]


def test_offered_tools_that_no_role_may_use_are_told_in_one_line_a_server() -> None:
    # R16
    role = Role(name="r", tools={"git": ("git_log",)}, deny=("*/git_log",))
    more = Role(name="more", tools={"git": ("git_status",)})

    findings = lint(
        declare(role, more, servers="git wiki time"),
        {"git": GIT, "wiki": frozenset({"read"}), "time": frozenset()},
    )

    assert [finding for finding in findings if finding.code == "granted-to-nobody"] == [
        Finding(
            code="granted-to-nobody",
            severity=Severity.INFO,
            message="no role may use 2 of the tools of server 'git': git_log, git_push",
            path="mcp_servers.git",
            remedy="grant them to a role, or leave it so",
        ),
        Finding(
            code="granted-to-nobody",
            severity=Severity.INFO,
            message="no role may use 1 of the tools of server 'wiki': read",
            path="mcp_servers.wiki",
            remedy="grant them to a role, or leave it so",
        ),
    ]


def test_a_disabled_server_or_an_undeclared_one_is_not_called_granted_to_nobody() -> None:
    offered = {"git": GIT, "elsewhere": frozenset({"x"})}

    assert lint(declare(servers="", disabled="git"), offered) == ()


def test_a_server_not_seen_yet_is_not_called_granted_to_nobody() -> None:
    assert lint(declare(), {}) == ()


@pytest.mark.parametrize(("count", "end"), [(20, "t18, t19"), (21, "t18, t19 and 1 more")])
def test_a_long_line_is_cut_after_twenty_names(count: int, end: str) -> None:
    offered = {"git": frozenset(f"t{number:02}" for number in range(count))}

    (finding,) = lint(declare(), offered)

    assert finding.message.startswith(
        f"no role may use {count} of the tools of server 'git': t00, t01, "
    )
    assert finding.message.endswith(end)


def test_findings_come_in_the_order_of_the_declaration() -> None:
    roles = [Role(name=name) for name in ("c", "a", "b")]

    assert [finding.path for finding in lint(declare(*roles, servers="a a_"), {})] == [
        "mcp_servers.a_",
        "roles.c",
        "roles.a",
        "roles.b",
    ]


@pytest.mark.parametrize("role", [Role(name="r", allow=("*",)), Role(name="r", deny=("x",))])
def test_a_bad_pattern_is_not_linted_but_refused(role: Role) -> None:
    with pytest.raises(DeclarationError, match="names no server"):
        lint(declare(role), OFFERED)


def test_a_tool_that_is_granted_in_vain_is_named() -> None:
    role = Role(name="r", tools={"git": ("git_pusj",)})

    (finding,) = found(declare(role))

    assert finding.tool == "git_pusj"


def test_what_an_offer_shows_names_its_server() -> None:
    # R16: it is told when that server connects; a pattern over all servers is about none.
    role = Role(
        name="r",
        tools={"git": ("git_nope",)},
        allow=("git/zzz_*", "*/zzz_*"),
        deny=("git/yyy_*",),
    )

    assert {(one.code, one.path, one.server) for one in lint(declare(role), OFFERED)} == {
        ("unknown-tool", "roles.r.tools.git[0]", "git"),
        ("pattern-matches-nothing", "roles.r.allow[0]", "git"),
        ("pattern-matches-nothing", "roles.r.allow[1]", ""),
        ("pattern-matches-nothing", "roles.r.deny[0]", "git"),
        ("granted-to-nobody", "mcp_servers.git", "git"),
    }
