"""The laws of R28's redaction, for any body.

A planted secret is one word, so that "no part of it is left" can be checked: no five characters
in a row of it are in the record.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from hypothesis import assume, given
from hypothesis import strategies as st

from remit.calls.redact import REDACTED, recorded, redacted, redacted_text

CAP = 16 * 1024
WRAPPER = 64

NAMES = st.sampled_from(
    ["password", "Passwd", "client_secret", "ACCESS_TOKEN", "apiKey", "private-key", "credential"]
)
AFFIXES = st.text("abXY09-_ .", max_size=6)
SECRET_NAMES = st.builds("{}{}{}".format, AFFIXES, NAMES, AFFIXES).filter(
    lambda name: "tokens" not in name.lower()
)

# No letters but these, so that no other text of a test holds a part of a secret.
WORDS = st.text("QZJW7", min_size=20, max_size=40)
SHAPED = st.one_of(
    WORDS.map("Bearer {}".format),
    WORDS.map("eyJ{0}.{0}.{0}".format),
    WORDS.map("rmt_{0}_{0}".format),
    st.builds(
        "{}{}".format, st.sampled_from(["ghp_", "github_pat_", "glpat-", "xoxb-", "sk-"]), WORDS
    ),
    WORDS.map("AKIA{:.16}".format),
    WORDS.map("https://me:{}@host".format),
    WORDS.map("https://me:{0}/{0}@host".format),
    WORDS.map("curl -u me:{} https://host".format),
    WORDS.map("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----".format),
)
PLAIN = st.text(
    st.characters(exclude_characters="QZJW7", exclude_categories=["Cs"]), max_size=20
).map("{} ".format)

LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), PLAIN
)
# High surrogates alone: before a low one they would be half of a character.
LONE_AND_CONTROL = st.text(
    st.characters(max_codepoint=0xDBFF, categories=["Cs", "Cc", "Ll"]), max_size=30
)
ANY_JSON: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(PLAIN, inner, max_size=4)),
    max_leaves=12,
)


def in_array(first: Any, value: Any, last: Any) -> Any:
    return [first, value, last]


def in_object(key: str, first: Any, value: Any, last: Any) -> Any:
    return {"first": first, key: value, "last": last}


def with_text(first: Any, value: Any) -> Any:
    return {"first": first, "text": json.dumps(value)}


def named(name: str, word: str) -> Any:
    return {name: word}


def listed(word: str) -> Any:
    return {"refresh_tokens": [word, 1, word]}


def deep(name: str, word: str) -> Any:
    return {name: {"x": [1, {"y": f'a"{word}'}]}, "z": 2}


def holding(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Wrap *value* in arrays, objects and JSON texts that hold other things too."""
    return st.recursive(
        value,
        lambda inner: st.one_of(
            st.builds(in_array, ANY_JSON, inner, ANY_JSON),
            st.builds(in_object, PLAIN, ANY_JSON, inner, ANY_JSON),
            st.builds(with_text, ANY_JSON, inner),
        ),
        max_leaves=1,
    )


NAMED_SECRETS = holding(
    st.one_of(
        st.builds(named, SECRET_NAMES, WORDS),
        st.builds(deep, SECRET_NAMES, WORDS),
        st.builds(listed, WORDS),
        st.builds("{}={} ".format, NAMES, WORDS),
        st.builds("{}: '{}' ".format, NAMES, WORDS),
    )
)
SHAPED_SECRETS = holding(st.builds("{}{} {}".format, PLAIN, SHAPED, PLAIN))

DUMPED: st.SearchStrategy[Callable[[Any], str]] = st.sampled_from(
    [
        json.dumps,
        partial(json.dumps, ensure_ascii=False),
        partial(json.dumps, indent=2),
        partial(json.dumps, separators=(",", ":")),
    ]
)


def refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def parts_left(text: str) -> set[str]:
    """Return what five characters of a planted word are in *text*; a number may hold five 7s."""
    windows = (text[at : at + 5] for at in range(len(text)))
    planted = {window for window in windows if len(window) == 5 and set(window) <= set("QZJW7")}
    return {window for window in planted if not window.isdigit()}


def test_the_laws_would_see_a_secret_that_is_left() -> None:
    assert parts_left('{"a":"xQZJW7x"}') == {"QZJW7"}


@given(st.one_of(NAMED_SECRETS, SHAPED_SECRETS), DUMPED)
def test_no_planted_secret_is_stored(value: Any, dumped: Callable[[Any], str]) -> None:
    assert parts_left(recorded(dumped(value).encode(), CAP)) == set()


@given(st.one_of(NAMED_SECRETS, SHAPED_SECRETS), DUMPED, st.data())
def test_no_part_of_a_planted_secret_is_stored_wherever_the_cap_cuts(
    value: Any, dumped: Callable[[Any], str], data: st.DataObject
) -> None:
    body = dumped(value).encode()
    cap = WRAPPER + data.draw(st.integers(0, len(body)))

    assert parts_left(recorded(body + b" " * 2 * WRAPPER, cap)) == set()


@given(st.one_of(NAMED_SECRETS, SHAPED_SECRETS), st.binary(min_size=1, max_size=3), st.data())
def test_no_planted_secret_is_stored_of_a_body_that_is_no_json(
    value: Any, junk: bytes, data: st.DataObject
) -> None:
    body = json.dumps(value).encode()
    at = data.draw(st.sampled_from([0, len(body)]))

    assert parts_left(recorded(body[:at] + b"}" + junk + body[at:], CAP)) == set()


@given(st.one_of(NAMED_SECRETS, SHAPED_SECRETS, ANY_JSON))
def test_redaction_is_idempotent(value: Any) -> None:
    once = redacted(value)

    assert redacted(once) == once


FRAGMENTS = st.sampled_from(
    [
        "password",
        "token",
        "secret",
        "tokens",
        "-u ",
        "--user",
        "me:x",
        "authorization",
        "cookie",
        "bearer ",
        "Bearer abcdefghijkl",
        "=",
        ":",
        ": ",
        '"',
        "'",
        '\\"',
        "\\",
        "\\n",
        "\n",
        "{",
        "}",
        "[",
        "]",
        ",",
        "://",
        "@",
        "/",
        "a",
        "abcdefgh",
        REDACTED,
        "sk-abcdefghijklmnop",
        "rmt_abcd_abcdefgh",
        "eyJabcdefgh",
        ".",
        "AKIAIOSFODNN7EXAMPLE",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
    ]
)
CROOKED = st.lists(FRAGMENTS, max_size=12).map("".join)


@given(CROOKED)
def test_redaction_is_idempotent_on_crooked_text(text: str) -> None:
    once = redacted(text)

    assert redacted(once) == once
    assert redacted_text(redacted_text(text)) == redacted_text(text)


@given(st.one_of(st.binary(), CROOKED.map(str.encode)), st.integers(0, 300))
def test_any_bytes_are_stored_as_json_text_within_the_cap(body: bytes, cap: int) -> None:
    text = recorded(body, cap)

    json.loads(text, parse_constant=refuse)
    assert len(text.encode()) <= max(cap, WRAPPER)
    assert "\x00" not in text


@given(ANY_JSON, DUMPED, st.integers(0, 300))
def test_any_json_is_stored_as_json_text_within_the_cap(
    value: Any, dumped: Callable[[Any], str], cap: int
) -> None:
    text = recorded(dumped(value).encode(), cap)

    json.loads(text)
    assert len(text.encode()) <= max(cap, WRAPPER)


@given(LONE_AND_CONTROL, st.booleans())
def test_lone_surrogates_and_nul_are_stored_as_escapes(text: str, suspicious: bool) -> None:
    value = {"a": text, "token" if suspicious else "b": 1}

    stored = recorded(json.dumps(value).encode(), CAP)

    assert json.loads(stored) == ({"a": text, "token": REDACTED} if suspicious else value)
    assert not any(ord(character) < 0x20 for character in stored)
    stored.encode()  # no lone surrogate is left as such


@given(ANY_JSON, DUMPED)
def test_a_body_without_secrets_is_stored_unaltered(
    value: Any, dumped: Callable[[Any], str]
) -> None:
    assume(redacted(value) == value)
    body = dumped(value)
    assume(redacted(body) == body)

    assert recorded(body.encode(), 10 * CAP) == body


# What secrets and their names are made of beside that, and what only looks like it.
MORSELS = FRAGMENTS | st.sampled_from(
    [
        "tokens",
        "api",
        "access",
        "private",
        "_key",
        "Key",
        "ghp_",
        "gho_",
        "github_pat_",
        "glpat-",
        "xoxb-",
        "sk-",
        "AKIA",
        "me:",
        "x",
        "\U0001f600",
    ]
)
TEMPTING = st.lists(MORSELS | MORSELS.map(str.swapcase), max_size=10).map("".join)


@given(TEMPTING, TEMPTING)
def test_what_is_passed_at_a_glance_is_what_a_walk_would_leave_as_it_is(
    name: str, text: str
) -> None:
    value = {name: [text]}

    stored = recorded(json.dumps(value, ensure_ascii=False).encode(), CAP)

    assert json.loads(stored) == redacted(value)
