"""Servers of other makers behind remit: their lists arrive as they left (issue 4, T16).

Each server is asked directly, over its own pipe, and through `/mcp/{server}`, in both protocol
eras. Every field of every tool is compared as JSON, with numbers as the text that was sent.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

import httpx2
import pytest
from tests.e2e.conftest import Serve

from remit.testing.gateway import LEGACY, Caller, Running, environment

SCRIPTS = Path(sys.executable).parent
NODE = Path(__file__).parents[2] / ".tools" / "node_modules"
Direct = Callable[[str], list[Any]]

LONGEST = 30.0
"""Seconds a server has to answer and to end."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """A published server.

    Attributes:
        program: The name of its console script, or its npm package with its own script.
        args: `FOLDER` stands for a folder that it may use.
        fewest: Tools that it offers at least, so that two empty lists are no success.
    """

    program: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    is_node: bool = False
    fewest: int = 1

    @property
    def path(self) -> Path:
        return NODE / ".bin" / self.program if self.is_node else SCRIPTS / self.program


SERVERS: Mapping[str, Published] = {
    "git": Published(program="mcp-server-git", args=("--repository", "FOLDER"), fewest=12),
    "time": Published(program="mcp-server-time", fewest=2),
    "fetch": Published(program="mcp-server-fetch"),
    # It lists without ever asking GitHub whether the token is good.
    "github": Published(
        program="github-mcp-server",
        args=("stdio", "--toolsets", "all"),
        env=(("GITHUB_PERSONAL_ACCESS_TOKEN", "none"),),
        fewest=80,
    ),
    "everything": Published(program="mcp-server-everything", is_node=True, fewest=10),
    "filesystem": Published(
        program="mcp-server-filesystem", args=("FOLDER",), is_node=True, fewest=10
    ),
    "memory": Published(program="mcp-server-memory", is_node=True, fewest=5),
    "thinking": Published(program="mcp-server-sequential-thinking", is_node=True),
}


def command_of(name: str, folder: Path) -> list[str]:
    published = SERVERS[name]
    args = [str(folder) if word == "FOLDER" else word for word in published.args]
    return [str(published.path), *args]


def is_here(name: str) -> bool:
    published = SERVERS[name]
    has_node = not published.is_node or shutil.which("node") is not None
    return published.path.exists() and has_node


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a git repository that the servers may look at."""
    folder = tmp_path_factory.mktemp("given")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture(scope="module")
def gateway(serve_module: Serve, repository: Path) -> Running:
    """Start one gateway over every server that is here; admin may use all of them."""
    servers = {
        name: {
            "command": command_of(name, repository)[0],
            "args": command_of(name, repository)[1:],
            "env": {**dict(SERVERS[name].env), "MEMORY_FILE_PATH": str(repository / "memory")},
            "session": "shared",
            "start_timeout": LONGEST,
        }
        for name in SERVERS
        if is_here(name)
    }
    roles = {"admin": {"allow": [f"{name}/*" for name in servers]}}
    return serve_module({"mcp_servers": servers, "roles": roles}).settle()


@pytest.fixture(scope="module")
def direct(repository: Path) -> Direct:
    """Give what lists the tools of a server without remit, once for each."""

    @cache
    def listed(name: str) -> list[Any]:
        with open_pipe(name, repository) as pipe:
            return list(pages(pipe))

    return listed


def exact(text: str | bytes) -> Any:
    """Read JSON with numbers as they are written."""
    return json.loads(text, parse_int=str, parse_float=str)


class Pipe:
    """A server over its own standard input and output, without any library between."""

    def __init__(self, written: IO[bytes], read: IO[bytes]) -> None:
        self._written = written
        self._read = read
        self._number = 0

    def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """Send a request and return the exact `result` of its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        self.tell(message)
        for line in self._read:
            answer = exact(line)
            if answer.get("id") == str(self._number) and "method" not in answer:
                return answer["result"]
        raise AssertionError(f"the server ended before it answered {method!r}")

    def tell(self, message: Mapping[str, Any]) -> None:
        self._written.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._written.flush()


@contextmanager
def open_pipe(name: str, folder: Path) -> Generator[Pipe]:
    """Start a server and shake hands with it."""
    more = {**dict(SERVERS[name].env), "MEMORY_FILE_PATH": str(folder / "memory")}
    process = subprocess.Popen(
        command_of(name, folder),
        env=environment(more),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        pipe = Pipe(process.stdin, process.stdout)
        info = {"name": "test", "version": "1"}
        hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": info}
        pipe.ask("initialize", hello)
        pipe.tell({"method": "notifications/initialized"})
        yield pipe
    finally:
        process.terminate()
        process.communicate(timeout=LONGEST)


def pages(pipe: Pipe) -> Iterator[Any]:
    cursor: str | None = None
    while True:
        result = pipe.ask("tools/list", {} if cursor is None else {"cursor": cursor})
        yield from result["tools"]
        cursor = result.get("nextCursor")
        if cursor is None:
            return


async def listed_through(caller: Caller) -> list[Any]:
    reply = await caller.send("tools/list", {})
    return exact(reply.content)["result"]["tools"]


def by_name(tools: list[Any]) -> dict[str, Any]:
    return {tool["name"]: tool for tool in tools}


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("name", SERVERS)
async def test_a_list_through_remit_is_the_direct_list_field_by_field(
    name: str, era: str, gateway: Running, direct: Direct, http: httpx2.AsyncClient
) -> None:
    if not is_here(name):
        pytest.skip(f"{SERVERS[name].program} is not installed: see scripts/node-tools")
    expected = direct(name)

    caller = Caller(http, f"{gateway.url}/{name}", gateway.key("admin"))
    through = await listed_through(await caller.begin() if era == "legacy" else caller)

    assert len(expected) >= SERVERS[name].fewest
    assert by_name(through) == by_name(expected)
    assert len(through) == len(expected)


async def test_all_lists_together_differ_in_the_names_alone(
    gateway: Running, direct: Direct, http: httpx2.AsyncClient
) -> None:
    lists = {name: direct(name) for name in SERVERS if is_here(name)}

    through = by_name(await listed_through(Caller(http, gateway.url, gateway.key("admin"))))

    expected = {
        f"{name}__{tool['name']}": {**tool, "name": f"{name}__{tool['name']}"}
        for name, tools in lists.items()
        for tool in tools
    }
    assert through == expected


async def test_a_tool_of_each_kind_of_server_answers_through_remit(
    gateway: Running, repository: Path, http: httpx2.AsyncClient
) -> None:
    calls: dict[str, tuple[str, dict[str, str]]] = {
        "time": (
            "convert_time",
            {"source_timezone": "UTC", "time": "12:00", "target_timezone": "UTC"},
        ),
        "everything": ("echo", {"message": "straße \N{SNOWMAN}"}),
        "filesystem": ("list_allowed_directories", {}),
        "memory": ("read_graph", {}),
    }
    for name, (tool, arguments) in calls.items():
        if not is_here(name):
            continue
        with open_pipe(name, repository) as pipe:
            expected = pipe.ask("tools/call", {"name": tool, "arguments": arguments})
        caller = Caller(http, f"{gateway.url}/{name}", gateway.key("admin"))
        reply = await caller.begin()
        answer = await reply.send("tools/call", {"name": tool, "arguments": arguments})
        assert exact(answer.content)["result"] == expected, name
