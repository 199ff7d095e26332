"""What is done with a block of each language; a block that no rule covers is an error."""

import json
import re
import sqlite3
import subprocess
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

import anyio
import httpx2
import yaml
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from tests.docs.blocks import REPOSITORY, Block
from tests.docs.scratch import LONGEST, Scratch, is_long_running

from remit.admin.declaration import parse_document
from remit.client.transport import TRUSTS_NOBODY

PROMPT = "$ "
ANY = "…"
"""Stands for anything in an expected output; alone on a line, for any lines."""

DATABASE = ".remit/remit.db"
KEY = "rmt_…"
"""Stands for a key in a client's configuration."""

_MEANINGS = {
    "any": ".*",
    "time": r"\d\d-\d\d \d\d:\d\d:\d\d",
    "ms": r"\d+\.\d",
    "gap": " {2,}",
}
_VARIES = re.compile(
    rf"(?P<any>{ANY})|(?P<time>{_MEANINGS['time']})"
    rf"|(?P<ms>\b{_MEANINGS['ms']}(?= ))|(?P<gap>{_MEANINGS['gap']})"
)
"""What differs from one run to the next: what … stands for, times, and how wide columns are."""

_STATUS = re.compile(r"exit status (\d)")
_MAKE = re.compile(r"(?:\w+=\S+ )?make (?P<target>[\w-]+)(?: [A-Z]+=\S+)*")


def run_console(block: Block, scratch: Scratch) -> None:
    """Type every command and compare what it prints; a status not asked for must be 0."""
    commands = _commands(block.text)
    for at, (command, expected) in enumerate(commands):
        if is_long_running(command):
            assert_fits(expected, scratch.start(command))
            continue
        output = scratch.run(command)
        assert_fits(expected, output.text)
        asks_next = at + 1 < len(commands) and commands[at + 1][0] == "echo $?"
        assert output.status == 0 or asks_next, f"{command!r} ended with {output.status}"


def run_sh(block: Block, scratch: Scratch) -> None:
    """Run every line; a comment at its end may say which exit status it has."""
    for line in block.text.splitlines():
        command, _, comment = (part.strip() for part in line.partition(" # "))
        if not command or command.startswith("#"):
            continue
        if (made := _MAKE.fullmatch(command)) is not None:
            _require_target(made["target"])
        elif is_long_running(command):
            scratch.start(command)
        else:
            said = _STATUS.search(comment)
            output = scratch.run(command)
            assert output.status == (int(said[1]) if said else 0), f"{command}\n{output.text}"


def run_yaml(block: Block, scratch: Scratch) -> None:
    """Write the file that the first line names; without one it is a declaration that loads."""
    if block.file is not None:
        write(block, scratch)
    else:
        parse_document(yaml.safe_load(block.text))


def run_python(block: Block, scratch: Scratch) -> None:
    """Write the file that the first line names, or run it."""
    if block.file is not None:
        write(block, scratch)
        return
    done = subprocess.run(
        [scratch.python, "-c", scratch.here(block.text)],
        cwd=scratch.cwd,
        env={**scratch.environment, "KEY": scratch.value("KEY")},
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def run_json(block: Block, scratch: Scratch) -> None:
    """Read it; the servers of a client's configuration are connected to, and must offer tools."""
    text = scratch.here(block.text).replace(KEY, scratch.value("KEY"))
    servers: Mapping[str, Any] = json.loads(text).get("mcpServers", {})
    for entry in servers.values():
        assert anyio.run(_tools_of, entry, scratch)


def run_sql(block: Block, scratch: Scratch) -> None:
    """Ask the database; every statement must find something."""
    with closing(sqlite3.connect(scratch.cwd / DATABASE)) as database:
        for statement in filter(str.strip, block.text.split(";")):
            assert database.execute(statement).fetchone() is not None, statement


def run_text(block: Block, _scratch: Scratch) -> None:
    """Leave a drawing alone, as long as it shows no command."""
    shown = [line for line in block.text.splitlines() if line.startswith((PROMPT, "remit "))]
    assert shown == [], "commands belong into console or sh"


RULES: Mapping[str, Callable[[Block, Scratch], None]] = {
    "console": run_console,
    "sh": run_sh,
    "yaml": run_yaml,
    "python": run_python,
    "json": run_json,
    "sql": run_sql,
    "text": run_text,
}


def write(block: Block, scratch: Scratch) -> None:
    """Write the file that the block's first line names."""
    path = scratch.cwd / (block.file or "")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(scratch.here(block.text))


def assert_fits(expected: str, printed: str) -> None:
    """Pass when *printed* is *expected*, but for what varies and white space at line ends."""
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == ANY else _one_line(line) for line in expected.splitlines()
    )
    lines = [line.rstrip() for line in printed.rstrip().splitlines()]
    text = "".join(f"{line}\n" for line in lines)
    assert re.fullmatch(pattern, text), f"expected:\n{expected}\nprinted:\n{text}"


def _one_line(line: str) -> str:
    pattern, end = "", 0
    for varies in _VARIES.finditer(line := line.rstrip()):
        pattern += re.escape(line[end : varies.start()]) + _MEANINGS[str(varies.lastgroup)]
        end = varies.end()
    return pattern + re.escape(line[end:]) + r"\n"


def _commands(text: str) -> list[tuple[str, str]]:
    """Return each command with what is shown below it."""
    commands: list[tuple[str, str]] = []
    for line in text.splitlines(keepends=True):
        if line.startswith(PROMPT):
            commands.append((line.removeprefix(PROMPT), ""))
        elif commands and commands[-1][0].endswith("\\\n"):
            commands[-1] = (commands[-1][0] + line, "")
        else:
            assert commands, "a console block begins with a command"
            commands[-1] = (commands[-1][0], commands[-1][1] + line)
    return [(command.strip(), expected) for command, expected in commands]


def _require_target(target: str) -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), f"make {target}"


async def _tools_of(entry: Mapping[str, Any], scratch: Scratch) -> list[str]:
    with anyio.fail_after(LONGEST):
        if "command" in entry:
            program = StdioServerParameters(
                command=entry["command"],
                args=entry["args"],
                env={**scratch.environment, **entry.get("env", {})},
            )
            async with Client(stdio_client(program)) as client:
                return [tool.name for tool in (await client.list_tools()).tools]
        async with (
            httpx2.AsyncClient(headers=entry["headers"], verify=TRUSTS_NOBODY) as http,
            Client(streamable_http_client(entry["url"], http_client=http)) as client,
        ):
            return [tool.name for tool in (await client.list_tools()).tools]
