"""Markdown to ADF.

A newline is a line break, as in the comments of GitHub. What Markdown can nest and ADF cannot (a
heading in a list, a quotation in a quotation, a table in a list, tasks in a quotation) keeps its
text and loses its frame: Jira refuses documents that break its schema.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from remit.servers.jira.adf.nodes import MARKS_IN_ORDER, Node, nodes_in, text_of

ALERTS: Final[Mapping[str, str]] = {
    "NOTE": "info",
    "IMPORTANT": "note",
    "TIP": "success",
    "WARNING": "warning",
    "CAUTION": "error",
}
"""GitHub's `> [!NOTE]` to the type of a panel."""

MENTION: Final = "accountid:"
"""A link to `accountid:ID` is a mention of that person."""

_ALERT: Final = re.compile(r"\[!([A-Z]+)\]\s*")
_TASK: Final = re.compile(r"\[([ xX])\](\s+|$)")
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_BREAK: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)
_DEEPEST: Final = 60
_MARKS: Final[Mapping[str, str]] = {"strong": "strong", "em": "em", "s": "strike"}
# Where a block may stand (ADF's schema): at the top, in a quotation, panel, list item or cell.
_HEADINGS_IN: Final = frozenset({"doc", "panel", "cell"})


def document(markdown: str) -> Node:
    """Return the ADF document that *markdown* describes."""
    tokens = _tokens(markdown.replace("\x00", ""))
    if max((token.level for token in tokens), default=0) >= _DEEPEST:
        # The parser drops what is nested deeper, so nothing of it is believed.
        content = [_paragraph(_lines(line, ())) for line in markdown.split("\n") if line.strip()]
    else:
        content = _Blocks().blocks(SyntaxTreeNode(tokens).children, "doc")
    return {"version": 1, "type": "doc", "content": content}


def _tokens(markdown: str) -> list[Token]:
    """Return what *markdown* consists of.

    A line such as `[WIP]: pending` defines a link, and shows nothing itself. Only where each of
    them is the address of a link that is there are they taken for that; else they stay as text.
    """
    found: dict[str, Any] = {}
    tokens = _PARSER.parse(markdown, found)
    defined = found.get("references", {})
    inside = [each for token in tokens for each in token.children or ()]
    linked = {each.attrGet("href") or each.attrGet("src") for each in inside}
    is_link = [_ADDRESS.match(to["href"]) and to["href"] in linked for to in defined.values()]
    if all(is_link) and not found.get("duplicate_refs"):
        return tokens
    return _PLAIN_PARSER.parse(markdown)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST + 2})
    parser.enable(["table", "strikethrough"])
    parser.inline.ruler.before("autolink", "line_break", _line_break)
    return parser


def _line_break(state: StateInline, silent: bool) -> bool:
    """Take `<br>`, the only way to break a line in a cell of a table."""
    found = _BREAK.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("hardbreak", "br", 0)
    state.pos = found.end()
    return True


_PARSER: Final = _parser()
_PLAIN_PARSER: Final = _parser().disable("reference")


class _Blocks:
    """The blocks of one document; counts the ids that tasks must have."""

    def __init__(self) -> None:
        self._ids = count(1)

    def blocks(self, nodes: Iterable[SyntaxTreeNode], where: str) -> list[Node]:
        """Return the blocks of *nodes* as they may stand in *where*."""
        return [block for node in nodes for block in self._block(node, where)]

    def _block(self, node: SyntaxTreeNode, where: str) -> list[Node]:
        match node.type:
            case "heading":
                return [_heading(node, where)]
            case "fence" | "code_block":
                return [_code(node)]
            case "hr":
                rule: Node = {"type": "rule"}
                return [rule if where in _HEADINGS_IN else _paragraph(_lines("---", ()))]
            case "bullet_list" | "ordered_list":
                return [self._list(node, where)]
            case "blockquote":
                return self._quotation(node, where)
            case "table":
                return self._table(node, where)
            case _:
                return [_paragraph(_inline_of(node))]

    def _quotation(self, node: SyntaxTreeNode, where: str) -> list[Node]:
        if where != "doc":
            return self.blocks(node.children, where)
        panel = _panel_type(node)
        if panel is None:
            content = self.blocks(node.children, "quote")
            return [{"type": "blockquote", "content": content or [_paragraph([])]}]
        first, *others = self.blocks(node.children, "panel")
        rest = _without(first, _ALERT)
        content = ([rest] if rest.get("content") else []) + others
        content = content or [_paragraph([])]
        return [{"type": "panel", "attrs": {"panelType": panel}, "content": content}]

    def _list(self, node: SyntaxTreeNode, where: str) -> Node:
        items = [self.blocks(item.children, "item") for item in node.children]
        ordered = node.type == "ordered_list"
        states = [_task_state(item) for item in node.children]
        if not ordered and all(states) and where != "quote":
            return self._tasks(items, states)
        content: list[Node] = [{"type": "listItem", "content": _item(item)} for item in items]
        if not ordered:
            return {"type": "bulletList", "content": content}
        start = node.attrs.get("start", 1)
        return {"type": "orderedList", "attrs": {"order": int(start)}, "content": content}

    def _tasks(self, items: Sequence[list[Node]], states: Sequence[str | None]) -> Node:
        tasks: list[Node] = []
        for item, state in zip(items, states, strict=True):
            attributes = {"localId": str(next(self._ids)), "state": state}
            content = _without(item[0], _TASK)["content"]
            tasks.append({"type": "taskItem", "attrs": attributes, "content": content})
        return {"type": "taskList", "attrs": {"localId": str(next(self._ids))}, "content": tasks}

    def _table(self, node: SyntaxTreeNode, where: str) -> list[Node]:
        rows = [row for part in node.children for row in part.children]
        if where != "doc":
            joined: list[list[Node]] = []
            for row in rows:
                cells = [_inline_of(cell) for cell in row.children]
                filled = filter(None, cells)
                joined.append([text for cell in filled for text in (*cell, _text(" | "))][:-1])
            return [_paragraph(_merged(line)) for line in joined]
        content: list[Node] = []
        for row in rows:
            kinds = {"th": "tableHeader", "td": "tableCell"}
            cells = [
                {"type": kinds[cell.type], "content": [_paragraph(_inline_of(cell))]}
                for cell in row.children
            ]
            content.append({"type": "tableRow", "content": cells})
        return [{"type": "table", "content": content}]


def _heading(node: SyntaxTreeNode, where: str) -> Node:
    if where not in _HEADINGS_IN:
        return _paragraph(_inline_of(node, ({"type": "strong"},)))
    level = int(node.tag.removeprefix("h"))
    return {"type": "heading", "attrs": {"level": level}, "content": _inline_of(node)}


def _code(node: SyntaxTreeNode) -> Node:
    text = node.content.removesuffix("\n")
    block: Node = {"type": "codeBlock", "content": [_text(text)] if text else []}
    language = node.info.split()[0] if node.info.split() else ""
    return block | {"attrs": {"language": language}} if language else block


def _panel_type(quotation: SyntaxTreeNode) -> str | None:
    if not quotation.children or quotation.children[0].type != "paragraph":
        return None
    content = quotation.children[0].children[0].content
    found = _ALERT.match(content)
    return ALERTS.get(found.group(1)) if found else None


def _task_state(item: SyntaxTreeNode) -> str | None:
    """Return the state of a list item that is one paragraph beginning with `[ ]` or `[x]`."""
    if len(item.children) != 1 or item.children[0].type != "paragraph":
        return None
    found = _TASK.match(item.children[0].children[0].content)
    if found is None:
        return None
    return ("todo" if found.group(1) == " " else "done").upper()


def _without(paragraph: Node, prefix: re.Pattern[str]) -> Node:
    """Return *paragraph* without the *prefix* of its text and the line break after it."""
    first, *others = nodes_in(paragraph)
    rest = prefix.sub("", text_of(first), count=1)
    content: list[Node] = [dict(first) | {"text": rest}] if rest else []
    if not rest and others and others[0]["type"] == "hardBreak":
        others = others[1:]
    return paragraph | {"content": [*content, *map(dict, others)]}


def _item(content: list[Node]) -> list[Node]:
    """Return the content of a list item, which may not begin with a list."""
    if content and content[0]["type"] in {"paragraph", "codeBlock"}:
        return content
    return [_paragraph([]), *content]


def _paragraph(content: list[Node]) -> Node:
    return {"type": "paragraph", "content": content}


def _text(text: str, marks: Sequence[Node] = ()) -> Node:
    node: Node = {"type": "text", "text": text}
    in_order = sorted(marks, key=lambda mark: MARKS_IN_ORDER.index(str(mark["type"])))
    return node | {"marks": in_order} if in_order else node


def _inline_of(block: SyntaxTreeNode, marks: Sequence[Node] = ()) -> list[Node]:
    found: list[Node] = []
    for child in block.children:
        found += _inline(child, marks)
    return _merged(found)


def _inline(node: SyntaxTreeNode, marks: Sequence[Node]) -> list[Node]:
    match node.type:
        case "text" | "text_special":
            return _lines(node.content, marks)
        case "softbreak" | "hardbreak":
            return [{"type": "hardBreak"}]
        case "code_inline":
            links = [mark for mark in marks if mark["type"] == "link"]
            return [_text(node.content, [*links, {"type": "code"}])] if node.content else []
        case "image":
            return _link(str(node.attrs.get("src", "")), node, marks)
        case "link":
            return _link(str(node.attrs.get("href", "")), node, marks)
        case "strong" | "em" | "s":
            added: Node = {"type": _MARKS[node.type]}
            return _inlines(node.children, marks if added in marks else [*marks, added])
        case _:
            return _inlines(node.children, marks)


def _inlines(nodes: Iterable[SyntaxTreeNode], marks: Sequence[Node]) -> list[Node]:
    return [made for node in nodes for made in _inline(node, marks)]


def _link(href: str, node: SyntaxTreeNode, marks: Sequence[Node]) -> list[Node]:
    plain = [mark for mark in marks if mark["type"] != "link"]
    inside = _inlines(node.children, plain)
    if href.startswith(MENTION) and len(href) > len(MENTION):
        name = "".join(map(text_of, inside))
        identity = href.removeprefix(MENTION)
        return [{"type": "mention", "attrs": {"id": identity, "text": name or f"@{identity}"}}]
    if not href:
        return inside
    linked: Node = {"type": "link", "attrs": {"href": href}}
    return _inlines(node.children, [linked, *plain]) or [_text(href, [linked, *plain])]


def _lines(text: str, marks: Sequence[Node]) -> list[Node]:
    return [_text(text, marks)] if text else []


def _merged(nodes: Sequence[Node]) -> list[Node]:
    """Return *nodes* with neighbouring texts of the same marks made one."""
    merged: list[Node] = []
    for node in nodes:
        last = merged[-1] if merged else None
        if last and last["type"] == node["type"] == "text" and _marks(last) == _marks(node):
            merged[-1] = last | {"text": text_of(last) + text_of(node)}
        else:
            merged.append(node)
    return merged


def _marks(node: Node) -> object:
    return node.get("marks", [])
