"""Reading ADF nodes that nobody checked: whatever has the wrong shape counts as absent."""

from collections.abc import Mapping, Sequence
from typing import Final, TypeGuard, cast

Node = dict[str, object]
"""An ADF node as JSON: `type`, and by type `content`, `attrs`, `text`, `marks`."""

MARKS_IN_ORDER: Final = ("link", "strong", "em", "strike", "code")
"""The types of marks that Markdown has, outermost first."""


def is_node(value: object) -> TypeGuard[Mapping[str, object]]:
    """Is *value* a JSON object?"""
    return isinstance(value, dict)


def nodes_in(node: Mapping[str, object], name: str = "content") -> Sequence[Mapping[str, object]]:
    """Return the objects in a list of *node*, such as its `content` or `marks`."""
    values = node.get(name)
    if not isinstance(values, list):
        return ()
    return [value for value in cast("list[object]", values) if is_node(value)]


def kind_of(node: Mapping[str, object]) -> str:
    """Return the type of *node*, or `""`."""
    kind = node.get("type")
    return kind if isinstance(kind, str) else ""


def attribute(node: Mapping[str, object], name: str) -> str:
    """Return an attribute of *node* as text; `""` when it is absent or no scalar."""
    attributes = node.get("attrs")
    value = attributes.get(name) if is_node(attributes) else None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value)


def text_of(node: Mapping[str, object]) -> str:
    """Return the text of a text node."""
    text = node.get("text")
    return text if isinstance(text, str) else ""
