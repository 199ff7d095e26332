"""ADF and Markdown (issue 6): nothing that somebody wrote is lost on the way."""

import re
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from remit.servers.jira.adf.from_markdown import document
from remit.servers.jira.adf.nodes import Node, attribute, nodes_in, text_of
from remit.servers.jira.adf.to_markdown import markdown
from remit.testing.jira_cloud_rules import check_document

_MARKS = st.lists(
    st.sampled_from(["strong", "em", "strike", "code", "link", "underline"]),
    max_size=3,
    unique=True,
)
_ODD = st.text(alphabet=r"ab1 *_~`[]()<>!#-+=.|\&;:@/" + "\n\t\u00a0é", max_size=12)
_WORDS = st.sampled_from(
    ["snake_case", "2 * 3", "C:\\temp", "a[0](b)", "# x", "1. x", "- x", "[ ] x", "&amp;", "<b>"]
)
_TEXTS = st.one_of(_ODD, _WORDS, st.text(max_size=10))


def _run(text: str, marks: Sequence[str]) -> Node:
    made: list[Node] = []
    for mark in marks:
        href: Node = {"attrs": {"href": "http://x.test/a(b)"}} if mark == "link" else {}
        made.append({"type": mark, **href})
    return {"type": "text", "text": text, "marks": made}


def _code(text: str) -> Node:
    return {"type": "codeBlock", "content": [_run(text, ())]}


def _titled(node: Node) -> Node:
    return {**node, "attrs": {"title": "more"}}


def _doc(blocks: list[Node]) -> Node:
    return {"version": 1, "type": "doc", "content": blocks}


def _of(kind: str, **attributes: object) -> "st.SearchStrategy[Node]":
    def made(content: list[Node]) -> Node:
        return {"type": kind, "content": content, "attrs": attributes}

    return st.builds(made, st.deferred(lambda: _INLINES))


def _in(kind: str, inside: "st.SearchStrategy[Node]") -> "st.SearchStrategy[Node]":
    def made(content: list[Node]) -> Node:
        return {"type": kind, "content": content}

    return st.builds(made, st.lists(inside, min_size=1, max_size=3))


def _fixed(node: Node) -> "st.SearchStrategy[Node]":
    return st.just(node)


_RUNS = st.builds(_run, _TEXTS, _MARKS)
_BREAKS = _fixed({"type": "hardBreak"})
_UNKNOWN = _fixed({"type": "sparkle", "attrs": {"text": "sparkling"}})
_INLINES = st.lists(st.one_of(_RUNS, _BREAKS, _UNKNOWN), max_size=4)
_PARAGRAPHS = _of("paragraph")
_LEAVES = st.one_of(
    _PARAGRAPHS,
    _of("heading", level=3),
    st.builds(_code, _TEXTS),
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
        st.builds(_titled, _in("expand", inside)),
        _in("taskList", st.one_of(_of("taskItem", state="DONE"), _of("taskItem", state="TODO"))),
    )


_BLOCKS = _containers(_containers(_LEAVES))
_DOCUMENTS = st.builds(_doc, st.lists(_BLOCKS, max_size=4))
_JSON = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))


def _said(node: Mapping[str, object]) -> str:
    """Return the words of a document.

    Without white space, which Markdown may change, and the bars between the cells of tables.
    """
    text = text_of(node) or attribute(node, "text") or attribute(node, "title")
    text += "".join(map(_said, nodes_in(node)))
    return _TASK.sub("", "".join(text.replace("\x00", "").replace("|", "").split()))


_TASK = re.compile(r"\[[xX]?\]")
"""A task where there may be none, such as in a quotation, says so in its text."""


def _around(kind: str, *blocks: Node) -> Node:
    return {"type": kind, "content": list(blocks)}


_EMPTY_ITEM = _around("bulletList", _around("listItem", _around("paragraph")))
_EMPTY_TASKS = _around("taskList", {"type": "taskItem", "attrs": {"state": "DONE"}})


@settings(max_examples=40)
@given(_DOCUMENTS)
@example(_doc([_around("panel", _around("paragraph"), _EMPTY_ITEM)]))
@example(_doc([_EMPTY_ITEM, _around("paragraph"), _EMPTY_TASKS]))
@example(_doc([_titled(_around("expand", _EMPTY_ITEM)), _EMPTY_TASKS]))
def test_a_document_shown_as_markdown_and_made_again_says_the_same(original: Node) -> None:
    again = document(markdown(original))

    assert _said(again) == _said(original)


_SAMPLE = """# Title with *emphasis* and `code`

a **b *c*** [link](http://x.test) <http://y.test> snake_case x || y, a < b, [Web] broken
next line ~~gone~~

1. first

   **bold**

2. second
   - nested

| a | b |
| --- | --- |
| `x` | y<br>z |

```py
x = "`"
```

\\* no list, 1. no number

---

> quoted
>
> - item"""


def test_markdown_as_people_write_it_comes_back_as_it_was() -> None:
    assert markdown(document(_SAMPLE)) == _SAMPLE


@settings(max_examples=100)
@given(st.text(max_size=200))
def test_any_text_makes_a_document(text: str) -> None:
    assert document(text)["type"] == "doc"


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from(["type", "content", "attrs", "marks", "text"]), _JSON))
@example({"type": "text", "text": 1})
@example({"content": [[], {"type": {}}, {"marks": "x"}]})
def test_what_is_no_document_is_shown_all_the_same(value: object) -> None:
    assert isinstance(markdown({"type": "doc", "content": [value]}), str)
    assert isinstance(markdown(value), str)


@pytest.mark.parametrize(
    ("node", "shown"),
    [
        ({"type": "mention", "attrs": {"id": "5b", "text": "@Ann"}}, "[@Ann](accountid:5b)"),
        ({"type": "emoji", "attrs": {"shortName": ":tada:", "text": "🎉"}}, "🎉"),
        ({"type": "date", "attrs": {"timestamp": "1767225600000"}}, "2026-01-01"),
        ({"type": "status", "attrs": {"text": "BLOCKED", "color": "red"}}, "BLOCKED"),
        ({"type": "inlineCard", "attrs": {"url": "https://x.test/a"}}, "<https://x.test/a>"),
        ({"type": "media", "attrs": {"id": "7", "alt": "plan.png"}}, "[attachment: plan.png]"),
        ({"type": "extension", "attrs": {"extensionKey": "toc"}}, "[extension: toc]"),
        ({"type": "hologram"}, "[hologram]"),
        ({"type": "hologram", "content": [{"type": "text", "text": "inside"}]}, "inside"),
    ],
)
def test_a_node_that_markdown_does_not_have_is_shown_in_words(node: Node, shown: str) -> None:
    assert markdown({"type": "doc", "content": [node]}) == shown


def test_a_mention_written_as_a_link_is_a_mention() -> None:
    made = document("ask [@Ann](accountid:5b10)")

    assert nodes_in(nodes_in(made)[0])[1] == {
        "type": "mention",
        "attrs": {"id": "5b10", "text": "@Ann"},
    }


def test_what_adf_cannot_nest_keeps_its_text() -> None:
    made = document("- # Title\n  > quoted\n\n  | a | b |\n  |---|---|\n  | c | d |\n")

    item = nodes_in(nodes_in(made)[0])[0]
    assert {child["type"] for child in nodes_in(item)} == {"paragraph"}
    assert markdown(made) == "- **Title**\n\n  quoted\n\n  a | b\n\n  c | d"


def test_deep_nesting_keeps_every_word_both_ways() -> None:
    made = document("> " * 500 + "deep")
    node: Node = {"type": "text", "text": "deep"}
    for _ in range(5000):
        node = {"type": "blockquote", "content": [node]}

    assert _said(made).endswith("deep")
    assert markdown(node).endswith("deep")


def test_alerts_are_panels_and_boxes_are_tasks() -> None:
    source = "> [!WARNING]\n> careful\n\n- [x] done\n- [ ] open"
    made = document(source)

    assert [block["type"] for block in nodes_in(made)] == ["panel", "taskList"]
    assert markdown(made) == source


_PIECES = st.sampled_from(
    [
        "# head", "- [ ] todo", "- [x] done", "- item", "1. first", "---", "```", "| a | b |",
        "|---|---|", "> quoted", "text", "[WIP]: pending", "[1]: http://x.test/b", "see [1]",
        "[^1]: note", "![alt](http://x.test/i.png)", "**bold**", "[!NOTE]", "",
    ]
)  # fmt: skip
_FRAMES = st.sampled_from(["", "> ", "> > ", "  ", "> - ", "- > ", "    "])
_LINES = st.lists(st.builds("{}{}".format, _FRAMES, _PIECES), max_size=8).map("\n".join)


@given(_LINES)
@example("> - [ ] ship it\n> - [x] test it")
@example("> > - [ ] t")
@example("- a\n  - [ ] b")
def test_jira_takes_every_document_that_markdown_makes(written: str) -> None:
    check_document(document(written))


def test_tasks_in_a_quotation_keep_their_text() -> None:
    quoted = document("> - [ ] ship it\n> - [x] test it")

    assert markdown(quoted) == "> - \\[ ] ship it\n> - \\[x] test it"


@pytest.mark.parametrize(
    "written",
    [
        "[WIP]: pending",
        "Footnote[^1]\n\n[^1]: text",
        "see [a][1]\n\n[1]: http://x.test/a\n[2]: http://x.test/b",
        "[a][1]\n\n[1]: http://x.test/a\n[1]: http://x.test/b",
    ],
)
def test_a_line_that_defines_no_link_that_is_there_stays_as_text(written: str) -> None:
    shown = _words(document(written))

    assert [word for word in written.split() if word not in shown] == []


def test_a_link_may_be_defined_elsewhere() -> None:
    found = document("see [a][1]\n\n[1]: http://x.test/a")

    assert markdown(found) == "see [a](http://x.test/a)"


def _words(node: Mapping[str, object]) -> str:
    return " ".join([text_of(node), *map(_words, nodes_in(node))])
