import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.identity.api_keys import (
    LONGEST,
    KeyText,
    hash_secret,
    is_secret,
    make_key_text,
    parse_key_text,
)


def test_a_new_key_is_spelled_as_the_contract_says() -> None:
    prefix, identifier, secret = make_key_text().reveal().split("_", 2)

    assert prefix == "rmt"
    assert len(identifier) == 12
    assert set(identifier) <= set(string.ascii_lowercase + "234567")
    assert len(secret) == 43
    assert set(secret) <= set(string.ascii_letters + string.digits + "-_")


def test_no_two_keys_are_alike() -> None:
    keys = [make_key_text() for _ in range(200)]

    assert len({key.id for key in keys}) == len({key.secret for key in keys}) == 200


def test_the_repr_of_a_key_hides_its_secret() -> None:
    key = make_key_text()

    assert key.id in repr(key)
    assert key.secret not in f"{key} {key!r}"


def test_what_is_revealed_is_what_is_read_even_with_underscores_in_the_secret() -> None:
    key = KeyText("abc234", "a_b__c-d_")

    assert parse_key_text(key.reveal()) == key


@given(st.text(string.ascii_letters + string.digits, min_size=1), st.text("ab_-9", min_size=1))
def test_every_key_that_is_short_enough_is_read_back(identifier: str, secret: str) -> None:
    text = KeyText(identifier, secret).reveal()

    parsed = parse_key_text(text)

    assert parsed == (KeyText(identifier, secret) if len(text) <= LONGEST else None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rmt",
        "rmt_",
        "rmt__",
        "rmt_abc",
        "rmt_abc_",
        "rmt__secret",
        "RMT_abc_secret",
        "xmt_abc_secret",
        "rmt-abc-secret",
        " rmt_abc_secret",
        "rmt_abc_sécret",
        "rmt_abc_\ud800",
        "rmt_abc_" + "s" * LONGEST,
    ],
)
def test_what_is_no_key_is_not_read_as_one(text: str) -> None:
    assert parse_key_text(text) is None


def test_the_longest_key_is_read_and_one_more_character_is_not() -> None:
    longest = "rmt_abc_" + "s" * (LONGEST - 8)

    assert parse_key_text(longest) is not None
    assert parse_key_text(longest + "s") is None


def test_the_stored_hash_is_sha_256_in_hex() -> None:
    # a change of it would lock out every key that was ever given out
    assert hash_secret("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_only_the_secret_itself_has_its_hash() -> None:
    stored = hash_secret("correct horse")

    assert is_secret("correct horse", stored)
    assert not is_secret("correct horsf", stored)
    assert not is_secret("", stored)
    assert not is_secret("correct horse", stored[:-1])
