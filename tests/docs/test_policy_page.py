"""The published truth table, row by row (case T20, R8, R15, R16)."""

import re

import pytest
import yaml
from tests.docs.blocks import REPOSITORY

from remit.admin.check import check_declaration
from remit.admin.declaration import Loaded, parse_document
from remit.errors import DeclarationError
from remit.model.principals import Principal, PrincipalKind
from remit.model.tools import ToolId
from remit.policy.engine import decide
from remit.policy.snapshot import compile_snapshot

TOOLS = ("query", "drop_table", "drop_index", "admin")
REFUSED = "*the file does not load*"
ROW = re.compile(r"(?m)^\| (`\{.+`) \| (.+?) \| (.*?) ?\|$")
ROWS = ROW.findall((REPOSITORY / "docs" / "policy.md").read_text())


def load(written: str) -> Loaded:
    roles = {
        f"r{at}": yaml.safe_load(text) for at, text in enumerate(re.findall(r"`([^`]+)`", written))
    }
    return parse_document({"mcp_servers": {"db": {"command": "c"}}, "roles": roles})


def open_to(loaded: Loaded) -> list[str]:
    snapshot = compile_snapshot(loaded.declaration, tenant="default", revision=1)
    caller = Principal(kind=PrincipalKind.KEY, name="k", roles=tuple(snapshot.roles))
    return [tool for tool in TOOLS if decide(snapshot, caller, ToolId("db", tool)).allowed]


def said_of(loaded: Loaded) -> set[str]:
    report = check_declaration(loaded, offered={"db": frozenset(TOOLS)}, environ={"PATH": ""})
    found = {problem.code for problem in (*report.errors, *report.warnings)}
    return found - {"command-not-found", "granted-to-nobody"}


@pytest.mark.parametrize(("written", "open_tools", "codes"), ROWS)
def test_a_row_of_the_truth_table_is_true(written: str, open_tools: str, codes: str) -> None:
    if open_tools == REFUSED:
        with pytest.raises(DeclarationError) as refused:
            load(written)
        assert [problem.code for problem in refused.value.problems] == [codes]
        return

    loaded = load(written)

    assert open_to(loaded) == ([] if open_tools == "nothing" else open_tools.split())
    assert said_of(loaded) == set(codes.split())


def test_the_table_is_the_whole_case() -> None:
    assert len(ROWS) == 30
