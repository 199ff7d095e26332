from pathlib import Path

import pytest

from remit.errors import UpstreamError, UpstreamProtocolError, UpstreamUnavailable
from remit.model.servers import ServerState
from remit.testing.fleets import call_tool, open_servers, status_of
from remit.testing.upstream import fixture_server_config, received
from remit.upstreams.era import Era
from remit.upstreams.listing import LARGEST_LIST, MOST_TOOLS, read_tools
from remit.upstreams.session import ToolCall

NAMES = [f"tool{number}" for number in range(7)]


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_every_page_is_read(ran: Path, era: str) -> None:  # R32
    options = ("--page-size", "3", "--era", era)
    async with open_servers(fixture_server_config("s", NAMES, ran, options=options)) as fleet:
        assert [tool.name for tool in fleet.catalogue.by_server["s"]] == NAMES
        assert [m["params"].get("cursor") for m in received(ran, "tools/list")] == [None, "3", "6"]
        assert b"tool6" in await call_tool(fleet, "s", "tool6")


@pytest.mark.parametrize("fault", ["repeat", "endless"])
async def test_a_cursor_that_leads_nowhere_is_followed_no_further(ran: Path, fault: str) -> None:
    options = ("--page-size", "4", "--page-fault", fault)
    async with open_servers(fixture_server_config("s", NAMES, ran, options=options)) as fleet:
        status = status_of(fleet, "s")
        assert status.state is ServerState.READY
        assert [tool.name for tool in fleet.catalogue.by_server["s"]] == NAMES[:4]
        assert "its list was cut at page 2" in " ".join(status.notes)
        assert len(received(ran, "tools/list")) == 2


async def test_an_empty_cursor_is_a_cursor(ran: Path) -> None:
    # Only its absence ends the list.
    options = ("--page-size", "4", "--page-fault", "empty")
    async with open_servers(fixture_server_config("s", NAMES, ran, options=options)) as fleet:
        assert [tool.name for tool in fleet.catalogue.by_server["s"]] == NAMES
        assert [m["params"].get("cursor") for m in received(ran, "tools/list")] == [None, ""]


async def test_a_server_without_tools_is_up_all_the_same(ran: Path) -> None:
    async with open_servers(fixture_server_config("s", [], ran)) as fleet:
        assert status_of(fleet, "s").state is ServerState.READY
        assert fleet.catalogue.by_server == {"s": ()}


@pytest.mark.parametrize(("size", "kept"), [(0, MOST_TOOLS), (LARGEST_LIST // 10, 9)])
async def test_a_list_without_end_is_cut(size: int, kept: int) -> None:
    # Naming two hundred thousand tools kept every other server waiting for minutes.
    page = [
        f'{{"name":"t{n}","inputSchema":{{}},"description":"{"x" * size}"}}'
        for n in range(11 if size else 2 * MOST_TOOLS)
    ]
    listed = b'{"tools":[%s]}' % ",".join(page).encode()

    tools, notes = await read_tools(_Listed(listed))

    assert len(tools) == kept
    assert notes == ["its list was cut at page 1, which makes it too long"]


ONE = b'{"name":"t","inputSchema":{}}'
LAST = b'{"tools":[%s],"nextCursor":""}' % ONE


async def test_an_empty_cursor_for_none_is_no_fault() -> None:
    # Whoever ignores a cursor repeats the page; whoever looks it up has none.
    refusing = _Listed(LAST, beyond=UpstreamProtocolError("answered with error -32602"))

    assert await read_tools(_Listed(LAST)) == ([ONE], [])
    assert await read_tools(refusing) == ([ONE], [])


async def test_a_page_behind_an_empty_cursor_that_cannot_be_had_fails_the_list() -> None:
    with pytest.raises(UpstreamUnavailable):
        await read_tools(_Listed(LAST, beyond=UpstreamUnavailable("is gone")))


async def test_null_is_an_empty_list() -> None:
    assert await read_tools(_Listed(b'{"tools":null}')) == ([], [])
    with pytest.raises(UpstreamProtocolError, match="nonsense"):
        await read_tools(_Listed(b"{}"))


class _Listed:
    """A server that lists one page, whatever it is asked for."""

    era = Era.modern()

    def __init__(self, page: bytes, *, beyond: UpstreamError | None = None) -> None:
        self._page = page
        self._beyond = beyond

    async def list_page(self, cursor: str | None, method: str, /) -> bytes:
        del method
        if cursor is not None and self._beyond is not None:
            raise self._beyond
        return self._page

    async def watch(self, uris: frozenset[str], /) -> dict[str, UpstreamError]:
        raise NotImplementedError(uris)

    async def call(self, call: ToolCall, /) -> bytes:
        raise NotImplementedError(call)
