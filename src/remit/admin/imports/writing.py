"""Write `remit.yaml` as a person would: comments, one server after the other, short lists in line.

What is written is read back to the same values, whatever texts hold: a text that is not plainly
itself goes into double quotes, with everything that does not print escaped.
"""

import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from remit.admin.imports.gather import Imported, ImportedServer
from remit.admin.imports.proposals import Proposal
from remit.errors import StartupError

LINE = 96
"""Characters after which a list goes on lines of its own."""

_PLAIN = re.compile(r"(?:--?)?[A-Za-z_/][A-Za-z0-9_./@+=-]*")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_STEP = "  "


def document_of(imported: Imported, proposal: Proposal) -> str:
    """Return the text of the declaration."""
    lines = [*_head(imported), 'version: "1.0"', "", "mcp_servers:"]
    for server in imported.servers:
        lines += _server(server)
    lines += ["", *_roles(proposal), *_grants(proposal)]
    return "\n".join(lines) + "\n"


def write_new(path: Path, text: str, *, replace: bool) -> bool:
    """Write *text* to *path*, whole or not at all; False where a file is there and stays.

    Raises:
        StartupError: The folder cannot be written.
    """
    making = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with making.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
        if replace:
            if path.exists():
                shutil.copymode(path, making)
            making.replace(path)
        else:
            os.link(making, path)
    except FileExistsError:
        return False
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the name is no file name"
        raise StartupError(f"cannot write {path}: {reason}; name another with --config") from error
    finally:
        making.unlink(missing_ok=True)
    return True


def _head(imported: Imported) -> Iterator[str]:
    files = dict.fromkeys(server.file for server in imported.servers)
    yield _comment(f"Written by `remit init` from {', '.join(files)}.", 0)
    yield _comment(
        "See what is wrong or suspicious with `remit check`, then start `remit serve`.", 0
    )
    if imported.variables:
        yield "#"
        yield _comment(
            "Set these in the environment of remit; until then, their servers stay disabled:", 0
        )
    for name, servers in imported.variables.items():
        yield _comment(f"  {name}  ({', '.join(servers)})", 0)


def _server(server: ImportedServer) -> Iterator[str]:
    if server.was != server.name:
        yield _comment(f"called {server.was[:80]!r} in its file", 1)
    yield f"{_STEP}{scalar(server.name)}:"
    yield from members_of(server.entry, 2)


def _roles(proposal: Proposal) -> Iterator[str]:
    yield _comment("Proposed from what tools say of themselves; a role is yours to change.", 0)
    if proposal.unknown:
        names = ", ".join(proposal.unknown)
        yield _comment(
            f"Not known here is what these offer, so that only admin has them: {names}.", 0
        )
        yield _comment(
            "`remit init --from ... --connect --force` asks them and fills the rest, or", 0
        )
        yield _comment(
            "see `remit tools --as role:admin` and name tools under `tools` yourself.", 0
        )
    yield "roles:"
    reads = "Reads: tools that say that they change nothing"
    adds = "Reads and writes: no tool that may destroy something"
    yield from _role("reader", {"description": reads, "tools": proposal.reader})
    yield from _role("writer", {"description": adds, "tools": proposal.writer})
    everything: dict[str, object] = {"description": "Everything"}
    if proposal.admin_tools:
        everything["tools"] = proposal.admin_tools
    if proposal.admin_patterns:
        everything["allow"] = list(proposal.admin_patterns)
    yield from _role("admin", everything)


def _role(name: str, members: Mapping[str, object]) -> Iterator[str]:
    yield f"{_STEP}{name}:"
    yield from members_of(members, 2)


def _grants(proposal: Proposal) -> Iterator[str]:
    if not proposal.denied:
        return
    yield ""
    yield _comment("Tools that were switched off stay so, for everybody.", 0)
    yield "grants:"
    for server, tool in proposal.denied:
        yield f"{_STEP}- {{everyone: true, effect: deny, tool: {scalar(f'{server}/{tool}')}}}"


def members_of(members: Mapping[str, object], depth: int = 0) -> Iterator[str]:
    """Give the lines of a mapping that lies *depth* steps deep."""
    for key, value in members.items():
        yield from _member(scalar(key), value, depth)


def _member(key: str, value: object, depth: int) -> Iterator[str]:
    indent = _STEP * depth
    if isinstance(value, Mapping):
        inner = cast("Mapping[str, object]", value)
        yield f"{indent}{key}:" if inner else f"{indent}{key}: {{}}"
        yield from members_of(inner, depth + 1)
        return
    if not isinstance(value, list | tuple):
        yield f"{indent}{key}: {scalar(value)}"
        return
    items = [scalar(item) for item in cast("Sequence[object]", value)]
    line = f"{indent}{key}: [{', '.join(items)}]"
    if len(line) <= LINE:
        yield line
        return
    yield f"{indent}{key}:"
    for item in items:
        yield f"{indent}{_STEP}- {item}"


def scalar(value: object) -> str:
    """Return *value* as YAML that reads back as the same, in a list of any style."""
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join(char if char.isprintable() else _escape(char) for char in quoted)


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - as YAML has it


def _comment(text: str, depth: int) -> str:
    plain = "".join(char if char.isprintable() else " " for char in text)
    return f"{_STEP * depth}# {plain}".rstrip()
