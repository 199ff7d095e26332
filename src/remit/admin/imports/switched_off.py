"""Which tools a file of opencode switches off: `tools: {"server_tool": false}`, also with stars.

There a tool is called by its server's name, `_` and its own name, and a key of `tools` may be a
pattern over that. What a pattern leaves of a tool's own name behind `server_` is what is denied.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from remit.admin.imports.notes import Notebook
from remit.admin.imports.values import read_flag
from remit.admin.yaml_source import child_path
from remit.policy.patterns import Pattern

_SECTION: Final = "tools"
_NOT_IN_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")


def switched_off(
    tools: Mapping[str, object], servers: Iterable[str], notebook: Notebook
) -> dict[str, tuple[str, ...]]:
    """Return each server's tools, and patterns over them, that *tools* switches off.

    What is switched off and is no tool of these servers, or cannot be told, is noted; so is what
    was left on among tools that are denied.
    """
    off: dict[str, dict[str, None]] = {server: {} for server in servers}
    for key in _keys(tools, is_on=False):
        found = [(server, rest) for server in off for rest in _rests(key, _prefix(server))]
        for server, rest in found:
            off[server][rest] = None
        if "?" in key:
            _careful(notebook, key, "was switched off there, and no pattern here says the same")
        elif not found:
            message = f"{key[:80]!r} was switched off there, and is no tool of these servers"
            notebook.write("section-left-out", message, path=child_path(_SECTION, key))
    for key in _keys(tools, is_on=True):
        left_on = ((server, rest) for server in off for rest in _rests(key, _prefix(server)))
        if any(is_off(server, rest, off[server]) for server, rest in left_on):
            _careful(notebook, key, "was left on there, and is denied with those around it")
    return {server: tuple(rests) for server, rests in off.items()}


def is_off(server: str, tool: str, hidden: Iterable[str]) -> bool:
    """Whether *tool* is one of those that are *hidden*, which may be patterns."""
    name = f"{server}/{tool}"
    return any(Pattern.parse(f"{server}/{one}").fits(name) for one in hidden)


def _keys(tools: Mapping[str, object], *, is_on: bool) -> Iterator[str]:
    return (key for key, value in tools.items() if read_flag(value) is is_on)


def _prefix(server: str) -> str:
    return f"{_NOT_IN_NAME.sub('_', server)}_"


def _rests(key: str, prefix: str) -> list[str]:
    """Return what *key* leaves for the rest of a name that begins with *prefix*, widest first.

    A star may end at any letter of the prefix, or behind it: `*_get` leaves `*_get` and `get` of
    what follows `git_`.
    """
    if "?" in key:
        return []
    places = {0}
    for letter in prefix:
        places = {
            after for place in _through_stars(key, places) for after in _step(key, place, letter)
        }
    wide = {place + 1 for place in places if key[place : place + 1] == "*"}
    return [key[place:] for place in sorted(places - wide) if key[place:]]


def _through_stars(key: str, places: set[int]) -> set[int]:
    """Return *places*, and those behind stars that stand for nothing."""
    reached = set(places)
    for place in places:
        stars = len(key) - place - len(key[place:].lstrip("*"))
        reached.update(range(place, place + stars + 1))
    return reached


def _step(key: str, place: int, letter: str) -> Iterator[int]:
    if key[place : place + 1] == "*":
        yield place
    elif key[place : place + 1] == letter:
        yield place + 1


def _careful(notebook: Notebook, key: str, message: str) -> None:
    notebook.write(
        "careful",
        f"{key[:80]!r} {message}",
        path=child_path(_SECTION, key),
        remedy="look at `grants` in remit.yaml: a deny there for each tool that is meant",
    )
