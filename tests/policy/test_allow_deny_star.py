"""Case T20 as one truth table, in remit's dialect.

Two of the case's rows never reach policy, since loading the file refuses them: the misspelt key
`alow` (R16) and a rule on arguments (R36). Here they are present as far as a pattern can say them.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import pytest

from remit.errors import DeclarationError
from remit.model.declaration import Declaration
from remit.model.principals import Principal, PrincipalKind
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId
from remit.policy.engine import decide, explain
from remit.policy.lint import lint
from remit.policy.patterns import check_pattern
from remit.policy.snapshot import compile_snapshot

TOOLS = ("query", "drop_table", "drop_index", "admin")
DB = {"db": ServerConfig(name="db")}


@dataclass(frozen=True, kw_only=True)
class Rules:
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    def role(self, name: str, *, reverse: bool = False) -> Role:
        step = -1 if reverse else 1
        return Role(
            name=name,
            allow=self.allow[::step],
            deny=self.deny[::step],
            tools={"db": self.tools[::step]} if self.tools else {},
        )


ALL = frozenset(TOOLS)
NONE = frozenset[str]()

TRUTH: dict[str, tuple[tuple[Rules, ...], AbstractSet[str]]] = {
    "allow *": ((Rules(allow=("*/*",)),), ALL),
    "allow * of the server": ((Rules(allow=("db/*",)),), ALL),
    "allow * in the other spelling": ((Rules(allow=("mcp__db__*",)),), ALL),
    "allow *, deny drop_*": ((Rules(allow=("*/*",), deny=("db/drop_*",)),), {"query", "admin"}),
    "deny drop_* of any server": (
        (Rules(allow=("db/*",), deny=("*/drop_*",)),),
        {"query", "admin"},
    ),
    "deny-only": ((Rules(deny=("db/drop_*",)),), NONE),
    "allow-only": ((Rules(allow=("db/query",)),), {"query"}),
    "allow-only by name": ((Rules(tools=("query", "admin")),), {"query", "admin"}),
    "both empty": ((Rules(),), NONE),
    "no role at all": ((), NONE),
    "allow and deny the same": ((Rules(allow=("db/query",), deny=("db/query",)),), NONE),
    "allow and deny the same, two spellings": (
        (Rules(allow=("db/query",), deny=("mcp__db__query",)),),
        NONE,
    ),
    "name and deny the same": ((Rules(tools=("query", "admin"), deny=("db/query",)),), {"admin"}),
    "allow *, deny *": ((Rules(allow=("*/*",), deny=("*/*",)),), NONE),
    "several allows and denies": (
        (Rules(allow=("db/q*", "db/drop_*", "db/admin"), deny=("db/*_index", "db/a*")),),
        {"query", "drop_table"},
    ),
    # Two roles: a union of what they allow, and the deny of either ends it (R8).
    "two roles, allow and allow": (
        (Rules(allow=("db/query",)), Rules(allow=("db/admin",))),
        {"query", "admin"},
    ),
    "two roles, allow * and deny drop_*": (
        (Rules(allow=("*/*",)), Rules(deny=("db/drop_*",))),
        {"query", "admin"},
    ),
    "two roles, allow and nothing": ((Rules(allow=("db/query",)), Rules()), {"query"}),
    "two roles, allow * and deny *": ((Rules(allow=("*/*",)), Rules(deny=("*/*",))), NONE),
    # The case's patterns, where they can be written with a server.
    "db/*drop*": ((Rules(allow=("db/*drop*",)),), {"drop_table", "drop_index"}),
    "DB/QUERY": ((Rules(allow=("DB/QUERY",)),), NONE),
    "db/QUERY": ((Rules(allow=("db/QUERY",)),), NONE),
    "mcp__DB__QUERY": ((Rules(allow=("mcp__DB__QUERY",)),), NONE),
    "db/[d]rop*": ((Rules(allow=("db/[d]rop*",)),), NONE),
    "*/**": ((Rules(allow=("*/**",)),), ALL),
    "a tool that does not exist": ((Rules(allow=("db/truncate",), tools=("vacuum",)),), NONE),
    "arguments in a pattern": ((Rules(allow=("db/query(limit=1)",)),), NONE),
}


def open_to(rules: tuple[Rules, ...], *, reverse: bool = False) -> set[str]:
    roles = {f"r{at}": rule.role(f"r{at}", reverse=reverse) for at, rule in enumerate(rules)}
    names = tuple(roles)[:: -1 if reverse else 1]
    declaration = Declaration(servers=DB, roles={name: roles[name] for name in names})
    snapshot = compile_snapshot(declaration, tenant="default", revision=1)
    caller = Principal(kind=PrincipalKind.KEY, name="k", roles=names)
    listed = {tool for tool in TOOLS if decide(snapshot, caller, ToolId("db", tool)).allowed}
    called = {
        tool for tool in TOOLS if explain(snapshot, caller, ToolId("db", tool)).decision.allowed
    }
    assert listed == called
    # The letter case rule is the same wherever it is asked.
    assert not any(decide(snapshot, caller, ToolId("DB", tool.upper())).allowed for tool in TOOLS)
    return listed


@pytest.mark.parametrize("name", TRUTH)
def test_the_truth_table(name: str) -> None:
    rules, right = TRUTH[name]

    assert open_to(rules) == right


@pytest.mark.parametrize("name", TRUTH)
def test_the_order_of_rules_and_roles_changes_nothing(name: str) -> None:
    rules, right = TRUTH[name]

    assert open_to(rules, reverse=True) == right


@pytest.mark.parametrize("name", TRUTH)
def test_removing_the_last_rule_opens_nothing(name: str) -> None:
    rules, _ = TRUTH[name]

    assert open_to(tuple(Rules() for _ in rules)) == NONE
    assert open_to(()) == NONE


@pytest.mark.parametrize(
    "text", ["*", "db", "db__*", "*drop*", "DB__QUERY", "[d]rop", "drop_*", "**", ""]
)
@pytest.mark.parametrize("key", ["allow", "deny"])
def test_a_bare_or_empty_pattern_is_a_load_error(key: str, text: str) -> None:
    # R15
    role = Role(name="r", **{key: (text,)})  # pyright: ignore[reportArgumentType]  # allow or deny

    assert check_pattern(text)
    with pytest.raises(DeclarationError):
        compile_snapshot(Declaration(servers=DB, roles={"r": role}), tenant="t", revision=1)


@pytest.mark.parametrize(
    ("rules", "codes"),
    [
        (Rules(allow=("DB/QUERY",)), {"unknown-server"}),
        (Rules(allow=("db/QUERY",)), {"pattern-matches-nothing"}),
        (Rules(allow=("db/[d]rop*",)), {"pattern-matches-nothing"}),
        (Rules(allow=("*/*", "*/truncate")), {"pattern-matches-nothing"}),
        (Rules(allow=("*/*",), deny=("db/Drop_*",)), {"pattern-matches-nothing"}),
        (Rules(allow=("db/query(limit=1)",)), {"pattern-matches-nothing"}),
        (Rules(tools=("truncate",)), {"unknown-tool"}),
        (Rules(allow=("db/query",), deny=("db/query",)), {"shadowed-allow"}),
        (Rules(allow=("*/*",), deny=("*/*",)), {"shadowed-allow"}),
        (Rules(deny=("db/drop_*",)), {"empty-allow-list"}),
        (Rules(), {"empty-allow-list"}),
    ],
)
def test_a_rule_that_can_never_match_is_told(rules: Rules, codes: set[str]) -> None:
    declaration = Declaration(servers=DB, roles={"r": rules.role("r")})

    findings = lint(declaration, {"db": frozenset(TOOLS)})

    assert {finding.code for finding in findings} - {"granted-to-nobody"} == codes
