"""The matrix of a running gateway: each cell is what `explain` answers (R10, R14)."""

import csv
import io
from itertools import product
from typing import Any

import pytest
from tests.api.worlds import ROLE, Api

pytestmark = pytest.mark.timeout(120)

KINDS = ("role", "key", "agent", "user_role", "agent_type")


def said(matrix: dict[str, Any], row: int, column: int) -> dict[str, Any]:
    return matrix["decisions"][matrix["cells"][row][column]]


def explained(api: Api, matrix: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Ask about each cell by itself."""
    return [
        [
            api.get("/explain", params={"as": caller["subject"], "tool": tool["name"]})
            for tool in matrix["tools"]
        ]
        for caller in matrix["callers"]
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_cell_is_what_explain_answers(api: Api, kind: str) -> None:
    query = {"kind": kind, "server": "tools", "callers_limit": "100"}

    matrix = api.get("/matrix", params=query)
    answers = explained(api, matrix)
    while matrix != (later := api.get("/matrix", params=query)):  # another test's server starts
        matrix, answers = later, explained(api, later)

    assert [tool["tool"] for tool in matrix["tools"]] == ["tools/rest", "tools/work"]
    assert matrix["callers_total"] == len(matrix["callers"]) > 0
    for row, column in product(range(len(matrix["callers"])), range(2)):
        tool, answer = matrix["tools"][column], answers[row][column]
        assert answer["tool"] == tool["tool"]
        assert answer["available"] == tool["available"]
        assert answer["revision"] == matrix["revision"]
        assert said(matrix, row, column) == {
            part: answer[part] for part in ("allowed", "layer", "rule", "reason")
        }


def test_a_page_is_as_large_as_is_asked_and_tells_how_much_there_is(api: Api) -> None:
    query = {"kind": "user_role", "callers_limit": "2", "callers_offset": "3", "tools_limit": "7"}

    page = api.get("/matrix", params={**query, "tools_offset": "5"})
    whole = api.get("/matrix", params={"kind": "user_role", "tools_limit": "100"})

    assert page["callers"] == whole["callers"][3:5]
    assert page["tools"] == whole["tools"][5:12]
    for row in range(len(page["callers"])):
        for column in range(7):
            assert said(page, row, column) == said(whole, 3 + row, 5 + column)
    assert (page["callers_total"], page["tools_total"]) == (4, whole["tools_total"])


def test_filters_leave_what_fits(api: Api) -> None:
    allowed = api.get("/matrix", params={"decision": "allow", "tool": "tools/"})

    assert [caller["name"] for caller in allowed["callers"]] == [ROLE, "idle"]
    assert said(allowed, 0, 1)["rule"] == f"roles.{ROLE}.tools.tools[0]"
    none = api.get("/matrix", params={"decision": "allow", "tool": "tools/work", "caller": "idle"})
    assert (none["callers"], none["tools"], none["cells"]) == ([], [], [])


@pytest.mark.parametrize(
    "query", [{"kind": "user"}, {"callers_limit": "101"}, {"tools_limit": "0"}, {"decision": "no"}]
)
def test_what_does_not_fit_is_refused(api: Api, query: dict[str, str]) -> None:
    assert api.send("GET", "/matrix", params=query).status_code == 422


def test_the_export_has_a_line_for_each_cell(api: Api) -> None:
    matrix = api.get("/matrix", params={"server": "tools"})

    reply = api.send("GET", "/matrix/export", params={"server": "tools"})

    assert reply.headers["content-type"] == "text/csv; charset=utf-8"
    assert reply.headers["content-disposition"] == 'attachment; filename="matrix-role.csv"'
    rows = list(csv.DictReader(io.StringIO(reply.text)))
    assert [(row["caller"], row["tool"], row["decision"], row["reason"]) for row in rows] == [
        (
            caller["subject"],
            tool["tool"],
            "allow" if said(matrix, r, c)["allowed"] else "deny",
            said(matrix, r, c)["reason"],
        )
        for r, caller in enumerate(matrix["callers"])
        for c, tool in enumerate(matrix["tools"])
    ]
