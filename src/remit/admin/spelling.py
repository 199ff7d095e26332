"""Bring a document's keys to the contract's spelling, lines and all.

camelCase is accepted wherever a key is known, `endpoint` is `url` (S4.7), and a known key with
nothing behind it counts as left out. What is unknown stays, for the schema to refuse.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import cast

from remit.admin.schema import Place, known_keys
from remit.admin.yaml_nodes import DEEPEST
from remit.admin.yaml_source import child_path
from remit.errors import DeclarationError, Problem

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SYNONYMS = {
    "type": "transport",
    "environment": "env",
    "cmd": "command",
    "arguments": "args",
    "disabled": "enabled",
    "servers": "mcp_servers",
    "permissions": "allow",
    "denied": "deny",
    "streamable_http": "http",
    "streamablehttp": "http",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelled:
    """A document with its keys in the contract's spelling.

    Attributes:
        positions: As in `Source`, for the new spelling.
        problems: Keys that were given in two spellings.
    """

    data: Mapping[str, object] = field(repr=False)
    positions: Mapping[str, int] = field(repr=False)
    problems: tuple[Problem, ...]


def spell(data: Mapping[str, object], positions: Mapping[str, int], file: str) -> Spelled:
    """Return *data* and *positions* with every known key in the contract's spelling.

    Raises:
        DeclarationError: If *data* is nested too deep.
    """
    speller = _Speller(positions, file)
    return Spelled(
        data=speller.mapping(data, (), "", ""),
        positions=speller.positions,
        problems=tuple(speller.problems),
    )


def nearest(key: str, known: tuple[str, ...]) -> str | None:
    """Return the known key or word that somebody who wrote *key* most likely meant, if any."""
    snake = _snake(key)
    if _SYNONYMS.get(snake) in known:
        return _SYNONYMS[snake]
    spellings = {_snake(name): name for name in known}
    close = get_close_matches(snake[:100], spellings, n=1)
    return spellings[close[0]] if close else None


def _snake(key: str) -> str:
    return _HUMP.sub("_", key).lower().replace("-", "_")


class _Speller:
    def __init__(self, positions: Mapping[str, int], file: str) -> None:
        self._written = positions
        self._file = file
        self.positions = {"": positions[""]} if "" in positions else {}
        self.problems: list[Problem] = []

    def mapping(
        self, data: Mapping[str, object], place: Place, written: str, path: str
    ) -> dict[str, object]:
        known = known_keys(place)
        by_snake = {_snake(name): name for name in known}
        built: dict[str, object] = {}
        for key, value in data.items():
            name = key if key in known else self._known_name(key, by_snake)
            if value is None and name in known:
                continue
            old, new = child_path(written, key), child_path(path, name)
            line = self._written.get(old, 0)
            if name in built:
                self._report_both(new, line)
                continue
            built[name] = self._value(value, (*place, name), old, new)
        return built

    def _known_name(self, key: str, by_snake: Mapping[str, str]) -> str:
        if key == "endpoint" and "url" in by_snake:
            return "url"
        # Only true camelCase is a spelling; anything else is a typo for the schema to show.
        return by_snake.get(_snake(key), key) if key[:1].islower() and "-" not in key else key

    def _value(self, value: object, place: Place, written: str, path: str) -> object:
        if len(place) > DEEPEST:
            message = f"is nested more than {DEEPEST} levels deep"
            raise DeclarationError([Problem(code="too-large", message=message, file=self._file)])
        if written in self._written:
            self.positions[path] = self._written[written]
        if isinstance(value, Mapping):
            return self.mapping(cast("Mapping[str, object]", value), place, written, path)
        if isinstance(value, list):
            return [
                self._value(
                    item, (*place, str(index)), child_path(written, index), child_path(path, index)
                )
                for index, item in enumerate(cast("list[object]", value))
            ]
        return value

    def _report_both(self, path: str, line: int) -> None:
        self.problems.append(
            Problem(
                code="duplicate-key",
                message=f"{path!r} is given in two spellings",
                file=self._file,
                line=line,
                remedy="keep one of the two",
            )
        )
