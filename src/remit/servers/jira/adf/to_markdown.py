"""ADF as Markdown: what Markdown has no form for is shown in words, and nothing is left out."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from remit.servers.jira.adf.from_markdown import ALERTS
from remit.servers.jira.adf.inline import inline_markdown
from remit.servers.jira.adf.nodes import attribute, is_node, kind_of, nodes_in, text_of
from remit.servers.jira.adf.runs import words

_Node = Mapping[str, object]

_INLINE: Final = frozenset(
    ("text", "hardBreak", "mention", "emoji", "date", "status", "inlineCard", "mediaInline")
)
_PANELS: Final[Mapping[str, str]] = {panel: alert for alert, panel in ALERTS.items()}
_LISTS: Final = frozenset({"bulletList", "orderedList", "taskList", "decisionList"})
_DEEPEST: Final = 40
_LARGEST_ORDER: Final = 999_999_999


def markdown(document: object) -> str:
    """Return an ADF document, or whatever was found in its place, as Markdown."""
    if isinstance(document, str):
        return document
    if not is_node(document):
        return ""
    return _blocks([document], 0)


def _blocks(nodes: Sequence[_Node], depth: int, after: str = "") -> str:
    """Return blocks one below the other; runs of inline nodes among them are paragraphs.

    Args:
        nodes: The blocks.
        depth: How deep they stand.
        after: The marker of the list that stands before them, if one does.
    """
    written: list[str] = []
    loose: list[_Node] = []
    for node in (*nodes, None):
        if node is not None and kind_of(node) in _INLINE:
            loose.append(node)
            continue
        written += filter(None, [inline_markdown(loose)])
        loose = []
        if node is not None:
            before = _last_marker(written[-1]) if written else after
            written += filter(None, [_block(node, depth, before)])
    return "\n\n".join(written)


def _last_marker(text: str) -> str:
    """Return the marker of the list that *text* ends with, without its number; or `""`."""
    line = next((line for line in reversed(text.split("\n")) if line[:1].strip()), "")
    found = re.match(r"(?:([-*])|\d+([.)]))(?:\s|$)", line)
    return (found.group(1) or found.group(2)) if found else ""


def _block(node: _Node, depth: int, after: str = "") -> str:
    if depth > _DEEPEST:
        return _flat(node)
    kind = kind_of(node)
    if kind in _LEAVES:
        return _LEAVES[kind](node)
    if kind in _LISTS:
        return _list(node, depth, after)
    if kind == "blockquote":
        return _quoted(_blocks(nodes_in(node), depth + 1))
    if kind == "panel":
        return _panel(node, depth)
    return _other(node, depth, after)


def _panel(node: _Node, depth: int) -> str:
    inside = nodes_in(node)
    if depth > 1:  # elsewhere than at the top it would be read as a quotation
        return _quoted(_blocks(inside, depth + 1))
    # Only a text may follow at once; other blocks would make something else of the first line.
    is_text = bool(inside) and kind_of(inside[0]) == "paragraph" and bool(words(inside[0]).strip())
    between = "\n" if is_text else "\n\n"
    alert = _PANELS.get(attribute(node, "panelType"), "NOTE")
    return _quoted(f"[!{alert}]{between}{_blocks(inside, depth + 1)}".strip())


def _flat(node: _Node) -> str:
    """Return the text of what is nested too deep to be followed; found without recursion."""
    texts: list[str] = []
    waiting = [node]
    while waiting:
        current = waiting.pop()
        texts.append(text_of(current))
        waiting.extend(reversed(nodes_in(current)))
    return inline_markdown([{"type": "text", "text": " ".join(filter(None, texts))}])


def _other(node: _Node, depth: int, after: str) -> str:
    """Show a block that Markdown does not have: its title, then what is in it."""
    kind = kind_of(node)
    names = ("title", "alt", "url", "text", "extensionKey", "id")
    title = next(filter(None, (attribute(node, name) for name in names)), "")
    inside = _blocks(nodes_in(node), depth + 1, "" if title else after)
    if kind in {"doc", "mediaSingle", "mediaGroup", "layoutSection", "layoutColumn"} and inside:
        return inside
    text = text_of(node)
    label = title or text or ("" if inside else f"[{kind or 'unknown'}]")
    if kind == "media":
        label = f"[attachment: {title or 'unnamed'}]"
    elif kind in {"extension", "bodiedExtension", "inlineExtension"}:
        label = f"[{kind}: {title or 'unnamed'}]"
    shown = inline_markdown([{"type": "text", "text": label}]) if kind != "doc" else ""
    return "\n\n".join(filter(None, (shown, inside)))


def _heading(node: _Node) -> str:
    text = inline_markdown(nodes_in(node), "heading")
    level = attribute(node, "level")
    return f"{'#' * (int(level) if level in set('123456') else 1)} {text}" if text else ""


def _code(node: _Node) -> str:
    text = "".join(text_of(part) or words(part) for part in nodes_in(node))
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    longest = max((len(ticks) for ticks in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    language = re.sub(r"[^\w+#.-]", "", attribute(node, "language"))
    return f"{fence}{language}\n{text}\n{fence}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))


def _list(node: _Node, depth: int, after: str) -> str:
    # Lists that follow one another take other markers, or they would be read as one.
    kind, bullet = kind_of(node), "* " if after == "-" else "- "
    point = ")" if after == "." else "."
    order = attribute(node, "order")
    number = int(order) if order.isascii() and order.isdigit() else 1
    items: list[str] = []
    for item in nodes_in(node):
        if kind_of(item) in _LISTS:  # tasks nest beside the task that they belong to
            nested = _block(item, depth + 1)
            items.append("\n".join(f"  {line}" if line else "" for line in nested.split("\n")))
            continue
        if kind == "orderedList":
            marker = f"{min(number, _LARGEST_ORDER)}{point} "
            number += 1
        else:
            marker = bullet
        text = _item(item, depth)
        if kind == "taskList":
            text = f"[{'x' if attribute(item, 'state') == 'DONE' else ' '}] {text}"
        items.append(_hung(text, marker))
    loose = any("\n\n" in item for item in items)
    return ("\n\n" if loose else "\n").join(items)


def _item(item: _Node, depth: int) -> str:
    if not nodes_in(item):
        return inline_markdown([{"type": "text", "text": words(item)}])
    if kind_of(item) in {"taskItem", "decisionItem"}:
        return inline_markdown(nodes_in(item))
    blocks = nodes_in(item)
    text = _blocks(blocks, depth + 1)
    nests = [kind_of(block) for block in blocks] in (["paragraph", kind] for kind in _LISTS)
    first, _, nested = text.partition("\n\n")
    # Only a list that cannot be taken for anything else may follow without an empty line.
    return f"{first}\n{nested}" if nests and re.match(r"(- |1\. )\S", nested) else text


def _hung(text: str, marker: str) -> str:
    """Return *text* behind *marker*, further lines indented to where it begins."""
    first, *others = text.split("\n")
    indent = " " * len(marker)
    lines = [f"{marker}{first}".rstrip(), *(f"{indent}{line}" if line else "" for line in others)]
    return "\n".join(lines)


def _table(node: _Node) -> str:
    """Return a table; what stands in a cell becomes one line, its blocks divided by `<br>`."""
    rows = [[_cell(cell) for cell in nodes_in(row)] or [_cell(row)] for row in nodes_in(node)]
    if not rows:
        return "[table]"
    width = max(map(len, rows))
    lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in rows]
    lines.insert(1, "| " + " | ".join(["---"] * width) + " |")
    return "\n".join(lines)


def _cell(node: _Node) -> str:
    """Return the text of a cell on one line, however deep it stands."""
    lines: list[list[_Node]] = [[]]
    waiting: list[_Node] = list(reversed(nodes_in(node))) or [node]
    while waiting:
        current = waiting.pop()
        inside = nodes_in(current)
        if inside and kind_of(current) not in _INLINE:
            lines.append([])
            waiting.extend(reversed(inside))
        elif kind_of(current) not in {"paragraph", "tableCell", "tableHeader", "tableRow"}:
            lines[-1].append(current)
    return "<br>".join(filter(None, (inline_markdown(line, "cell") for line in lines)))


_LEAVES: Final[Mapping[str, Callable[[_Node], str]]] = {
    "paragraph": lambda node: inline_markdown(nodes_in(node)),
    "heading": _heading,
    "codeBlock": _code,
    "rule": lambda _node: "---",
    "table": _table,
}
