"""Tools as a caller sees them, and what a call of one gives."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from remit.model.call_meta import CODE, OUTCOME, UNKNOWN_OUTCOME

Progress = Callable[[float, float | None, str], Awaitable[None] | None]
"""Hears how far a call is: what is done, of how much if that is known, and a text or nothing."""

_KNOWN: Final = frozenset({"content", "structuredContent", "isError", "_meta"})

_NONSENSE: Final = (
    "the server answered with nonsense: the content of its result is no list; whether the call"
    " took effect is unknown"
)
_UNREADABLE: Final = {CODE: "INTERNAL_ERROR", OUTCOME: UNKNOWN_OUTCOME}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """A tool that the caller may use, as the gateway lists it.

    Attributes:
        name: What it is called by at this endpoint.
        title: For people, or empty.
        input_schema: As its server sent it.
        output_schema: Likewise, or None.
        annotations: Hints of its server, such as `readOnlyHint`.
    """

    name: str
    title: str = ""
    description: str = ""
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @staticmethod
    def of(entry: object) -> "ToolDefinition | None":
        """Read an entry of `tools/list`; None where it is none."""
        if not isinstance(entry, dict):
            return None
        told = cast("dict[str, Any]", entry)
        name, schema, output = told.get("name"), told.get("inputSchema"), told.get("outputSchema")
        if not isinstance(name, str) or not isinstance(schema, dict):
            return None
        return ToolDefinition(
            name=name,
            title=_text(told.get("title")),
            description=_text(told.get("description")),
            input_schema=cast("dict[str, Any]", schema),
            output_schema=cast("dict[str, Any]", output) if isinstance(output, dict) else None,
            annotations=_object(told.get("annotations")),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """What a call gave, be it an error of the tool.

    Attributes:
        content: Blocks of MCP, as they came.
        structured: What it gave as a value, or None.
        is_error: Whether the tool failed.
        meta: `_meta` of the result; `remit/code` and `remit/requestId` where the gateway speaks.
        more: Other members of the result, as they came.
    """

    content: Sequence[Mapping[str, Any]]
    structured: Any | None = None
    is_error: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def text(self) -> str:
        """What a model reads of it: texts as they are, anything else by its kind."""
        parts = [_shown(block) for block in self.content]
        if parts or self.structured is None:
            return "\n".join(parts)
        return json.dumps(self.structured, ensure_ascii=False)

    @staticmethod
    def of(result: Mapping[str, Any]) -> "CallResult":
        """Read the result of `tools/call`; one whose content is no list is an error that says so.

        Blocks that are no objects are left out.
        """
        content = result.get("content")
        blocks = cast("list[object]", content) if isinstance(content, list) else []
        read = CallResult(
            content=[cast("dict[str, Any]", one) for one in blocks if isinstance(one, dict)],
            structured=result.get("structuredContent"),
            is_error=result.get("isError") is True,
            meta=_object(result.get("_meta")),
            more={name: value for name, value in result.items() if name not in _KNOWN},
        )
        if content is None or isinstance(content, list):
            return read
        told = {"type": "text", "text": _NONSENSE}
        return replace(read, content=[told], is_error=True, meta={**read.meta, **_UNREADABLE})

    def to_json(self) -> dict[str, Any]:
        """Return it as MCP has it."""
        parts = {
            "content": list(self.content),
            "structuredContent": self.structured,
            "isError": self.is_error or None,
            "_meta": dict(self.meta) or None,
        }
        return {**{name: part for name, part in parts.items() if part is not None}, **self.more}


def _shown(block: Mapping[str, Any]) -> str:
    resource = _object(block.get("resource"))
    for held in (block, resource):
        if isinstance(held.get("text"), str):
            return held["text"]
    where = block.get("uri") or resource.get("uri")
    return f"[{block.get('type')}: {where}]" if where else f"[{block.get('type')}]"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
