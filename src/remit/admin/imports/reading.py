"""Read a file of another program: JSON, JSON with comments, YAML or TOML.

JSON and YAML share remit's own reader, which knows the line of everything and bounds nesting and
aliases; comments of JSON become spaces first, so that lines stay, and a trailing comma is none of
YAML's worries. TOML is read by the standard library, with the lines of its headers and keys found
beside.
"""

import datetime as dt
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from remit.admin.yaml_nodes import DEEPEST
from remit.admin.yaml_source import Source, child_path, read_text, text_of
from remit.errors import DeclarationError, Problem

ITEMS = "servers"
"""The key under which a document that is a list of servers is given."""

_JSON_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_NOT_LINE_END = re.compile(r"[^\n]")
_TOML_PLACE = re.compile(r" at line (\d+), column \d+|\(at line (\d+), column \d+\)")
_TOML_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"\n]*"|'[^'\n]*')(?:\s*\.\s*[\w"'.-]+)*)\s*=""")


def read_config(path: Path) -> Source:
    """Read the file at *path*, whatever of these it is written in.

    Raises:
        DeclarationError: If it cannot be read, with file, line and remedy.
    """
    text, file = text_of(path), str(path)
    if path.suffix.lower() == ".toml":
        return _read_toml(text, file)
    if _JSON_TOKEN.sub(_blank_comment, text).lstrip()[:1] in ("{", "["):
        return _read_json(text, file)
    return read_text(text, file=file, items=ITEMS)


def _blank_comment(match: re.Match[str]) -> str:
    token = match.group()
    return token if token.startswith('"') else _NOT_LINE_END.sub(" ", token)


def _read_json(text: str, file: str) -> Source:
    plain = _JSON_TOKEN.sub(_blank_comment, text)
    try:
        return read_text(plain, file=file, items=ITEMS, last_counts=True)
    except DeclarationError as error:
        if all(problem.code != "not-yaml" for problem in error.problems):
            raise
        refusal = _json_refusal(plain, file, error)
    try:
        # `{url: https://…}` is YAML, where two slashes begin no comment.
        return read_text(text, file=file, items=ITEMS)
    except DeclarationError:
        raise refusal from None


def _json_refusal(text: str, file: str, otherwise: DeclarationError) -> DeclarationError:
    """Say what is wrong in the words of JSON, where JSON's own reader finds something."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        message = f"is not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        remedy = "look at the commas, the quotes and the braces of this line and the one above"
        return _refusal("not-json", message, file, error.lineno, remedy)
    except (ValueError, RecursionError):
        return otherwise
    return otherwise


def _read_toml(text: str, file: str) -> Source:
    try:
        # TOML's reader wants the line ends of Unix or Windows; a stray one is its error.
        data = tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        place = _TOML_PLACE.search(str(error))
        line = int(place[1] or place[2]) if place is not None else 0
        reason = _TOML_PLACE.sub("", str(error)).strip()
        message = f"is not valid TOML: {reason[:1].lower()}{reason[1:]}"
        remedy = "look at the quotes and brackets of this line"
        raise _refusal("not-toml", message, file, line, remedy) from None
    except (ValueError, RecursionError):
        remedy = "is this the right file?"
        raise _refusal("not-toml", "is no TOML that can be read", file, 0, remedy) from None
    plain = _plain(data, 0, file)
    return Source(
        data=cast("Mapping[str, object]", plain),
        positions={"": 1, **dict(_toml_lines(text))},
        file=file,
    )


def _plain(value: object, depth: int, file: str) -> object:
    """Return *value* with JSON types alone."""
    if depth > DEEPEST:
        message = f"lists and tables are nested more than {DEEPEST} levels deep"
        raise _refusal("too-large", message, file, 0, "is this the right file?")
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return {key: _plain(inner, depth + 1, file) for key, inner in members.items()}
    if isinstance(value, list):
        return [_plain(inner, depth + 1, file) for inner in cast("list[object]", value)]
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    return value


def _toml_lines(text: str) -> Iterator[tuple[str, int]]:
    """Give the lines of headers and of the keys below; what spans lines may be missed."""
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped.startswith("[") and not stripped.startswith("[["):
            keys = _toml_path(stripped)
            table = _joined("", keys)
            if keys:
                yield table, number
        elif (key := _TOML_KEY.match(line)) is not None:
            yield _joined(table, _toml_path(f"{key[1]} = 0")), number


def _joined(path: str, keys: list[str]) -> str:
    for key in keys:
        path = child_path(path, key)
    return path


def _toml_path(line: str) -> list[str]:
    """Return the keys that a header or `key = 0` names, by TOML's own rules."""
    try:
        inner: object = tomllib.loads(line)
    except (ValueError, RecursionError):
        return []
    keys: list[str] = []
    while isinstance(inner, dict) and inner:
        key, inner = next(iter(cast("dict[str, object]", inner).items()))
        keys.append(key)
    return keys


def _refusal(code: str, message: str, file: str, line: int, remedy: str) -> DeclarationError:
    return DeclarationError(
        [Problem(code=code, message=message, file=file, line=line, remedy=remedy)]
    )
