import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import remit

SOURCE = Path(remit.__file__)

COST = """
import json, sys, time
before = set(sys.modules)
began = time.process_time()
import remit
spent = time.process_time() - began
print(json.dumps({"spent": spent, "loaded": sorted(set(sys.modules) - before)}))
"""


def named_for_type_checkers() -> dict[str, str]:
    tree = ast.parse(SOURCE.read_text())
    return {
        alias.name: node.module or ""
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize("name", remit.__all__)
def test_every_public_name_is_found_where_type_checkers_find_it(name: str) -> None:
    found = getattr(remit, name)

    module = sys.modules[named_for_type_checkers()[name]]
    assert found is getattr(module, name)
    assert name in dir(remit)


def test_type_checkers_know_the_same_names() -> None:
    assert sorted(named_for_type_checkers()) == sorted(remit.__all__)


def test_the_names_of_the_bridges_document_are_public() -> None:
    """S1.25, and what its functions raise (S1.12)."""
    names = {
        "DEFAULT_MCP_SERVERS",
        "MCPClient",
        "MCPConfig",
        "MCPConnection",
        "MCPConnectionError",
        "MCPProtocolError",
        "MCPServerConfig",
        "MCPToolBridge",
        "create_mcp_bridge",
        "get_default_mcp_config",
    }

    assert names <= set(remit.__all__)


def test_type_checkers_know_what_a_role_calls_its_tools_by() -> None:
    service = remit.AgentMCPService

    sessions = get_type_hints(service.initialize_agent_tools)["return"]
    result = get_type_hints(service.execute_tool)["return"]

    assert sessions == dict[str, remit.MCPSession]
    assert result == dict[str, Any]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'MCPToolMaper'"):
        getattr(remit, "MCPToolMaper")  # noqa: B009 - pyright would find it


def test_importing_remit_loads_nothing_of_the_library_and_costs_little() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COST], capture_output=True, text=True, check=True, timeout=60
    )
    told = json.loads(done.stdout)

    own = [name for name in told["loaded"] if name.partition(".")[0] == "remit"]
    heavy = {"asyncio", "anyio", "pydantic", "mcp", "sqlalchemy", "yaml", "structlog"}
    assert own == ["remit"]
    assert not heavy & set(told["loaded"])
    assert told["spent"] < 0.150  # seconds of processor, whoever else is busy
