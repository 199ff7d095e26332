"""The matrix of callers and tools: every cell is what `explain` says of the pair (R10, R14)."""

import csv
import io
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, cast

import pytest

from remit.admin.authority import Authority
from remit.admin.declaration import load_declaration
from remit.admin.matrix import Matrix, Wanted, Window, exported, matrix_of
from remit.admin.subjects import NamedCaller, Rights, Subjects
from remit.calls.directory import declared_tools
from remit.model.agents import Agent
from remit.model.declaration import Declaration
from remit.model.grants import Grant
from remit.model.keys import Key
from remit.model.principals import AgentType, PrincipalKind, UserRole
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId
from remit.policy.callers import standing_of
from remit.policy.snapshot import compile_snapshot
from remit.testing.fakes import InMemoryAgents, InMemoryKeys, InMemoryUsers
from remit.upstreams.names import Names

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
NINE = load_declaration(Path(__file__).parents[2] / "examples" / "nine-roles" / "remit.yaml")
SOME = Declaration(
    servers={name: ServerConfig(name=name) for name in ("git", "data", "mail")},
    roles={
        "lead": Role(name="lead", tools={"git": ("push", "status")}),
        "clerk": Role(name="clerk", tools={"git": ("status",)}),
        "idle": Role(name="idle"),
        "formula": Role(name="=1+1", tools={"git": ("@sum",)}),
    },
    grants=(Grant(subject="key:barred", effect="deny", tool="git/push"),),
)
WHOLE = Window(limit=10_000)
KINDS = [kind for kind in PrincipalKind if kind is not PrincipalKind.USER]


def key(name: str, *roles: str, number: int = 0, **more: Any) -> Key:
    return Key(
        id=f"id-{name}-{number}",
        name=name,
        tenant="default",
        secret_hash=f"{name}{number}",
        roles=roles,
        created=NOON - timedelta(days=2) + timedelta(minutes=number),
        **more,
    )


KEYS = [
    key("ci", "developer", "lead", "clerk", revoked=NOON - timedelta(days=1)),
    key("ci", "reviewer", "clerk", number=1),
    key("barred", "lead"),
    key("ended", "lead", expires=NOON),
    key("analyst", user_roles=(UserRole.DATA,)),
    key("service", service=True),
    key("worker", agent="w1"),
    key("stray", agent="gone"),
    key("root", admin=True),
    key("laptop", "lead", owner="out"),
]
AGENTS = [
    Agent(id="w1", tenant="default", type=AgentType.WORKER, role="lead", created=NOON),
    Agent(id="s1", tenant="default", type=AgentType.SUPERVISOR, created=NOON),
]


async def subjects(declaration: Declaration = SOME) -> Subjects:
    keys, agents, users = InMemoryKeys(), InMemoryAgents(), InMemoryUsers()
    await users.disable("default", "out", NOON)
    for one in KEYS:
        await keys.add(one)
    for agent in AGENTS:
        await agents.add(agent)
    return Subjects(
        tenant="default",
        roles=declaration.roles,
        keys=keys,
        agents=agents,
        users=users,
        now=NOON,
    )


def authority(declaration: Declaration = SOME) -> Authority:
    tools = declared_tools(declaration)
    return Authority(
        compile_snapshot(declaration, tenant="default", revision=7),
        Names.build(tools),
        [tool for tool in tools if tool.server != "mail"],
    )


async def roles() -> Sequence[NamedCaller]:
    return await (await subjects()).all_of(PrincipalKind.ROLE)


def whole(callers: Sequence[NamedCaller], **wanted: Any) -> Matrix:
    return matrix_of(authority(), callers, Wanted(**wanted), rows=WHOLE, columns=WHOLE)


def names(matrix: Matrix) -> tuple[list[str], list[str]]:
    return [one.name for one in matrix.callers], [str(tool) for tool in matrix.tools]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("declaration", [NINE.declaration, SOME], ids=["nine roles", "some"])
async def test_every_cell_is_what_explain_says_of_the_pair(
    kind: PrincipalKind, declaration: Declaration
) -> None:
    # R10
    known, asked = await subjects(declaration), authority(declaration)
    callers = await known.all_of(kind)

    matrix = matrix_of(asked, callers, Wanted(), rows=WHOLE, columns=WHOLE)

    assert len(matrix.callers) == matrix.callers_total > 0
    assert len(matrix.tools) == matrix.tools_total > 0
    assert len(matrix.cells) == len(matrix.callers)
    for caller, row in zip(matrix.callers, matrix.cells, strict=True):
        found = await known.find_any(caller.subject)
        for tool, place in zip(matrix.tools, row, strict=True):
            answer = asked.explain(found.principal, str(tool), barred=found.barred)
            assert matrix.decisions[place] == answer.explanation.decision
            assert asked.is_available(tool) == answer.available
    assert len(set(matrix.decisions)) == len(matrix.decisions)
    assert {place for row in matrix.cells for place in row} == set(range(len(matrix.decisions)))


async def test_callers_of_a_kind_are_all_that_may_come_in_by_the_name_that_finds_them() -> None:
    known = await subjects()

    found = {kind: [one.subject for one in await known.all_of(kind)] for kind in PrincipalKind}

    assert found[PrincipalKind.ROLE] == ["role:lead", "role:clerk", "role:idle", "role:formula"]
    assert sorted(found[PrincipalKind.KEY]) == [
        *("key:analyst", "key:barred", "key:ci", "key:root", "key:service", "key:stray"),
        "key:worker",
    ]
    assert sorted(found[PrincipalKind.AGENT]) == ["agent:s1", "agent:w1"]
    assert found[PrincipalKind.USER_ROLE] == [f"user-role:{role}" for role in UserRole]
    assert found[PrincipalKind.AGENT_TYPE] == [f"agent-type:{each}" for each in AgentType]
    assert found[PrincipalKind.USER] == []
    rules = compile_snapshot(SOME, tenant="default", revision=7)
    for kind in KINDS:
        callers = await known.all_of(kind)
        for caller, standing in zip(callers, authority().standings(callers), strict=True):
            found = await known.find(caller.subject)
            assert standing.hats == standing_of(rules, found).hats
            assert caller.principal.subject == found.subject
            assert caller.subject == f"{kind}:{caller.name}"


async def test_who_can_are_all_that_are_allowed_when_asked_about_one_by_one() -> None:
    known, asked = await subjects(), authority()
    callers = await known.all_stored()
    allowed = 0

    for tool in asked.tools():
        found = asked.who_can(str(tool), callers)
        able = [
            caller.subject
            for caller in callers
            if asked.explain(
                await known.find(caller.subject), str(tool)
            ).explanation.decision.allowed
        ]
        assert [*(f"key:{n}" for n in found.keys), *(f"agent:{n}" for n in found.agents)] == able
        allowed += len(able)

    assert allowed


def test_thousands_of_callers_are_as_quick_as_the_rights_that_they_have() -> None:
    rules = compile_snapshot(SOME, tenant="default", revision=7)
    asked = Authority(rules, Names.build(declared_tools(SOME)), ())
    kind = PrincipalKind.KEY
    rights = [Rights(kind, roles=(role,)) for role in ("lead", "clerk")]
    callers = [
        NamedCaller(kind, name, "default", name, rights[number % 2])
        for number, name in enumerate(["barred", *(f"k{number}" for number in range(3000))])
    ]

    found = asked.who_can("git/push", callers)
    page = matrix_of(asked, callers, Wanted(decision="allow"), rows=WHOLE, columns=Window(limit=1))

    assert found.keys == tuple(f"k{number}" for number in range(1, 3000, 2))
    assert page.callers_total == len(callers)
    assert len(rules.standings) < 20


async def test_pages_put_together_are_the_whole_and_share_its_totals() -> None:
    callers = await roles()
    everything = whole(callers)
    rows, columns = len(everything.callers), len(everything.tools)

    found = {
        (row + r, column + c): page.decisions[place]
        for row in range(0, rows, 3)
        for column in range(0, columns, 20)
        for page in [
            matrix_of(
                authority(),
                callers,
                Wanted(),
                rows=Window(offset=row, limit=3),
                columns=Window(offset=column, limit=20),
            )
        ]
        for r, cells in enumerate(page.cells)
        for c, place in enumerate(cells)
        if (page.callers_total, page.tools_total) == (rows, columns)
    }

    assert found == {
        (r, c): everything.decisions[place]
        for r, cells in enumerate(everything.cells)
        for c, place in enumerate(cells)
    }


async def test_beyond_the_end_a_page_is_empty_and_still_tells_the_totals() -> None:
    far = Window(offset=10**30)

    page = matrix_of(authority(), await roles(), Wanted(), rows=far, columns=far)

    assert (page.callers, page.tools, page.cells, page.decisions) == ([], [], [], [])
    assert page.callers_total == 4
    assert page.tools_total > 49


async def test_a_server_is_meant_whole_and_names_by_any_part_in_any_case() -> None:
    callers = await roles()

    assert names(whole(callers, server="git"))[1] == ["git/@sum", "git/push", "git/status"]
    assert names(whole(callers, server="gi"))[1] == []
    assert names(whole(callers, tool="GIT/PU"))[1] == ["git/push"]
    assert names(whole(callers, caller="CL"))[0] == ["clerk"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("decision", ["allow", "deny"])
async def test_a_decision_leaves_the_callers_and_tools_that_have_such_a_cell(
    kind: PrincipalKind, decision: Literal["allow", "deny"]
) -> None:
    callers = await (await subjects()).all_of(kind)
    everything = whole(callers)
    fitting = {
        (caller.name, str(tool))
        for caller, row in zip(everything.callers, everything.cells, strict=True)
        for tool, place in zip(everything.tools, row, strict=True)
        if everything.decisions[place].allowed is (decision == "allow")
    }

    left = whole(callers, decision=decision)

    assert fitting
    assert set(names(left)[0]) == {name for name, _ in fitting}
    assert set(names(left)[1]) == {tool for _, tool in fitting}
    assert left.callers_total == len(left.callers)
    assert left.tools_total == len(left.tools)


async def test_a_decision_counts_only_among_the_callers_and_tools_that_are_asked_for() -> None:
    callers = await roles()

    assert names(whole(callers, decision="allow", server="git", caller="clerk")) == (
        ["clerk"],
        ["git/status"],
    )
    assert names(whole(callers, decision="allow", caller="idle")) == ([], [])


async def test_an_export_has_a_line_for_every_cell_and_no_formula() -> None:
    callers = await roles()
    everything = whole(callers, server="git")

    parts = list(exported(authority(), callers, Wanted(server="git")))

    rows = list(csv.reader(io.StringIO("".join(parts))))
    assert rows[0] == ["caller", "tool", "decision", "layer", "rule", "reason"]
    assert len(parts) == 1 + len(callers)
    assert rows[1:] == [
        [
            caller.subject,
            str(tool),
            "allow" if decision.allowed else "deny",
            decision.layer,
            decision.rule,
            decision.reason,
        ]
        for caller, cells in zip(everything.callers, everything.cells, strict=True)
        for tool, decision in zip(
            everything.tools, [everything.decisions[place] for place in cells], strict=True
        )
    ]


async def test_a_cell_of_an_export_that_a_spreadsheet_would_run_is_defused() -> None:
    odd = (await roles())[0]._replace(kind=cast("PrincipalKind", "=cmd|' /C calc'!A0"))

    lines = list(exported(authority(), [odd], Wanted(tool="git/push")))[1:]

    assert [row[0] for row in csv.reader(lines)] == ["'=cmd|' /C calc'!A0:lead"]


def test_tools_come_in_the_order_of_lists_with_the_names_that_are_published() -> None:
    asked = authority()

    tools = asked.tools()

    assert [tool.server for tool in tools] == sorted(tool.server for tool in tools)
    assert asked.published(ToolId("git", "push")) == "git__push"
    assert not asked.is_available(next(tool for tool in tools if tool.server == "mail"))
