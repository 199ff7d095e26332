"""What is compared, and how each of it is started."""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

from bench.kit import KIT, UPSTREAM_PORT, nginx_configuration, peers
from bench.processes import BenchError, free_port

from remit.testing.services import open_postgres, postgres_programs

MODERN, LEGACY, REST = "modern", "legacy", "rest"
GATEWAY_CORES = (0,)
DIRECT, NGINX, REMIT, REMIT_POSTGRES = "direct", "nginx", "remit", "remit-postgresql"
REMIT_STDIO, REMIT_TWO = "remit-stdio", "remit-2-workers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Something to send calls to.

    Attributes:
        command: Empty for the upstream itself, which runs anyway.
        tool: The upstream's `echo`, under the target's name for it.
        denied: A tool that policy refuses to the caller; empty where there is no policy.
        version: Of the program.
        note: How it is set up.
        era: Revision of the protocol that callers speak, or `rest`.
    """

    name: str
    command: Sequence[str]
    url: str
    tool: str
    version: str
    note: str
    era: str = MODERN
    denied: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: Path = KIT
    cores: Sequence[int] = GATEWAY_CORES

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.split("/")[2].rpartition(":")[2])


def direct(port: int) -> Target:
    """Return the upstream itself."""
    return Target(
        name=DIRECT, command=(), url=f"http://127.0.0.1:{port}/mcp", tool="echo",
        version="-", note="the bench kit's fast upstream itself",
    )  # fmt: skip


def nginx(upstream_port: int, folder: Path) -> Target:
    """Return nginx as a plain reverse proxy, set up as the kit says, in *folder*."""
    port = free_port()
    config = folder / "nginx.conf"
    config.write_text(nginx_configuration(upstream_port, port, folder))
    said = subprocess.run(["nginx", "-v"], capture_output=True, text=True, check=True).stderr
    return Target(
        name=NGINX, command=("nginx", "-c", str(config), "-p", str(folder)),
        url=f"http://127.0.0.1:{port}/mcp", tool="echo",
        version=said.strip().rpartition("/")[2], cwd=folder,
        note="a plain reverse proxy, one worker process, connections kept open",
    )  # fmt: skip


ROLES: Mapping[str, object] = {
    "project_manager": {"tools": {"fast": ["echo"]}},
    "product_owner": {"allow": ["fast/tool_000*"]},
    "architect": {"allow": ["fast/tool_*"], "deny": ["fast/tool_0001"]},
    "backend_developer": {"allow": ["fast/*"], "deny": ["fast/add"]},
    "frontend_developer": {"allow": ["fast/tool_001*", "fast/echo"]},
    "designer": {"tools": {"fast": ["add"]}},
    "tester": {"allow": ["fast/e*"]},
    "devops": {"mcp_servers": ["fast"], "allow": ["fast/tool_*"]},
    "reviewer": {"allow": ["*/echo"], "deny": ["*/add"]},
}
"""The nine roles; the caller is a backend developer, who may use all but one tool."""

LIMITS = ({"role": "backend_developer", "tool": "fast/*", "calls": 1_000_000, "per": "second"},)


def remit(
    name: str, server: Mapping[str, object], folder: Path, *,
    database: str = "", workers: int = 1, note: str,
) -> Target:  # fmt: skip
    """Return remit with everything on: a key, nine roles, schema, a limit, the record.

    Args:
        name: Of the target.
        server: The entry of `mcp_servers` for the upstream.
        folder: Of its own, where declaration and state lie.
        database: URL; without it SQLite in the folder.
        workers: Processes; several may use every core.
        note: What is special about it.
    """
    folder.mkdir()
    config, port = folder / "remit.yaml", free_port()
    document = {"mcp_servers": {"fast": server}, "roles": ROLES, "limits": LIMITS}
    config.write_text(json.dumps(document))
    env = {"REMIT_SHARED_URL": "memory://"}  # docs/limits.md: each worker counts for itself
    if database:
        env["REMIT_DATABASE_URL"] = database
    serve = ("serve", "--config", str(config), "--port", str(port), "--workers", str(workers))
    return Target(
        name=name, command=(sys.executable, "-m", "remit", *serve), env=env, cwd=folder,
        url=f"http://127.0.0.1:{port}/mcp", tool="fast__echo", denied="fast__add",
        headers={"authorization": f"Bearer {_make_key(folder, config, env)}"},
        cores=GATEWAY_CORES if workers == 1 else range(os.cpu_count() or 1),
        version=version("remit"), note=note,
    )  # fmt: skip


def remit_over_http(upstream_port: int, folder: Path, *, workers: int = 1) -> Target:
    """Return remit with SQLite before the fast upstream."""
    server = {"transport": "http", "url": f"http://127.0.0.1:{upstream_port}/mcp"}
    if workers == 1:
        note = "key, policy over nine roles, schema, limit, record (R29); SQLite"
        return remit(REMIT, server, folder, note=note)
    note = f"the same with `--workers {workers}` on all cores"
    return remit(REMIT_TWO, server, folder, workers=workers, note=note)


def remit_over_stdio(folder: Path, command: Sequence[str], environ: Mapping[str, str]) -> Target:
    """Return remit before one child, which all callers share."""
    server = {
        "transport": "stdio",
        "command": command[0],
        "args": list(command[1:]),
        "env": dict(environ),
        "session": "shared",
        "max_concurrency": 1024,
    }
    return remit(REMIT_STDIO, server, folder, note="the same before one stdio child")


@contextmanager
def remit_with_postgresql(upstream_port: int, folder: Path) -> Generator[Target]:
    """Return remit with a database in a PostgreSQL server that ends with the block.

    Raises:
        BenchError: PostgreSQL is not installed.
    """
    programs = postgres_programs()
    if programs is None:
        raise BenchError("PostgreSQL is not installed")
    server = {"transport": "http", "url": f"http://127.0.0.1:{upstream_port}/mcp"}
    with open_postgres(programs) as postgres, postgres.database() as url:
        note = f"the same with PostgreSQL {programs.parts[-2]}, whose own processor time is extra"
        yield remit(REMIT_POSTGRES, server, folder, database=url, note=note)


def peer(name: str, kit_name: str, *, version: str, note: str, python: str = "") -> Target:
    """Return a peer as the kit starts it.

    Args:
        name: Of the target.
        kit_name: Of the kit's target.
        version: Of the program, as pinned.
        note: How it is set up.
        python: Interpreter of its own, where the kit would take ours.
    """
    told = peers()[kit_name]
    command: list[str] = list(told["cmd"])
    if python and command[0] == sys.executable:
        command[0] = python
    eras: Sequence[str] = told.get("eras", [LEGACY])
    lines: Sequence[str] = told.get("headers", ())
    return Target(
        name=name, command=command, url=told["url"], tool=told["tool"],
        era=MODERN if MODERN in eras else eras[0],
        headers=dict(line.split(": ", 1) for line in lines),
        env={key: value for key, value in told.get("env", {}).items() if value is not None},
        version=version, note=note,
    )  # fmt: skip


def with_tools(target: Target, count: int) -> Target:
    """Return the target for an upstream of so many tools (its stdio children read it)."""
    return replace(target, env={**target.env, "TOOLS": str(count)})


def upstream_port(names: Sequence[str]) -> int:
    """Return the port for the upstream: the kit's, when one of *names* is a peer's."""
    ours = {DIRECT, NGINX, REMIT, REMIT_POSTGRES, REMIT_STDIO, REMIT_TWO}
    return free_port() if ours.issuperset(names) else UPSTREAM_PORT


def _make_key(folder: Path, config: Path, env: Mapping[str, str]) -> str:
    """Return a key of the caller's role."""
    command = [sys.executable, "-m", "remit", "keys", "create", "bench"]
    done = subprocess.run(
        [*command, "--role", "backend_developer", "--config", str(config), "--json"],
        cwd=folder, env={**os.environ, **env}, check=False, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise BenchError(f"no key: {done.stderr.strip()[-300:]}")
    return str(json.loads(done.stdout)["key"])
