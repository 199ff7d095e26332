"""Patterns (R15): what they fit, what they cannot be, and that none of them is slow."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.errors import DeclarationError
from remit.model.tools import ToolId
from remit.policy.patterns import Pattern, check_pattern, mcp_spelling

law = settings(deadline=None)


def reads(pattern: str) -> re.Pattern[str]:
    """Build the naive model of a pattern; fine for the short texts of these laws only."""
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)


@pytest.mark.parametrize(
    ("pattern", "tool", "fits"),
    [
        ("git/git_log", ToolId("git", "git_log"), True),
        ("git/git_log", ToolId("git", "git_logs"), False),
        ("git/git_log", ToolId("git", "agit_log"), False),
        ("git/*", ToolId("git", "git_log"), True),
        ("git/*", ToolId("github", "git_log"), False),
        ("git*/git_log", ToolId("github", "git_log"), True),
        ("*/get_*", ToolId("github", "get_issue"), True),
        ("*/get_*", ToolId("github", "forget_issue"), False),
        ("*/*_issue", ToolId("github", "get_issue"), True),
        ("*/*_issue", ToolId("github", "get_issues"), False),
        ("*/*", ToolId("any", "thing"), True),
        ("*/**", ToolId("any", "thing"), True),
        ("mcp__git__*", ToolId("git", "git_log"), True),
        ("mcp__git__*", ToolId("github", "git_log"), False),
        ("mcp__git*", ToolId("github", "git_log"), True),
        ("mcp__*", ToolId("any", "thing"), True),
        ("mcp__git__git_log", ToolId("git", "git_log"), True),
        ("mcp__mail__*", ToolId("mail", "mcp__mail__send"), True),
        # A run of characters may be empty, and literal pieces may not overlap.
        ("s/a*b", ToolId("s", "ab"), True),
        ("s/ab*ba", ToolId("s", "aba"), False),
        ("s/ab*b*ba", ToolId("s", "abba"), False),
        ("s/a*b*c", ToolId("s", "abc"), True),
        ("s/a*b*b*c", ToolId("s", "abc"), False),
        ("s/a*bc*bc", ToolId("s", "abc"), False),
        ("s/a*x*b*c", ToolId("s", "abxc"), False),
        ("s/*a*b*", ToolId("s", "aba"), True),
        ("*a*/x", ToolId("ab", "x"), True),
        # Letter case matters (R15), and every character but the star is itself.
        ("GIT/git_log", ToolId("git", "git_log"), False),
        ("git/GIT_LOG", ToolId("git", "git_log"), False),
        ("MCP/x", ToolId("mcp", "x"), False),
        ("s/[d]rop", ToolId("s", "drop"), False),
        ("s/[d]rop", ToolId("s", "[d]rop"), True),
        ("s/?", ToolId("s", "x"), False),
        ("s/.*", ToolId("s", "x"), False),
        ("s/x$", ToolId("s", "x"), False),
        ("s/x", ToolId("s", "x\n"), False),
        ("s/*x", ToolId("s", "line\nx"), True),
        ("s/工*", ToolId("s", "工具"), True),
        # A tool's own name may hold either separator.
        ("s/with/*", ToolId("s", "with/slash"), True),
        ("mcp__s__with/*", ToolId("s", "with/slash"), True),
        ("s/with__*", ToolId("s", "with__two"), True),
        # Only the spelling that the pattern is written in is looked at.
        ("m*/x", ToolId("s", "y/x"), False),
        ("m*/x", ToolId("mail", "x"), True),
    ],
)
def test_a_pattern_fits_exactly_these(pattern: str, tool: ToolId, fits: bool) -> None:
    assert Pattern.parse(pattern).matches(tool) is fits


EMPTY = "an empty pattern matches nothing: write 'server/tool', or '*/*' for every tool"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", EMPTY),
        ("*", "it names no server: write '*/*' for every tool of every server"),
        ("**", "it names no server: write '*/*' for every tool of every server"),
        (
            "db",
            (
                "it names no server: write 'db/*' for the tools of a server, "
                "or '*/db' for a tool of any server"
            ),
        ),
        (
            "*drop*",
            (
                "it names no server: write '*drop*/*' for the tools of a server, "
                "or '*/*drop*' for a tool of any server"
            ),
        ),
        (
            "X",
            (
                "it names no server: write 'X/*' for the tools of a server, "
                "or '*/X' for a tool of any server"
            ),
        ),
        ("db__*", "it names no server: write 'mcp__db__*'"),
        (
            "mcp_db_x",
            (
                "it names no server: write 'mcp_db_x/*' for the tools of a "
                "server, or '*/mcp_db_x' for a tool of any server"
            ),
        ),
        ("/drop", "its server part is empty: write '*' there for any server"),
        ("/", "its server part is empty: write '*' there for any server"),
        ("mcp__", "its server part is empty: write '*' there for any server"),
        (
            "mcp____x",
            "its server part is empty: write '*' there for any server",
        ),
        ("git/", "its tool part is empty: write '*' there for any tool"),
        ("*/", "its tool part is empty: write '*' there for any tool"),
        ("mcp__git", "its tool part is empty: write '*' there for any tool"),
        ("mcp__git__", "its tool part is empty: write '*' there for any tool"),
        ("mcp__*__", "its tool part is empty: write '*' there for any tool"),
        ("mcp__git/x", "its tool part is empty: write '*' there for any tool"),
    ],
)
def test_what_can_be_no_pattern_says_what_to_write(text: str, why: str) -> None:
    assert check_pattern(text) == why


@pytest.mark.parametrize("text", ["git/x", "*/*", "mcp__*", "mcp__git*", "mcp__a__b__", "a/b/"])
def test_what_can_be_a_pattern_passes(text: str) -> None:
    assert check_pattern(text) is None


def test_a_bare_pattern_is_not_parsed() -> None:
    with pytest.raises(DeclarationError) as caught:
        Pattern.parse("")

    assert [(problem.code, problem.message) for problem in caught.value.problems] == [
        ("bad-pattern", f"'' is no pattern: {EMPTY}")
    ]


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("git/*", "git"),
        ("git/a/b", "git"),
        ("git/a__b", "git"),
        ("mcp__git__*", "git"),
        ("mcp__git__a__b", "git"),
        ("mcp__git___x", "git"),
        ("*/x", None),
        ("git*/x", None),
        ("mcp__*", None),
        ("mcp__git*", None),
        ("mcp__git*__x", None),
        ("mcp__git*__x/y", None),
    ],
)
def test_the_server_part_is_literal_when_it_has_no_star(text: str, server: str | None) -> None:
    # R11: such a pattern is an explicit grant of the server.
    assert Pattern.parse(text).literal_server == server


@pytest.mark.parametrize(
    ("covering", "covered", "covers"),
    [
        ("db/*", "db/drop_*", True),
        ("db/drop_*", "db/drop_*", True),
        ("db/drop_*", "db/drop_table", True),
        ("*/*", "db/*", True),
        ("*/drop_*", "db/drop_*", True),
        ("db/drop_*", "db/*", False),
        ("db/drop_table", "db/drop_*", False),
        ("mcp__db__*", "mcp__db__x", True),
        ("mcp__db__*", "db/x", False),
        ("*/*", "mcp__db__with/slash", False),
    ],
)
def test_a_pattern_covers_what_is_plainly_within_it(
    covering: str, covered: str, covers: bool
) -> None:
    assert Pattern.parse(covering).covers(Pattern.parse(covered)) is covers


names = st.text(alphabet="ab_/", min_size=1, max_size=8)
servers = st.text(alphabet="ab", min_size=1, max_size=3)
tools = st.builds(ToolId, servers, names)
patterns = st.text(alphabet="ab_/*", max_size=10).filter(lambda text: check_pattern(text) is None)
spelled_patterns = st.one_of(
    patterns, st.builds("mcp__{}__{}".format, servers, st.text("ab*", min_size=1))
)


@law
@given(pattern=spelled_patterns, tool=tools)
def test_matching_agrees_with_the_naive_model(pattern: str, tool: ToolId) -> None:
    spelling = mcp_spelling(tool) if pattern.startswith("mcp__") else str(tool)

    assert Pattern.parse(pattern).matches(tool) == bool(reads(pattern).fullmatch(spelling))


@law
@given(tool=tools)
def test_a_tool_is_fitted_by_both_its_spellings(tool: ToolId) -> None:
    assert Pattern.parse(str(tool)).matches(tool)
    assert Pattern.parse(mcp_spelling(tool)).matches(tool)


@law
@given(covering=patterns, covered=patterns, tool=tools)
def test_what_covers_fits_all_that_the_other_fits(
    covering: str, covered: str, tool: ToolId
) -> None:
    wide, narrow = Pattern.parse(covering), Pattern.parse(covered)
    if wide.covers(narrow) and narrow.matches(tool):
        assert wide.matches(tool)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("pieces", [["a"] * 500 + ["b"], ["aa"] * 300 + ["ab"], ["", ""] * 400])
def test_many_stars_over_a_long_name_end_soon(pieces: list[str]) -> None:
    # Backtracking would take longer than the universe has stood; greedy matching, milliseconds.
    pattern = Pattern.parse("s/*" + "*".join(pieces) + "*c")

    assert not pattern.matches(ToolId("s", "a" * 20_000))
