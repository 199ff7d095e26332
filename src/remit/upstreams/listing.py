"""Reading a server's whole list of tools, page by page (R32)."""

from mcp_types import METHOD_NOT_FOUND

from remit.errors import UpstreamError, UpstreamProtocolError
from remit.upstreams.channel import error_code
from remit.upstreams.session import Session
from remit.upstreams.wire import Malformed, elements, members, value_of

MOST_PAGES = 1000

MOST_TOOLS = 5000
"""Tools of one server; naming more of them would hold up every other server."""

LARGEST_LIST = 64 * 1024 * 1024
"""Bytes of all its tools together."""


async def read_tools(session: Session) -> tuple[list[bytes], list[str]]:
    """Return every tool that the server lists, as raw JSON, with notes on what looked odd.

    A server that has no tools at all has an empty list.

    Raises:
        UpstreamError: A page cannot be had.
    """
    tools: list[bytes] = []
    known: set[bytes] = set()
    cursors: set[str] = set()
    cursor: str | None = None
    size = 0
    for number in range(1, MOST_PAGES + 1):
        try:
            page, cursor = _page(await session.list_page(cursor))
        except UpstreamError as error:
            if number == 1 and error_code(error) == METHOD_NOT_FOUND:
                return [], ["the server has no tools/list"]
            raise
        if page and known.issuperset(page):
            return tools, [f"its list was cut at page {number}, which only repeats earlier ones"]
        size += sum(map(len, page))
        tools += page
        known.update(page)
        if len(tools) > MOST_TOOLS or size > LARGEST_LIST:
            return _beginning(tools), [
                f"its list was cut at page {number}, which makes it too long"
            ]
        if cursor is None:
            return tools, []
        if cursor in cursors:
            return tools, [f"its list was cut at page {number}, whose cursor came before"]
        cursors.add(cursor)
    return tools, [f"its list was cut after {MOST_PAGES} pages"]


def _beginning(tools: list[bytes]) -> list[bytes]:
    """Return the first tools, as many as may be."""
    kept: list[bytes] = []
    size = 0
    for tool in tools[:MOST_TOOLS]:
        size += len(tool)
        if size > LARGEST_LIST:
            break
        kept.append(tool)
    return kept


def _page(result: bytes) -> tuple[list[bytes], str | None]:
    """Return the tools of one page and the cursor of the next; an empty cursor is one."""
    try:
        parts = members(result)
        tools = elements(parts.get("tools", b"null"))
        cursor = value_of(parts.get("nextCursor", b"null"))
    except Malformed as error:
        raise UpstreamProtocolError(f"answered tools/list with nonsense: {error}") from error
    if cursor is not None and not isinstance(cursor, str):
        raise UpstreamProtocolError("answered tools/list with a cursor that is no text")
    return tools, cursor
