"""Who hears that there is no tool of a name (S3.9, S3.11): who might use it, if there were one."""

import pytest

from remit.model.declaration import Declaration
from remit.model.grants import AgentTypeRule
from remit.model.principals import AgentType, Principal, PrincipalKind
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId
from remit.policy.engine import may_name
from remit.policy.snapshot import PolicySnapshot, compile_snapshot


def snapshot(*, allow: tuple[str, ...], deny: tuple[str, ...] = ()) -> PolicySnapshot:
    declaration = Declaration(
        servers={name: ServerConfig(name=name) for name in ("git", "mail")},
        roles={"dev": Role(name="dev", allow=("git/*",), deny=("git/git_push",))},
        agent_types=(AgentTypeRule(type=AgentType.WORKER, allow=allow, deny=deny),),
    )
    return compile_snapshot(declaration, tenant="default", revision=1)


WORKER = Principal(kind=PrincipalKind.AGENT, name="w", agent_type=AgentType.WORKER)
DEVELOPER = Principal(kind=PrincipalKind.KEY, name="k", roles=("dev",))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mcp__mail__nothing", True),  # allowed by the first
        ("mcp__task__list", True),  # by the second, to the letter
        ("mcp__task__lists", False),
        ("mcp__mail__secret_box", False),  # denied, though allowed
        ("mcp__mail__secretbox", True),  # begins like the denied, and does not fit it
        ("mcp__orchestrator__nothing", False),  # neither
        ("mail/nothing", False),  # in no spelling of a name
    ],
)
def test_a_name_on_no_server_is_a_matter_of_the_agent_type(name: str, expected: bool) -> None:
    rules = snapshot(
        allow=("mcp__mail__*", "mcp__task__list"), deny=("mcp__mail__secret*_box", "mail/*")
    )

    assert may_name(rules, WORKER, name, ()) is expected


def test_without_an_agent_type_such_a_name_is_nobodys() -> None:
    rules = snapshot(allow=("mcp__*",))

    assert not may_name(rules, DEVELOPER, "mcp__mail__nothing", ())


def test_patterns_of_servers_and_tools_fit_no_such_name() -> None:
    rules = snapshot(allow=("mail/*",))

    assert not may_name(rules, WORKER, "mcp__mail__nothing", ())


def test_what_a_name_would_mean_on_declared_servers_is_decided_as_every_call_is() -> None:
    rules = snapshot(allow=("mcp__mail__*",))
    denied, open_one = ToolId("git", "git_push"), ToolId("git", "git_log")

    assert may_name(rules, DEVELOPER, "mcp__git__git_log", [denied, open_one])
    assert not may_name(rules, DEVELOPER, "mcp__git__git_push", [denied])
    # the agent type is not asked where a server is meant
    assert not may_name(rules, WORKER, "mcp__mail__nothing", [denied])
