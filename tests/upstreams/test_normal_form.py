"""Which spelling of a URI is its normal form (RFC 3986 §6.2.2, RFC 8089)."""

import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.upstreams.normal_form import scheme_with_free_host, why_not_normal

NORMAL = [
    "memo:abc",
    "memo:a:b/c",
    "memo:/a",
    "urn:isbn:0451450523",
    "mailto:ann@example.test",
    "git:main..dev",
    "x://",
    "x:///p/",
    "x://page/7",
    "x://page/7//a/",
    "x://page",
    "wiki://page/1?rev=2&path=src%2Fmain.py",
    "wiki://page/1?filter[name]=a#part",
    "wiki://user:pw@host:8080/x",
    "wiki://page/.hidden/..a/a..",
    "wiki://page/a%20b%C3%A9",
    "x://caf%C3%A9/",
    "repo://file?path=./src",
    "remit://wiki/wiki://page/1",
    "https://example.test/",
    "https://example.test:8443/a?b=/c",
    "http://[::1]:8080/",
    "file:///",
    "file:///docs/a.txt",
    "file:///c:/a%5B1%5D.txt",
]

ODD = [
    ("", "scheme"),
    ("/etc/passwd", "scheme"),
    ("//host/a", "scheme"),
    ("a.txt", "scheme"),
    ("FILE:///a", "scheme"),
    ("Memo:a", "scheme"),
    ("x://Page/7", "host"),
    ("x://page/a b", "character"),
    ("x://page/\u00e9", "character"),
    ("x://page/\n", "character"),
    ("x://page\\a", "character"),
    ("x://page/{id}", "character"),
    ("x://page/%", "hexadecimal"),
    ("x://page/%zz", "hexadecimal"),
    ("x://page/%c3%a9", "hexadecimal"),
    ("x://page/%61", "encoded"),
    ("x://page/%2E%2E/a", "encoded"),
    ("x://page/%7E", "encoded"),
    ("x://page/a%2Fb", "slash"),
    ("x://page/a%5Cb", "slash"),
    ("x://page/a%00", "control"),
    ("memo:a%0Ab", "control"),
    ("x://page/../a", "dot"),
    ("x://page/a/.", "dot"),
    ("x://page/a/..?q", "dot"),
    ("x://./a", "dot"),
    ("memo:..", "dot"),
    ("memo:a/../b", "dot"),
    ("x://page/..;v=1/a", "dot"),
    ("x://page/..%3B/a", "dot"),
    ("x://page/a?/../../b", "dot"),
    ("x://page/a?q=b%2F..%2Fc", "dot"),
    ("x://page/a#/..", "dot"),
    ("x://page//a", "two slashes"),
    ("x:////a", "two slashes"),
    ("x://page:/a", "port"),
    ("x://page:080/a", "port"),
    ("http://example.test:80/", "port"),
    ("https://example.test", "path"),
    ("https:/example.test/a", "host"),
    ("https:///a", "host"),
    ("https://ann@example.test/", "user"),
    ("file:a", "file:///"),
    ("file:/a", "file:///"),
    ("file://localhost/a", "file:///"),
    ("file://elsewhere/a", "file:///"),
    ("file:////a", "two slashes"),
    ("file:///a//b", "two slashes"),
    ("file:///a/", "two slashes"),
    ("file:///a?", "query"),
    ("file:///a?b", "query"),
    ("file:///a#", "fragment"),
]


@pytest.mark.parametrize("uri", NORMAL)
def test_what_is_its_own_normal_form(uri: str) -> None:
    assert why_not_normal(uri) is None


@pytest.mark.parametrize(("uri", "why"), ODD)
def test_every_other_spelling_is_told_why(uri: str, why: str) -> None:
    assert why in (why_not_normal(uri) or "")


@pytest.mark.parametrize(
    ("template", "scheme"),
    [
        ("greeting://{name}", "greeting"),
        ("note://a-{name}/x", "note"),
        ("note://{+path}", "note"),
        ("db://prod{/table}", None),
        ("db://prod{?q}", None),
        ("db://prod/{table}", None),
        ("https://{host}/", None),
        ("file:///{+path}", None),
        ("{+uri}", None),
        ("memo:{id}", None),
    ],
)
def test_where_a_template_has_a_value_for_a_host_its_letter_case_is_the_servers(
    template: str, scheme: str | None
) -> None:
    assert scheme_with_free_host(template) == scheme


def test_a_free_host_is_free_in_its_case_alone() -> None:
    free = frozenset({"greeting"})

    assert why_not_normal("greeting://World", free) is None
    assert why_not_normal("greeting://World/../a", free) == "it holds a dot segment"
    assert why_not_normal("Greeting://World", free) == "its scheme is not in lower case"
    assert why_not_normal("other://World", free) == "its host is not in lower case"


@given(st.text(alphabet="a./\\%2EeFf5Cc;?#:", max_size=16))
def test_nothing_normal_is_a_way_out_of_a_folder(tail: str) -> None:
    uri = f"file:///docs/{tail}"
    if why_not_normal(uri) is None:
        seen = unquote(uri)
        assert not re.search(r"(^|[/\\?#])\.\.?($|[/\\?#;])", seen.removeprefix("file:///"))
        assert "//" not in seen.removeprefix("file://")
