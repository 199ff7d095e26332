r"""A fixture MCP server that offers any list of tools and counts what really ran.

    python -m remit.testing.upstream --tools a,b,c --count-file ran.jsonl
    python -m remit.testing.upstream --tools-file tools.json --count-file ran.jsonl \
        --transport http --port 9000 --era modern

It answers every call with its name and arguments unless a tool's `x-fixture` says otherwise (see
`FixtureOptions`), and appends a line to the count file for every call that it ran, so that a test
can tell "refused" from "not run".
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from remit.model.servers import ServerConfig, Transport
from remit.testing.behaviour import LEGACY, FixtureOptions
from remit.testing.contents import Contents
from remit.testing.pipe import serve_stdio
from remit.testing.web import WebFixture, open_web_fixture

__all__ = [
    "Executed",
    "FixtureOptions",
    "WebFixture",
    "executed",
    "fixture_server_config",
    "main",
    "open_web_fixture",
    "received",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """One call that a fixture server ran.

    Attributes:
        pid: The process that ran it.
    """

    name: str
    arguments: Mapping[str, Any]
    pid: int


def executed(count_file: Path) -> list[Executed]:
    """Return every call that ran, oldest first."""
    return [Executed(**entry) for entry in _lines(count_file)]


def received(count_file: Path, method: str) -> list[dict[str, Any]]:
    """Return every message of that method that reached the server, oldest first.

    Over HTTP each has its header fields under `headers`, names in lower case.
    """
    log = count_file.with_name(f"{count_file.name}.log")
    return [message for message in _lines(log) if message.get("method") == method]


def fixture_server_config(
    name: str,
    tools: Sequence[str | Mapping[str, Any]],
    count_file: Path,
    *,
    options: Sequence[str] = (),
    contents: Contents | None = None,
    **settings: Any,
) -> ServerConfig:
    """Return the entry of a fixture server that runs as a child process over stdio.

    Args:
        name: The server's name in the declaration.
        tools: Names, or tool objects (see `FixtureOptions`); written to a file beside
            *count_file*.
        count_file: Where it counts; `executed` reads it.
        contents: Its prompts, resources and templates; written to a file, too.
        options: More of the command line, such as `("--era", "legacy")`.
        settings: Fields of the entry, such as `max_message=1000`.
    """
    tools_file = count_file.with_name(f"{count_file.name}.{name}.tools.json")
    tools_file.write_text(json.dumps(list(tools)), encoding="utf-8")
    arguments = ("--tools-file", str(tools_file), "--count-file", str(count_file), *options)
    if contents is not None:
        contents_file = count_file.with_name(f"{count_file.name}.{name}.contents.json")
        contents_file.write_text(json.dumps(contents), encoding="utf-8")
        arguments = (*arguments, "--contents-file", str(contents_file))
    return replace(
        ServerConfig(
            name=name,
            transport=Transport.STDIO,
            command=sys.executable,
            args=("-m", "remit.testing.upstream", *arguments),
        ),
        **settings,
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Run a fixture server until it is stopped."""
    parsed = _parser().parse_args(argv)
    options = FixtureOptions(
        tools=_tools(parsed),
        count_file=str(parsed.count_file),
        era=parsed.era,
        page_size=parsed.page_size,
        page_fault=parsed.page_fault,
        dirty=parsed.dirty,
        serial=parsed.serial,
        silent=parsed.silent,
        lists_once=parsed.lists_once,
        touchy=parsed.touchy,
        version=parsed.version,
        streams=parsed.streams,
        sessions=not parsed.sessionless,
        contents=json.loads(parsed.contents_file.read_bytes()) if parsed.contents_file else {},
    )
    if parsed.transport == "stdio":
        serve_stdio(options)
        return
    fixture = WebFixture(options, transport=parsed.transport, port=parsed.port)
    fixture.start()
    sys.stderr.write(f"{fixture.url}\n")
    sys.stderr.flush()
    fixture.wait()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m remit.testing.upstream")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--tools", help="names, separated by commas")
    which.add_argument("--tools-file", type=Path, help="JSON array of names and tool objects")
    parser.add_argument("--count-file", type=Path, required=True)
    parser.add_argument("--transport", choices=("stdio", "http", "sse"), default="stdio")
    parser.add_argument("--port", type=int, default=0, help="0 picks one; the URL goes to stderr")
    parser.add_argument("--era", choices=("modern", "legacy", "both"), default="both")
    parser.add_argument("--page-size", type=int, default=0)
    parser.add_argument("--page-fault", choices=("repeat", "endless", "empty"), default="")
    parser.add_argument("--dirty", action="store_true", help="noise between the messages")
    parser.add_argument("--serial", action="store_true", help="one request after the other")
    parser.add_argument("--silent", action="append", default=[], metavar="METHOD")
    parser.add_argument("--lists-once", action="store_true", help="answer one tools/list only")
    parser.add_argument("--touchy", action="store_true", help="ends at an unexpected first message")
    parser.add_argument("--version", default=LEGACY, help="in the older handshake")
    parser.add_argument("--streams", action="store_true", help="answer with event streams")
    parser.add_argument("--sessionless", action="store_true")
    parser.add_argument("--contents-file", type=Path, help="JSON object of prompts and resources")
    return parser


def _tools(parsed: argparse.Namespace) -> Sequence[str | Mapping[str, Any]]:
    if parsed.tools is not None:
        return [name for name in str(parsed.tools).split(",") if name]
    return cast("list[str | dict[str, Any]]", json.loads(parsed.tools_file.read_bytes()))


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()
