"""What resources are called on the endpoint of all servers (R1-R3)."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.model.contents import Kind
from remit.model.tools import ToolId
from remit.upstreams.uris import Uris, qualified

SERVERS = ("a", "b")


def resource(server: str, uri: str) -> ToolId:
    return Kind.RESOURCE.id(server, uri)


def test_a_uri_of_one_server_stays_and_one_of_two_says_whose_it_is() -> None:
    mine, ours, theirs = resource("a", "x://1"), resource("a", "x://2"), resource("b", "x://2")
    uris = Uris.build([mine, ours, theirs])

    assert uris.published(mine) == "x://1"
    assert uris.published(ours) == "remit://a/x://2"
    assert uris.published(theirs) == "remit://b/x://2"
    assert uris.find("x://1", None, SERVERS) == (mine,)
    assert uris.find("x://2", None, SERVERS) == (ours, theirs)
    assert uris.find("remit://b/x://2", None, SERVERS) == (theirs,)
    assert uris.find("remit://b/x://99", None, SERVERS) == (resource("b", "x://99"),)
    assert uris.find("remit://b/x://2", "b", SERVERS) == (theirs,)
    assert uris.find("x://2", "b", SERVERS) == (theirs,)


def test_what_looks_like_another_server_s_form_is_never_taken_for_it() -> None:
    victim, spoof = resource("a", "x://1"), resource("b", "remit://a/x://1")
    uris = Uris.build([victim, spoof])

    assert uris.published(spoof) == "remit://b/remit://a/x://1"
    assert uris.find("remit://a/x://1", None, SERVERS) == (victim,)
    assert uris.find(uris.published(spoof), None, SERVERS) == (spoof,)


def test_templates_that_make_the_same_uris_say_whose_they_are() -> None:
    one, other = resource("a", "x://{id}"), resource("b", "x://{name}")
    longer = resource("b", "x://{name}/history")
    uris = Uris.build([one, other, longer])

    assert [uris.published(item) for item in (one, other, longer)] == [
        "remit://a/x://{id}",
        "remit://b/x://{name}",
        "x://{name}/history",
    ]
    assert uris.find("x://7/history", None, SERVERS) == (resource("b", "x://7/history"),)
    assert uris.find("x://7", None, SERVERS) == (resource("a", "x://7"), resource("b", "x://7"))
    assert uris.find("x://{name}/history", None, SERVERS) == (longer,)


@pytest.mark.parametrize(
    ("template", "fitting", "others"),
    [
        ("x://{a}", ["x://1", "x://a/b", "x://"], ["y://1", "x:/1"]),
        ("x://{a}/p/{b}", ["x://1/p/2", "x:///p/"], ["x://1/q/2", "x://p"]),
        ("x://{a}{?q,r}", ["x://1?q=2"], ["z"]),
        ("x://a{b}a", ["x://aa", "x://aba"], ["x://a"]),
    ],
)
def test_a_template_fits_what_has_its_pieces_in_order(
    template: str, fitting: list[str], others: list[str]
) -> None:
    uris = Uris.build([resource("a", template)])

    for uri in fitting:
        assert uris.find(uri, None, SERVERS) == (resource("a", uri),)
    for uri in others:
        assert uris.find(uri, None, SERVERS) == ()


def test_what_is_not_listed_is_meant_by_its_normal_form_only() -> None:
    odd, template = resource("a", "X://1/../2"), resource("a", "x://{name}")
    uris = Uris.build([odd, template], declared=[resource("b", "y://1/../2")])

    assert uris.find("X://1/../2", None, SERVERS) == (odd,)
    assert uris.find("x://World", None, SERVERS) == (resource("a", "x://World"),)
    assert uris.find_unlisted("z://1", SERVERS, SERVERS) == (
        resource("a", "z://1"),
        resource("b", "z://1"),
    )
    for uri in ("x://1/../2", "y://1/../2", "remit://a/X://1", "remit://b/X://1/../2"):
        assert uris.find(uri, None, SERVERS) == ()
        assert uris.find(uri, "a" if "//a/" in uri else "b", SERVERS) == ()
        assert uris.find_unlisted(uri, SERVERS, SERVERS) == ()
        assert uris.why_unknown(uri, None, SERVERS)
    assert uris.find_unlisted("remit://b/x://1", SERVERS, SERVERS) == ()
    assert uris.why_unknown("remit://b/x://1", None, SERVERS) is None


def test_names_do_not_depend_on_the_order_in_which_they_were_seen() -> None:
    items = [resource("a", "x://1"), resource("b", "x://1"), resource("b", "x://{i}")]
    tables = [Uris.build(order) for order in permutations(items)]

    assert len({tuple(table.published(item) for item in items) for table in tables}) == 1


URI = st.text(alphabet="ax:/{}remit", min_size=1, max_size=24)


@given(st.lists(st.tuples(st.sampled_from(SERVERS), URI), max_size=8))
def test_every_published_name_is_unique_and_means_its_resource(
    known: list[tuple[str, str]],
) -> None:
    items = {resource(server, uri) for server, uri in known}
    uris = Uris.build(items)
    published = {item: uris.published(item) for item in items}

    assert len(set(published.values())) == len(items)
    for item, name in published.items():
        assert uris.find(name, None, SERVERS) == (item,)
        own = item.name.removeprefix("resource:")
        assert uris.find(qualified(item.server, own), None, SERVERS) == (item,)
