"""ADF and Markdown (issue 6): nothing that somebody wrote is lost on the way."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remit.servers.jira.adf.from_markdown import document
from remit.servers.jira.adf.nodes import Node, nodes_in, text_of
from remit.servers.jira.adf.to_markdown import markdown

_MARKS = st.lists(
    st.sampled_from(["strong", "em", "strike", "code", "link", "underline"]), max_size=3, unique=True
)
_ODD = st.text(alphabet=r"ab1 *_~`[]()<>!#-+=.|\&;:@/" + "\n\t\u00a0é", max_size=12)
_WORDS = st.sampled_from(
    ["snake_case", "2 * 3", "C:\\temp", "a[0](b)", "# x", "1. x", "- x", "[ ] x", "&amp;", "<b>"]
)
_TEXTS = st.one_of(_ODD, _WORDS, st.text(max_size=10))


def _run(text: str, marks: Sequence[str]) -> Node:
    made: list[Node] = [
        {"type": mark} | ({"attrs": {"href": "http://x.test/a(b)"}} if mark == "link" else {})
        for mark in marks
    ]
    return {"type": "text", "text": text, "marks": made}


def _of(kind: str, **attributes: object) -> "st.SearchStrategy[Node]":
    return st.fixed_dictionaries(
        {"type": st.just(kind), "content": _INLINES, "attrs": st.just(attributes)}
    )


def _in(kind: str, inside: "st.SearchStrategy[Node]") -> "st.SearchStrategy[Node]":
    content = st.lists(inside, min_size=1, max_size=3)
    return st.fixed_dictionaries({"type": st.just(kind), "content": content})


_RUNS = st.builds(_run, _TEXTS, _MARKS)
_BREAKS = st.just({"type": "hardBreak"})
_UNKNOWN = st.just({"type": "sparkle", "attrs": {"text": "sparkling"}})
_INLINES = st.lists(st.one_of(_RUNS, _BREAKS, _UNKNOWN), max_size=4)
_PARAGRAPHS = _of("paragraph")
_LEAVES = st.one_of(
    _PARAGRAPHS,
    _of("heading", level=3),
    st.builds(lambda text: {"type": "codeBlock", "content": [_run(text, ())]}, _TEXTS),
    _in("table", _in("tableRow", _in("tableCell", _PARAGRAPHS))),
)


def _containers(inside: "st.SearchStrategy[Node]") -> "st.SearchStrategy[Node]":
    items = _in("listItem", inside)
    return st.one_of(
        inside,
        _in("bulletList", items),
        _in("orderedList", items),
        _in("blockquote", inside),
        _in("panel", inside),
        st.builds(lambda node: node | {"attrs": {"title": "more"}}, _in("expand", inside)),
        _in("taskList", st.one_of(_of("taskItem", state="DONE"), _of("taskItem", state="TODO"))),
    )


_BLOCKS = _containers(_containers(_LEAVES))
_DOCUMENTS = st.builds(
    lambda blocks: {"version": 1, "type": "doc", "content": blocks}, st.lists(_BLOCKS, max_size=4)
)
_JSON = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))


def _said(node: object) -> str:
    """Return the words of a document without white space, which Markdown may change."""
    if not isinstance(node, dict):
        return ""
    found: Node = node
    attributes = found.get("attrs")
    named = attributes if isinstance(attributes, dict) else {}
    text = text_of(found) or str(named.get("text", named.get("title", "")))
    text += "".join(map(_said, nodes_in(found)))
    return "".join("".join(text.replace("\x00", "")).split())


@given(_DOCUMENTS)
def test_a_document_shown_as_markdown_and_made_again_says_the_same(original: Node) -> None:
    again = document(markdown(original))

    assert _said(again) == _said(original)


@given(_DOCUMENTS)
def test_what_was_made_from_markdown_is_made_again_from_what_is_shown(original: Node) -> None:
    made = document(markdown(original))

    assert document(markdown(made)) == made
