"""Put a new member into a YAML document that a person wrote, and leave every other line alone.

Lines go directly behind the key that they belong to, as far in as their neighbours; into a mapping
in braces on one line go words. Whether that is right is not reasoned about but seen: the text is
read again, and has to be the old document with the new member, and nothing else.
"""

import re
from collections.abc import Mapping, Sequence
from typing import cast

from remit.admin.imports.writing import members_of, scalar
from remit.admin.yaml_source import Source, child_path, path_of, read_text
from remit.errors import DeclarationError

_STEP = "  "


def with_member(text: str, place: Sequence[str], key: str, value: object) -> str | None:
    """Return *text* with a member more in the mapping at *place*.

    A section that is not there is put at the end. None where the document is written in a way that
    nothing can simply be put into, as JSON is, or has a member of that name.

    Raises:
        DeclarationError: The text is no document.
    """
    before = read_text(text)
    member: object = {key: value}
    if len(place) == 1 and place[0] not in before.data:
        lines = ["", *members_of({place[0]: member})]
        return _proven(_spliced(text, len(text.splitlines()), lines), before, (), place[0], member)
    line = before.positions.get(path_of(place), 0)
    parent = _at(before.data, place)
    if not line or not isinstance(parent, Mapping | None):
        return None
    members = cast("Mapping[str, object]", parent or {})
    if key in members or text.lstrip().startswith("{"):
        return None
    indent = _indent_of(text, before, place, members)
    lines = [f"{indent}{one}" for one in members_of({key: value})]
    written = _proven(_spliced(text, line, lines), before, place, key, value)
    if written is None:
        written = _proven(_within(text, line, place, {key: value}), before, place, key, value)
    return written


def _indent_of(
    text: str, source: Source, place: Sequence[str], parent: Mapping[str, object]
) -> str:
    lines = text.splitlines()
    for key in parent:
        first = source.positions.get(child_path(path_of(place), key), 0)
        if first:
            return _head(lines[first - 1])
    return _head(lines[source.positions[path_of(place)] - 1]) + _STEP


def _within(text: str, number: int, place: Sequence[str], member: Mapping[str, object]) -> str:
    """Return *text* with a member more behind the brace that opens the mapping in that line."""
    lines = text.splitlines(keepends=True)
    opened = re.compile(rf"(.*(?<![\w-]){re.escape(place[-1])}['\"]?:\s*{{)(\s*}})?")
    found = opened.match(lines[number - 1])
    if found is not None:
        rest = lines[number - 1][found.end(1) :]
        comma = "" if found[2] else ", "
        lines[number - 1] = f"{found[1]}{_flow(member)[1:-1]}{comma}{rest}"
    return "".join(lines)


def _flow(value: object) -> str:
    """Return *value* in one line."""
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value).items()
        return f"{{{', '.join(f'{scalar(key)}: {_flow(inner)}' for key, inner in members)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, cast('list[object]', value)))}]"
    return scalar(value)


def _head(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" "))]


def _spliced(text: str, after: int, lines: Sequence[str]) -> str:
    """Return *text* with *lines* behind its line number *after*."""
    end = "\r\n" if "\r\n" in text else "\n"
    kept = text.splitlines(keepends=True)
    if kept and not kept[-1].endswith(("\n", "\r")):
        kept[-1] += end
    return "".join([*kept[:after], *(f"{line}{end}" for line in lines), *kept[after:]])


def _proven(text: str, before: Source, place: Sequence[str], key: str, value: object) -> str | None:
    try:
        after = read_text(text)
    except DeclarationError:
        return None
    wanted = _joined(before.data, place, key, value)
    return text if after.data == wanted and not after.problems else None


def _joined(data: object, place: Sequence[str], key: str, value: object) -> dict[str, object]:
    tree = dict(cast("Mapping[str, object]", data or {}))
    if not place:
        return {**tree, key: value}
    return {**tree, place[0]: _joined(tree[place[0]], place[1:], key, value)}


def _at(data: object, place: Sequence[str]) -> object:
    for key in place:
        data = cast("Mapping[str, object]", data).get(key) if isinstance(data, Mapping) else None
    return data
