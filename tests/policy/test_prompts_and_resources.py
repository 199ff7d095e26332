"""Prompts and resources under the same rules as tools (R10, R15), and what lint says of them."""

from dataclasses import replace

import pytest

from remit.model.contents import Kind, kind_of, own_name
from remit.model.declaration import Declaration
from remit.model.grants import Grant
from remit.model.limits import Limit
from remit.model.principals import Principal, PrincipalKind
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId
from remit.policy.engine import decide
from remit.policy.lint import lint
from remit.policy.patterns import Pattern
from remit.policy.snapshot import compile_snapshot

GREET = Kind.PROMPT.id("wiki", "greet")
PAGE = Kind.RESOURCE.id("wiki", "wiki://page/1")
DOC = Kind.RESOURCE.id("wiki", "file:///docs/read_me")
SEARCH = ToolId("wiki", "search")
ALL = (SEARCH, GREET, PAGE, DOC)


def allowed(role: Role) -> set[str]:
    servers = {"wiki": ServerConfig(name="wiki", command="true")}
    declaration = Declaration(servers=servers, roles={role.name: role})
    snapshot = compile_snapshot(declaration, tenant="default", revision=1)
    caller = Principal(kind=PrincipalKind.KEY, name="k", roles=(role.name,))
    return {item.name for item in ALL if decide(snapshot, caller, item).allowed}


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        (Role(name="r", allow=("wiki/*",)), {item.name for item in ALL}),
        (Role(name="r", allow=("*/*",)), {item.name for item in ALL}),
        (Role(name="r", allow=("mcp__wiki__*",)), {item.name for item in ALL}),
        (Role(name="r", allow=("mcp__*",)), {item.name for item in ALL}),
        (Role(name="r", allow=("wiki/prompt:*",)), {GREET.name}),
        (Role(name="r", allow=("mcp__wiki__prompt:greet",)), {GREET.name}),
        (Role(name="r", allow=("wiki/resource:file:///docs/*",)), {DOC.name}),
        (Role(name="r", allow=("*/resource:*",)), {PAGE.name, DOC.name}),
        (Role(name="r", tools={"wiki": ("search",)}), {"search"}),
        (Role(name="r", tools={"wiki": ("prompt:greet",)}), {GREET.name}),
        (Role(name="r", tools={"wiki": ()}), set[str]()),
        (Role(name="r", allow=("*/read_*", "wiki/s*")), {"search"}),
        (Role(name="r", allow=("wiki/*",), deny=("wiki/resource:*",)), {"search", GREET.name}),
    ],
)
def test_the_same_patterns_and_lists_speak_of_prompts_and_resources(
    role: Role, expected: set[str]
) -> None:
    assert allowed(role) == expected


@pytest.mark.parametrize(
    ("name", "kind", "own"),
    [
        ("search", Kind.TOOL, "search"),
        ("prompt:a:b", Kind.PROMPT, "a:b"),
        ("resource:file:///x", Kind.RESOURCE, "file:///x"),
        ("tool:x", Kind.TOOL, "tool:x"),
        ("prompting", Kind.TOOL, "prompting"),
        (":x", Kind.TOOL, ":x"),
    ],
)
def test_the_beginning_of_a_name_says_its_kind(name: str, kind: Kind, own: str) -> None:
    assert kind_of(name) is kind
    assert own_name(ToolId("s", name)) == own
    assert kind.id("s", own) == ToolId("s", name)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("wiki/*", Kind.TOOL),
        ("wiki/prompt:*", Kind.PROMPT),
        ("*/resource:x", Kind.RESOURCE),
        ("mcp__wiki__prompt:x", Kind.PROMPT),
        ("mcp__*", Kind.TOOL),
    ],
)
def test_a_pattern_says_what_it_is_about(text: str, kind: Kind) -> None:
    assert Pattern.parse(text).kind is kind


OFFERED = {"wiki": frozenset({"search", "prompt:greet", "resource:wiki://page/1"})}
ONLY_TOOLS = {"wiki": frozenset({"search"})}


@pytest.mark.parametrize(
    ("offered", "role", "codes"),
    [
        (OFFERED, Role(name="r", allow=("wiki/prompt:gr*", "wiki/search")), set[str]()),
        (OFFERED, Role(name="r", allow=("wiki/prompt:nothing",)), {"pattern-matches-nothing"}),
        (OFFERED, Role(name="r", allow=("wiki/resource:wiki://page/17",)), set[str]()),
        (OFFERED, Role(name="r", tools={"wiki": ("prompt:greet",)}), set[str]()),
        (OFFERED, Role(name="r", tools={"wiki": ("prompt:nothing",)}), {"unknown-tool"}),
        (OFFERED, Role(name="r", tools={"wiki": ("resource:wiki://x",)}), set[str]()),
        (ONLY_TOOLS, Role(name="r", allow=("wiki/prompt:*",)), set[str]()),
        (ONLY_TOOLS, Role(name="r", allow=("wiki/nothing",)), {"pattern-matches-nothing"}),
    ],
)
def test_lint_complains_only_of_prompts_that_are_known_not_to_be_there(
    offered: dict[str, frozenset[str]], role: Role, codes: set[str]
) -> None:
    servers = {"wiki": ServerConfig(name="wiki", command="true")}
    declaration = Declaration(servers=servers, roles={"r": role})

    found = {finding.code for finding in lint(declaration, offered)}

    assert found - {"granted-to-nobody"} == codes


@pytest.mark.parametrize(
    ("offered", "pattern", "codes"),
    [
        (OFFERED, "wiki/prompt:greet", set[str]()),
        (OFFERED, "wiki/prompt:nothing", {"pattern-matches-nothing"}),
        (OFFERED, "wiki/resource:wiki://page/17", set[str]()),
        (ONLY_TOOLS, "wiki/prompt:nothing", set[str]()),
        (ONLY_TOOLS, "wiki/nothing", {"pattern-matches-nothing"}),
    ],
)
def test_grants_and_limits_are_judged_alike(
    offered: dict[str, frozenset[str]], pattern: str, codes: set[str]
) -> None:
    declaration = Declaration(
        servers={"wiki": ServerConfig(name="wiki", command="true")},
        roles={"r": Role(name="r", allow=("wiki/*",))},
        grants=(Grant(subject="role:r", effect="deny", tool=pattern),),
        limits=(Limit(role="r", tool=pattern, calls=1, seconds=60),),
    )
    open_to_all = replace(declaration, grants=())

    of_grants = {one.code for one in lint(declaration, offered) if one.path.startswith("grants")}
    of_limits = {one.code for one in lint(open_to_all, offered) if one.path.startswith("limits")}

    assert of_grants == of_limits == codes
