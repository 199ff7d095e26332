"""The decision log as a story: what happened, in sentences."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

_SAYS: Mapping[str, Callable[[Mapping[str, Any], str], str]] = {
    "epic__create": lambda given, _: f"begins the epic {given['title']!r}",
    "task__create": lambda given, _: f"plans the part {given['title']}",
    "task__assign": lambda given, part: f"gives {part} to {given['agentId']}",
    "epic__request_changes": lambda given, part: f"wants {part} changed: {given['feedback']}",
    "epic__approve_task": lambda _, part: f"merges and approves {part}",
    "epic__update_status": lambda given, _: f"says that the epic is {given['state']}",
    "git__git_commit": lambda given, _: f"commits: {given['message']}",
}
"""Calls that belong to the story: from what they were given, and the part, to words."""


def told(rows: Sequence[Row]) -> Iterator[str]:
    """Give the lines of the story of a log, which is newest first."""
    titles: list[str] = []
    parts: dict[str, str] = {}
    for row in reversed(rows):
        kind, _, tool = row["decision"].partition(": mcp__")
        given: Mapping[str, Any] = json.loads(row["context"] or "{}")
        if tool == "task__create" and kind == "Invoked tool":
            titles.append(given["title"])
        elif tool == "task__create":
            parts[given["structuredContent"]["taskId"]] = titles[-1]
        line = _line(row, kind, tool, given, parts)
        if line:
            yield f"{row['timestamp'][11:19]}  {row['agentId'].split('-')[0]:<12}  {line}"


def _line(
    row: Row, kind: str, tool: str, given: Mapping[str, Any], parts: Mapping[str, str]
) -> str:
    if not tool:
        return f"decides: {row['decision']}. {row['reasoning']}"
    if kind == "Tool error":
        return f"fails at {tool}: {given['message']}"
    if kind == "Invoked tool" and tool in _SAYS:
        return _SAYS[tool](given, parts.get(given.get("taskId", ""), ""))
    return ""
