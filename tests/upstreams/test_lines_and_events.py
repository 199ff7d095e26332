from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from remit.model.event_stream import Event, Events
from remit.model.lines import Lines, TooLong


def _pieces(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    ends = sorted({cut % (len(data) + 1) for cut in cuts} | {len(data)})
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@given(
    st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line)),
    st.lists(st.integers(0)),
)
def test_lines_do_not_depend_on_how_they_arrive(
    lines: Sequence[bytes], cuts: Sequence[int]
) -> None:
    data = b"".join(line + b"\n" for line in lines)
    feeder = Lines(100)
    found = [line for piece in _pieces(data, cuts) for line in feeder.feed(piece)]
    assert found == [line.removesuffix(b"\r") for line in lines]


@given(st.lists(st.integers(0)))
def test_a_byte_order_mark_before_the_first_line_is_no_part_of_it(cuts: Sequence[int]) -> None:
    mark = b"\xef\xbb\xbf"
    feeder = Lines(100)
    pieces = _pieces(mark + b"one\r\n" + mark + b"two\n", cuts)
    assert [line for piece in pieces for line in feeder.feed(piece)] == [b"one", mark + b"two"]


@given(st.lists(st.integers(0)))
def test_a_line_that_is_too_long_is_dropped_alone(cuts: Sequence[int]) -> None:
    data = b"one\n" + b"HEAD" + b"x" * 5000 + b"TAIL\n" + b"two\n"
    feeder = Lines(1000)
    found = [line for piece in _pieces(data, cuts) for line in feeder.feed(piece)]
    assert found[0] == b"one"
    assert found[2] == b"two"
    dropped = found[1]
    assert isinstance(dropped, TooLong)
    assert dropped.size == 5008
    assert dropped.head.startswith(b"HEAD")
    assert dropped.tail.endswith(b"TAIL")
    assert len(dropped.head) + len(dropped.tail) <= 1024


STREAM = (
    b"\xef\xbb\xbf: a comment\r\n"
    b"event: endpoint\r\ndata: /messages?x=1\r\n\r\n"
    b"\n"
    b'id: 7\nretry: 10\ndata: {"a":\ndata:1}\n\n'
    b"event: nothing\n\n"
    b"data: last\n\n"
)


EVENTS = [
    Event(name="message", data=b'{"a":\n1}', position="7", retry=0.01),
    Event(name="message", data=b"last", position="7", retry=0.01),
]


@given(st.lists(st.integers(0)), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_events_do_not_depend_on_how_they_arrive(cuts: Sequence[int], ending: bytes) -> None:
    stream = STREAM.replace(b"\r\n", b"\n").replace(b"\n", ending)
    feeder = Events(100)
    found = [
        event
        for whole in (stream, STREAM)  # the endings may change
        for piece in _pieces(whole, cuts)
        for event in feeder.feed(piece)
    ]
    assert found == [
        Event(name="endpoint", data=b"/messages?x=1"),
        *EVENTS,
        Event(name="endpoint", data=b"/messages?x=1", position="7", retry=0.01),
        *EVENTS,
    ]


def test_an_event_that_is_too_long_is_dropped_alone() -> None:
    feeder = Events(100)
    one_line = feeder.feed(b"data: " + b"x" * 200 + b"\n\n")
    many_lines = feeder.feed((b"data: " + b"y" * 60 + b"\n") * 3 + b"\n")
    assert [type(event.data) for event in one_line + many_lines] == [TooLong, TooLong]
    assert feeder.feed(b"data: next\n\n") == [Event(name="message", data=b"next")]
