"""Clients of other makers at a running remit, each as two roles (issue 4, must show 3)."""

import json
import os
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent
from tests.e2e.client_programs import FASTMCP, LIBRARY_1, TYPESCRIPT_1, TYPESCRIPT_2
from tests.e2e.conftest import Serve

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.gateway import LEGACY, MODERN, Running, fixture_entry
from remit.testing.upstream import executed

REPOSITORY = Path(__file__).parents[2]
CALLS = ("git__git_status", "git__git_log", "files__read", "files__list", "files__delete")
GRANTS = {
    "reader": {"git__git_status", "files__read"},
    "lister": {"git__git_log", "files__list"},
}

pytestmark = pytest.mark.timeout(420)  # the first one here installs the clients


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a client saw.

    Attributes:
        protocol: The revision that it speaks with remit, or empty where it does not tell.
        answers: Name to text of the answer; of a refused call, to what the client says of it.
    """

    protocol: str
    tools: Sequence[str]
    answers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One client's errand.

    Attributes:
        tools: The folder of `scripts/client-tools`.
        home: A folder where a client may keep what it likes.
    """

    tools: Path
    home: Path
    url: str
    key: str

    @property
    def environ(self) -> dict[str, str]:
        """What a program finds in its environment: its own node first."""
        path = f"{self.tools / 'node_modules' / '.bin'}:{os.environ['PATH']}"
        return {"PATH": path, "HOME": str(self.home), "URL": self.url, "KEY": self.key}

    async def run(
        self, command: Sequence[str | Path], **environ: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program to its end, in the folder where its packages are."""
        with anyio.fail_after(60):
            return await anyio.run_process(
                [str(part) for part in command],
                cwd=self.tools,
                env={**self.environ, **environ},
                check=False,
            )

    async def program(self, command: Sequence[str | Path], **environ: str) -> Seen:
        """Run one that says in JSON what it saw."""
        done = await self.run(command, CALLS=json.dumps(CALLS), **environ)
        assert done.returncode == 0, (done.stdout + done.stderr).decode()
        return Seen(**json.loads(done.stdout))


async def _seen(client: Client) -> Seen:
    async with client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        answers: dict[str, str] = {}
        for name in CALLS:
            try:
                block = (await client.call_tool(name, {})).content[0]
            except MCPError as error:
                answers[name] = f"refused: {error}"
            else:
                assert isinstance(block, TextContent)
                answers[name] = block.text
        return Seen(protocol=client.protocol_version, tools=tools, answers=answers)


async def _library_2(visit: Visit, mode: str) -> Seen:
    headers = {"Authorization": f"Bearer {visit.key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30, verify=TRUSTS_NOBODY) as http:
        transport = streamable_http_client(visit.url, http_client=http)
        return await _seen(Client(transport, mode=mode, cache=None))


async def _python(visit: Visit, environment: str, program: str, era: str = "") -> Seen:
    python = visit.tools / environment / "bin" / "python"
    return await visit.program([python, "-c", program], ERA=era)


async def _typescript(visit: Visit, program: str, era: str) -> Seen:
    return await visit.program(["node", "--input-type=module", "--eval", program], ERA=era)


async def _inspector(visit: Visit, era: str) -> Seen:
    config = visit.home / "inspector.json"
    headers = {"Authorization": f"Bearer {visit.key}"}
    entry = {"type": "streamable-http", "url": visit.url, "headers": headers, "protocolEra": era}
    config.write_text(json.dumps({"mcpServers": {"remit": entry}}))

    async def ask(*arguments: str) -> tuple[int, Any]:
        command = ["mcp-inspector", "--cli", "--config", config, "--server", "remit"]
        done = await visit.run([*command, "--protocol-era", era, *arguments])
        said = done.stdout if done.returncode == 0 else done.stderr
        return done.returncode, json.loads(said[said.index(b"{") :])

    status, listed = await ask("--method", "tools/list")
    assert status == 0
    answers: dict[str, str] = {}
    for name in CALLS:
        status, answer = await ask("--method", "tools/call", "--tool-name", name)
        if status:  # it looks into the list itself before it calls
            answers[name] = f"refused: {answer['error']['message']}"
        else:
            answers[name] = answer["content"][0]["text"]
    return Seen(protocol="", tools=[tool["name"] for tool in listed["tools"]], answers=answers)


async def _mcp_remote(visit: Visit, mode: str) -> Seen:
    options = ("--header", "Authorization:${GIVEN}", "--transport", "http-only")
    bridge = StdioServerParameters(
        command=str(visit.tools / "node_modules" / ".bin" / "mcp-remote"),
        args=[visit.url, *options, "--protocol", mode],
        env={**visit.environ, "GIVEN": f"Bearer {visit.key}"},
    )
    return await _seen(Client(bridge, mode="legacy"))


Attempt = Callable[[Visit], Awaitable[Seen]]

CLIENTS: Mapping[str, tuple[Attempt, str]] = {
    "library 2, newest": (partial(_library_2, mode=MODERN), MODERN),
    "library 2, older": (partial(_library_2, mode="legacy"), LEGACY),
    "library 1": (partial(_python, environment="mcp1", program=LIBRARY_1), LEGACY),
    "fastmcp": (partial(_python, environment="fastmcp", program=FASTMCP, era="auto"), MODERN),
    "fastmcp, older": (
        partial(_python, environment="fastmcp", program=FASTMCP, era="legacy"),
        LEGACY,
    ),
    "typescript 1": (partial(_typescript, program=TYPESCRIPT_1, era=""), LEGACY),
    "typescript 2": (partial(_typescript, program=TYPESCRIPT_2, era="auto"), MODERN),
    "typescript 2, older": (partial(_typescript, program=TYPESCRIPT_2, era="legacy"), LEGACY),
    "inspector": (partial(_inspector, era="modern"), ""),
    "inspector, older": (partial(_inspector, era="legacy"), ""),
    # The bridge answers its own caller's handshake, in the older era only.
    "mcp-remote": (partial(_mcp_remote, mode="legacy"), LEGACY),
    "mcp-remote, newest behind it": (partial(_mcp_remote, mode="auto"), LEGACY),
}


@pytest.fixture(scope="module")
def client_tools() -> Path:
    """Return where the clients are, or skip where they cannot be installed."""
    done = subprocess.run(
        [REPOSITORY / "scripts" / "client-tools"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"clients of other makers cannot be installed: {done.stderr[-500:]}")
    return REPOSITORY / ".tools" / "clients"


@pytest.fixture(scope="module")
def running(module_folder: Path, serve_module: Serve) -> Running:
    repository = module_folder / "repository"
    author = ("-c", "user.name=T", "-c", "user.email=t@example.test")
    commit = ("commit", "-q", "--allow-empty", "-m", "the first commit")
    subprocess.run(["git", "init", "-q", "-b", "main", str(repository)], check=True)
    subprocess.run(["git", "-C", str(repository), *author, *commit], check=True)
    servers = {
        "git": {"builtin": "git", "args": ["--repository", str(repository)]},
        "files": fixture_entry(["read", "list", "delete"], module_folder / "ran"),
    }
    allowed = {role: [name.replace("__", "/", 1) for name in GRANTS[role]] for role in GRANTS}
    roles = {role: {"allow": patterns} for role, patterns in allowed.items()}
    return serve_module({"mcp_servers": servers, "roles": roles}).settle()


@pytest.mark.parametrize("role", GRANTS)
@pytest.mark.parametrize("client", CLIENTS)
async def test_a_client_lists_and_calls_what_its_role_may_and_nothing_else(
    running: Running, client_tools: Path, tmp_path: Path, client: str, role: str
) -> None:
    attempt, protocol = CLIENTS[client]
    ran = running.folder / "ran"
    before = len(executed(ran))

    seen = await attempt(
        Visit(tools=client_tools, home=tmp_path, url=running.url, key=running.key(role))
    )

    assert set(seen.tools) == GRANTS[role]
    assert seen.protocol == protocol
    given = {name for name, text in seen.answers.items() if not text.startswith("refused: ")}
    assert given == GRANTS[role]
    assert all(
        "Unknown tool" in seen.answers[name] or "not found" in seen.answers[name]
        for name in set(CALLS) - given
    )
    answers = {name: text for name, text in seen.answers.items() if name in given}
    if role == "reader":
        assert json.loads(answers["git__git_status"])["branch"] == "main"
        assert answers["files__read"] == "read {}"
    else:
        assert "the first commit" in answers["git__git_log"]
        assert answers["files__list"] == "list {}"
    assert [f"files__{call.name}" for call in executed(ran)[before:]] == [
        name for name in GRANTS[role] if name.startswith("files__")
    ]
