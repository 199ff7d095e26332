"""What the console keeps in a browser: where that goes, for how long, and what is read of it."""

import pytest

from remit.doors.console.cookies import FORM, SESSION, Cookie

HERE = "http://localhost:8400/remit"
PUBLIC = "https://tools.example.test/remit"
SAID = Cookie("said")


def test_a_cookie_goes_no_further_and_lasts_no_longer_than_it_must() -> None:
    assert SAID.set_to("a", HERE) == "said=a; Path=/remit/console; HttpOnly; SameSite=Lax"
    assert SAID.set_to("a", PUBLIC, seconds=60) == (
        "__Host-said=a; Path=/; Max-Age=60; Secure; HttpOnly; SameSite=Lax"
    )
    assert SAID.set_to_text("a", HERE, seconds=60) == (
        "said=YQ; Path=/remit/console; Max-Age=60; HttpOnly; SameSite=Lax"
    )
    assert SAID.gone(HERE) == ("said=; Path=/remit/console; Max-Age=0; HttpOnly; SameSite=Lax")
    assert SAID.gone(PUBLIC) == "__Host-said=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Lax"


@pytest.mark.parametrize("cookie", [SESSION, FORM])
def test_over_https_only_a_cookie_that_this_host_set_is_read(cookie: Cookie) -> None:
    for base, other in ((HERE, PUBLIC), (PUBLIC, HERE)):
        name = cookie.set_to("", base).partition("=")[0]

        assert cookie.read({name: "a"}, base) == "a"
        assert cookie.read({name: "a"}, other) == ""
        assert cookie.read({}, base) == ""


def test_cookies_have_names_of_their_own() -> None:
    assert SESSION.set_to("", HERE).startswith("remit_session=;")
    assert FORM.set_to("", HERE).startswith("remit_sign_in=;")


@pytest.mark.parametrize("value", ["", " a", "a b", "ä", "a;", "a=", 'a"', "a\n", "A" * 4001])
def test_what_is_none_of_ours_is_read_as_nothing(value: str) -> None:
    assert SAID.read({"said": value}, HERE) == ""
    assert SAID.read_text({"said": value}, HERE) == ""


def test_the_longest_value_is_read() -> None:
    assert SAID.read({"said": "A" * 4000}, HERE) == "A" * 4000


@pytest.mark.parametrize("text", ["", "a", "ab", "abc", "grüße; ✓ = 'x'\n"])
def test_a_text_of_any_letters_is_kept(text: str) -> None:
    kept = SAID.set_to_text(text, HERE).partition(";")[0].removeprefix("said=")

    assert SAID.read_text({"said": kept}, HERE) == text


def test_a_letter_that_has_no_utf_8_is_replaced() -> None:
    assert SAID.set_to_text("a\ud800", HERE) == SAID.set_to_text("a?", HERE)


@pytest.mark.parametrize("value", ["A", "_w"], ids=["no base64", "no utf-8"])
def test_what_is_no_text_is_read_as_none(value: str) -> None:
    assert SAID.read({"said": value}, HERE) == value
    assert SAID.read_text({"said": value}, HERE) == ""
