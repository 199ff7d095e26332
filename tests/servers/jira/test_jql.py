"""JQL that is made of what callers give: no text becomes a part of the query."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from remit.servers.jira.jql import combined, quoted, with_words

_TEXTS = st.text(alphabet=st.characters(codec="utf-8"), max_size=60)
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)


def _read(literal: str) -> str:
    """Return what a reader of JQL takes a text in quotes for."""
    found = _LITERAL.fullmatch(literal)
    assert found is not None
    return re.sub(r"\\(.)", r"\1", found.group(1), flags=re.DOTALL)


@settings(max_examples=200)
@given(_TEXTS)
@example('x" OR project = "SECRET')
@example("ends with \\")
@example('\\" OR 1 = 1')
def test_a_text_stays_one_text_whatever_it_holds(text: str) -> None:
    assert _read(quoted(text)) == re.sub(r"[\x00-\x1f\x7f]+", " ", text)


@settings(max_examples=200)
@given(_TEXTS)
def test_words_hold_no_operator_of_the_search(text: str) -> None:
    query = _read(with_words(text).removeprefix("text ~ "))

    assert not re.search(r'(?<!\\)[-+&|!(){}\[\]^~*?:"/]', re.sub(r"\\\\", "", query))


@pytest.mark.parametrize(
    ("jql", "whole"),
    [
        ("", "project = X ORDER BY updated"),
        ("a = 1 OR b = 2", "(a = 1 OR b = 2) AND project = X ORDER BY updated"),
        ("a = 1 order  by rank", "(a = 1) AND project = X order  by rank"),
        ("ORDER BY rank", "project = X ORDER BY rank"),
        ('s ~ "order by" ', '(s ~ "order by") AND project = X ORDER BY updated'),
        (r'"\" order by" = 1', r'("\" order by" = 1) AND project = X ORDER BY updated'),
    ],
)
def test_a_query_keeps_its_order_and_is_narrowed_as_a_whole(jql: str, whole: str) -> None:
    assert combined(jql, ["project = X"], "ORDER BY updated") == whole


def test_a_query_of_its_own_is_sent_as_it_is() -> None:
    assert combined(" a = 1  OR b ", [], "ORDER BY updated") == "a = 1  OR b"
