"""Pages neither repeat nor lose what stays; tags match exactly what was seen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.doors.api.paging import cursor_at, cut, position, read
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


@given(names=NAMES, place=st.none() | st.text(max_size=8), limit=st.integers(1, 7))
async def test_a_page_that_is_read_is_the_one_that_is_cut(
    names: set[str], place: str | None, limit: int
) -> None:
    asked: list[int] = []

    async def after(name: str | None, most: int) -> list[str]:
        asked.append(most)
        return [each for each in sorted(names) if name is None or each > name][:most]

    cursor = None if place is None else cursor_at(place, of="names")

    found = await read(after, str, of="names", cursor=cursor, limit=limit)

    assert found == cut(list(names), str, of="names", cursor=cursor, limit=limit)
    assert asked == [limit + 1]


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
