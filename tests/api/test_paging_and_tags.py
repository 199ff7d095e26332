"""Pages neither repeat nor lose what stays; tags match exactly what was seen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.doors.api.paging import cursor_at, cut, position
from remit.doors.api.preconditions import require_match, require_tag, revision_tag
from remit.doors.asgi import HttpRefusal
from remit.errors import BadCall

NAMES = st.sets(st.text(max_size=8), max_size=30)


@given(names=NAMES, gone=NAMES, come=NAMES, limit=st.integers(1, 7))
def test_what_stays_is_in_exactly_one_page_whatever_comes_and_goes_meanwhile(
    names: set[str], gone: set[str], come: set[str], limit: int
) -> None:
    now, seen = set(names), list[str]()
    cursor: str | None = None
    while True:
        page = cut(list(now), str, of="names", cursor=cursor, limit=limit)
        seen += page.items
        cursor, now = page.next, (names - gone) | come
        if cursor is None:
            break

    assert len(seen) == len(set(seen))
    assert names - gone <= set(seen)
    assert seen == sorted(seen)


@given(place=st.text(max_size=40))
def test_a_cursor_means_its_place_in_its_own_list_alone(place: str) -> None:
    cursor = cursor_at(place, of="keys")

    assert position(cursor, of="keys") == place
    with pytest.raises(BadCall):
        position(cursor, of="roles")


@given(text=st.text(max_size=60))
def test_any_other_text_is_no_cursor(text: str) -> None:
    with pytest.raises(BadCall):
        position(text, of="keys")


@pytest.mark.parametrize("tags", ['"r3"', '"r1", "r3"', ' "r3" ', "*", '"r1","r3"'])
def test_a_tag_that_was_seen_lets_a_change_pass(tags: str) -> None:
    require_match(tags, revision_tag(3))


@pytest.mark.parametrize(
    ("tags", "status"),
    [
        (None, 428),
        ('"r2"', 412),
        ('W/"r3"', 412),
        ('"r33"', 412),
        ("r3", 400),
        ('"r3', 400),
        ("", 400),
        ('"r3" "r4"', 400),
        ('*, "r3"', 400),
    ],
)
def test_no_other_tag_does(tags: str | None, status: int) -> None:
    with pytest.raises(HttpRefusal) as refused:
        require_match(require_tag(tags), revision_tag(3))

    assert refused.value.status == status
