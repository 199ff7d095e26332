"""Texts that both databases accept."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.storage.texts import storable, storable_json

ANY_TEXT = st.text(st.characters(exclude_categories=[]) | st.sampled_from("\0\\u\ud800\udc00"))
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ('"\\u0000"', '"\\\\u0000"'),
        ('"\\\\u0000"', '"\\\\u0000"'),
        ('"\\\\\\u0000"', '"\\\\\\\\u0000"'),
        ('"\\uD83C\\uDF89"', '"\\uD83C\\uDF89"'),
        ('"\\uDF89\\uD83C"', '"\\\\uDF89\\\\uD83C"'),
        ('"\\ud83c\\ud83c\\udf89"', '"\\\\ud83c\\ud83c\\udf89"'),
        ('"\\u00e9\\n\\""', '"\\u00e9\\n\\""'),
        ('"\ud800"', '"\\\\ud800"'),
        ("\\", "\\"),
        ("\\u00", "\\u00"),
    ],
)
def test_what_jsonb_refuses_is_spelled_out_and_nothing_else(text: str, stored: str) -> None:
    assert storable_json(text) == stored


@given(ANY_TEXT)
def test_a_stored_text_has_utf8_and_no_nul_and_is_stored_as_itself(text: str) -> None:
    stored = storable(text)

    assert b"\0" not in stored.encode()
    assert storable(stored) == stored


@given(ANY_JSON, st.booleans())
def test_stored_json_is_json_without_nul_and_lone_surrogates(value: object, escape: bool) -> None:
    stored = storable_json(json.dumps(value, ensure_ascii=escape))

    written_out = json.dumps(json.loads(stored), ensure_ascii=False)
    assert b"\0" not in written_out.encode()
    assert "\\u0000" not in written_out.replace("\\\\", "")
    assert storable_json(stored) == stored


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.text(st.characters(codec="utf-8", exclude_characters="\0")),
        st.lists,
        max_leaves=8,
    ),
    st.booleans(),
)
def test_json_that_both_databases_take_is_stored_as_it_is(value: object, escape: bool) -> None:
    text = json.dumps(value, ensure_ascii=escape)

    assert storable_json(text) == text
