"""The decision table: what each layer says and which rule decides (R8-R12)."""

from dataclasses import dataclass

import pytest

from remit.model.decisions import Decision, Layer, LayerVerdict, Verdict
from remit.model.declaration import Declaration
from remit.model.principals import Principal, PrincipalKind
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId
from remit.policy.callers import standing_of
from remit.policy.engine import decide, explain, explains_denials, roles_that_can
from remit.policy.layers import LAYERS
from remit.policy.snapshot import PolicySnapshot, compile_snapshot
from remit.policy.standing import Standing

DECLARATION = Declaration(
    servers={
        "git": ServerConfig(name="git"),
        "wiki": ServerConfig(name="wiki", default_access="deny"),
        "off": ServerConfig(name="off", enabled=False),
        "a": ServerConfig(name="a"),
        "a_": ServerConfig(name="a_"),
    },
    roles={
        "dev": Role(
            name="dev",
            mcp_servers=("git", "wiki"),
            tools={"git": ("git_status", "git_log", "git_log"), "wiki": ("read",), "off": ("x",)},
            deny=("mcp__git__git_push",),
        ),
        "reader": Role(
            name="reader",
            allow=("*/git_*", "wiki/read", "wiki/re*", "*/read", "mcp__wiki__look_*"),
            deny=("*/drop_*", "git/git_push", "*/*_push", "git/git_p*"),
        ),
        "keyed": Role(name="keyed", tools={"wiki": ("read",)}),
        "patterned": Role(name="patterned", allow=("*/read", "wiki/list", "mcp__wiki__list")),
        "anywhere": Role(name="anywhere", allow=("*/*",)),
        "server_only": Role(name="server_only", mcp_servers=("git", "wiki")),
        "starred": Role(name="starred", tools={"git": ("*", "git_*")}),
        "empty": Role(name="empty", tools={"git": ()}, denials="explain"),
        "underscore": Role(name="underscore", allow=("mcp__a__*",)),
        "elsewhere": Role(name="elsewhere", tools={"gone": ("x",)}),
    },
)


def snapshot() -> PolicySnapshot:
    return compile_snapshot(DECLARATION, tenant="default", revision=7)


def caller(*roles: str, tenant: str = "default", admin: bool = False) -> Principal:
    return Principal(
        kind=PrincipalKind.KEY, name="ci", tenant=tenant, roles=tuple(roles), admin=admin
    )


def standing(*roles: str) -> Standing:
    return standing_of(snapshot(), caller(*roles))


@dataclass(frozen=True, kw_only=True)
class Row:
    roles: tuple[str, ...]
    tool: tuple[str, str]
    allowed: bool
    layer: Layer
    rule: str
    reason: str
    tenant: str = "default"
    admin: bool = False


NO_ROLE = "no role allows it: the caller has "


def yes(roles: str, tool: str, rule: str, reason: str) -> Row:
    server, _, name = tool.partition("/")
    return Row(
        roles=tuple(roles.split()),
        tool=(server, name),
        allowed=True,
        layer=Layer.CEILING,
        rule=rule,
        reason=reason,
    )


def no(roles: str, tool: str, layer: Layer, rule: str, reason: str) -> Row:
    server, _, name = tool.partition("/")
    return Row(
        roles=tuple(roles.split()),
        tool=(server, name),
        allowed=False,
        layer=layer,
        rule=rule,
        reason=reason,
    )


ROWS = {
    "named": yes("dev", "git/git_log", "roles.dev.tools.git[1]", "role 'dev' names the tool"),
    "pattern": yes(
        "reader", "git/git_log", "roles.reader.allow[0]", "role 'reader' allows '*/git_*'"
    ),
    "several rules fit: the first of the list": yes(
        "reader", "wiki/read", "roles.reader.allow[1]", "role 'reader' allows 'wiki/read'"
    ),
    "a star within a server": yes(
        "reader", "wiki/rest", "roles.reader.allow[2]", "role 'reader' allows 'wiki/re*'"
    ),
    "the other spelling": yes(
        "reader",
        "wiki/look_up",
        "roles.reader.allow[4]",
        "role 'reader' allows 'mcp__wiki__look_*'",
    ),
    "both spellings as they stand: the first": yes(
        "patterned",
        "wiki/list",
        "roles.patterned.allow[1]",
        "role 'patterned' allows 'wiki/list'",
    ),
    "a star over servers comes first in the list": yes(
        "patterned", "wiki/read", "roles.patterned.allow[0]", "role 'patterned' allows '*/read'"
    ),
    "a name goes before a pattern": yes(
        "dev reader", "git/git_status", "roles.dev.tools.git[0]", "role 'dev' names the tool"
    ),
    "the first role that grants": yes(
        "reader dev", "git/git_status", "roles.reader.allow[0]", "role 'reader' allows '*/git_*'"
    ),
    "union over roles": yes(
        "keyed dev", "git/git_log", "roles.dev.tools.git[1]", "role 'dev' names the tool"
    ),
    "an unknown role beside a known one": yes(
        "ghost dev", "git/git_log", "roles.dev.tools.git[1]", "role 'dev' names the tool"
    ),
    "named in mcp_servers": yes(
        "dev", "wiki/read", "roles.dev.tools.wiki[0]", "role 'dev' names the tool"
    ),
    "named as a key of tools": yes(
        "keyed", "wiki/read", "roles.keyed.tools.wiki[0]", "role 'keyed' names the tool"
    ),
    "a name with a star is that name": yes(
        "starred", "git/*", "roles.starred.tools.git[0]", "role 'starred' names the tool"
    ),
    "the text decides, also of servers that read alike": yes(
        "underscore", "a_/x", "roles.underscore.allow[0]", "role 'underscore' allows 'mcp__a__*'"
    ),
    "no roles": no("", "git/git_log", Layer.CEILING, "", NO_ROLE + "none"),
    "an unknown role": no(
        "ghost", "git/git_log", Layer.CEILING, "", NO_ROLE + "'ghost' (not declared)"
    ),
    "not granted": no(
        "dev ghost",
        "git/git_pull",
        Layer.CEILING,
        "roles.dev",
        NO_ROLE + "'dev', 'ghost' (not declared)",
    ),
    "an empty list": no("empty", "git/git_log", Layer.CEILING, "roles.empty", NO_ROLE + "'empty'"),
    "a server without tools": no(
        "server_only", "wiki/read", Layer.CEILING, "roles.server_only", NO_ROLE + "'server_only'"
    ),
    "a star in tools is no pattern": no(
        "starred", "git/git_log", Layer.CEILING, "roles.starred", NO_ROLE + "'starred'"
    ),
    "letter case": no("dev", "git/GIT_LOG", Layer.CEILING, "roles.dev", NO_ROLE + "'dev'"),
    "letter case of the server": no(
        "dev", "Git/git_log", Layer.SERVER, "", "server 'Git' is not declared"
    ),
    "not declared": no("elsewhere", "gone/x", Layer.SERVER, "", "server 'gone' is not declared"),
    "disabled": no(
        "dev", "off/x", Layer.SERVER, "mcp_servers.off.enabled", "server 'off' is disabled"
    ),
    "denied by a literal in the other spelling": no(
        "dev",
        "git/git_push",
        Layer.DENY,
        "roles.dev.deny[0]",
        "role 'dev' denies 'mcp__git__git_push'",
    ),
    "denied by the first of several": no(
        "reader",
        "git/git_push",
        Layer.DENY,
        "roles.reader.deny[1]",
        "role 'reader' denies 'git/git_push'",
    ),
    "denied by a star over servers before one within": no(
        "reader",
        "git/git_p_push",
        Layer.DENY,
        "roles.reader.deny[2]",
        "role 'reader' denies '*/*_push'",
    ),
    "one role's deny ends another's grant": no(
        "anywhere dev",
        "git/git_push",
        Layer.DENY,
        "roles.dev.deny[0]",
        "role 'dev' denies 'mcp__git__git_push'",
    ),
    "default_access deny, named by a star only": no(
        "anywhere",
        "wiki/read",
        Layer.ACCESS,
        "",
        "server 'wiki' is not open by default, and nothing opens it to the caller",
    ),
    "another tenant": Row(
        roles=("dev",),
        tool=("git", "git_log"),
        allowed=False,
        layer=Layer.TENANT,
        rule="",
        reason="the caller belongs to tenant 'other', not to 'default'",
        tenant="other",
    ),
    # R12: administering never grants use, and explicit denies bind administrators too.
    "an administrator without a role": Row(
        roles=(),
        tool=("git", "git_log"),
        allowed=False,
        layer=Layer.CEILING,
        rule="",
        reason=NO_ROLE + "none",
        admin=True,
    ),
    "an administrator whose role denies": Row(
        roles=("anywhere", "dev"),
        tool=("git", "git_push"),
        allowed=False,
        layer=Layer.DENY,
        rule="roles.dev.deny[0]",
        reason="role 'dev' denies 'mcp__git__git_push'",
        admin=True,
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_decision_and_its_rule_are_exactly(name: str) -> None:
    row = ROWS[name]
    principal = caller(*row.roles, tenant=row.tenant, admin=row.admin)

    assert decide(snapshot(), principal, ToolId(*row.tool)) == Decision(
        allowed=row.allowed, layer=row.layer, rule=row.rule, reason=row.reason, revision=7
    )


def test_an_explanation_lists_all_layers_in_order_also_after_the_one_that_decided() -> None:
    tool = ToolId("wiki", "drop_page")

    explanation = explain(snapshot(), caller("reader", tenant="other"), tool)

    assert explanation.decision.layer is Layer.TENANT
    assert explanation.layers == (
        LayerVerdict(
            layer=Layer.TENANT,
            verdict=Verdict.DENY,
            reason="the caller belongs to tenant 'other', not to 'default'",
        ),
        LayerVerdict(
            layer=Layer.SERVER,
            verdict=Verdict.ALLOW,
            rule="mcp_servers.wiki",
            reason="server 'wiki' is enabled",
        ),
        LayerVerdict(
            layer=Layer.DENY,
            verdict=Verdict.DENY,
            rule="roles.reader.deny[0]",
            reason="role 'reader' denies '*/drop_*'",
        ),
        LayerVerdict(
            layer=Layer.CEILING,
            verdict=Verdict.DENY,
            rule="roles.reader",
            reason=NO_ROLE + "'reader'",
        ),
        LayerVerdict(
            layer=Layer.ACCESS,
            verdict=Verdict.ALLOW,
            rule="roles.reader.allow[1]",
            reason="role 'reader' names server 'wiki'",
        ),
        LayerVerdict(layer=Layer.TOOL, verdict=Verdict.SILENT),
    )


def test_an_explanation_of_a_yes_names_every_rule_that_let_it_through() -> None:
    explanation = explain(snapshot(), caller("dev"), ToolId("git", "git_log"))

    assert explanation.decision.allowed
    assert explanation.layers == (
        LayerVerdict(
            layer=Layer.TENANT,
            verdict=Verdict.ALLOW,
            reason="the caller belongs to tenant 'default'",
        ),
        LayerVerdict(
            layer=Layer.SERVER,
            verdict=Verdict.ALLOW,
            rule="mcp_servers.git",
            reason="server 'git' is enabled",
        ),
        LayerVerdict(
            layer=Layer.DENY, verdict=Verdict.SILENT, reason="nothing denies it to the caller"
        ),
        LayerVerdict(
            layer=Layer.CEILING,
            verdict=Verdict.ALLOW,
            rule="roles.dev.tools.git[1]",
            reason="role 'dev' names the tool",
        ),
        LayerVerdict(
            layer=Layer.ACCESS,
            verdict=Verdict.ALLOW,
            rule="mcp_servers.git.default_access",
            reason="server 'git' is open to whoever may use its tools",
        ),
        LayerVerdict(layer=Layer.TOOL, verdict=Verdict.SILENT),
    )


@pytest.mark.parametrize(
    ("roles", "rule"),
    [
        (("dev",), "roles.dev.mcp_servers[1]"),
        (("server_only",), "roles.server_only.mcp_servers[1]"),
        (("keyed",), "roles.keyed.tools.wiki"),
        (("patterned",), "roles.patterned.allow[1]"),
        (("anywhere", "keyed"), "roles.keyed.tools.wiki"),
        (("ghost", "patterned", "dev"), "roles.patterned.allow[1]"),
    ],
)
def test_naming_a_server_literally_grants_access_to_it(roles: tuple[str, ...], rule: str) -> None:
    # R11: in `mcp_servers`, as a key of `tools`, or as the server part of an allow pattern.
    verdict = LAYERS[Layer.ACCESS](snapshot(), standing(*roles), ToolId("wiki", "read"))

    assert (verdict.verdict, verdict.rule) == (Verdict.ALLOW, rule)


def test_a_role_that_the_caller_has_not_grants_no_access() -> None:
    verdict = LAYERS[Layer.ACCESS](snapshot(), standing("anywhere"), ToolId("wiki", "read"))

    assert verdict.verdict is Verdict.DENY


def test_naming_a_server_that_is_not_declared_still_counts_as_naming_it() -> None:
    verdict = LAYERS[Layer.ACCESS](snapshot(), standing("elsewhere"), ToolId("gone", "x"))

    assert (verdict.verdict, verdict.rule) == (Verdict.ALLOW, "roles.elsewhere.tools.gone")


def test_each_layer_answers_for_itself_in_the_order_of_r9() -> None:
    said = [
        ask(snapshot(), standing("dev"), ToolId("git", "git_log")).layer for ask in LAYERS.values()
    ]

    assert said == list(LAYERS) == list(Layer)


def test_who_can_lists_the_roles_in_the_order_of_the_declaration() -> None:
    assert roles_that_can(snapshot(), ToolId("git", "git_log")) == ("dev", "reader", "anywhere")
    assert roles_that_can(snapshot(), ToolId("wiki", "read")) == (
        "dev",
        "reader",
        "keyed",
        "patterned",
    )
    assert roles_that_can(snapshot(), ToolId("off", "x")) == ()


def test_who_can_answers_for_the_snapshots_own_tenant() -> None:
    other = compile_snapshot(DECLARATION, tenant="other", revision=1)

    assert roles_that_can(other, ToolId("git", "git_log")) == ("dev", "reader", "anywhere")


@pytest.mark.parametrize(
    ("roles", "tenant", "told"),
    [
        (("empty",), "default", True),
        (("dev", "empty"), "default", True),
        (("ghost", "empty"), "default", True),
        (("empty",), "other", False),
        (("dev",), "default", False),
        (("ghost",), "default", False),
        ((), "default", False),
    ],
)
def test_a_refusal_is_explained_to_roles_that_are_set_so(
    roles: tuple[str, ...], tenant: str, told: bool
) -> None:
    # R14
    assert explains_denials(snapshot(), caller(*roles, tenant=tenant)) is told
