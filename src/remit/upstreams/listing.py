"""Reading a server's whole list of tools, or of anything else, page by page (R32)."""

from remit.errors import UpstreamError, UpstreamProtocolError
from remit.model.protocol import METHOD_NOT_FOUND
from remit.upstreams.channel import error_code
from remit.upstreams.session import Session
from remit.upstreams.wire import Malformed, elements, members, value_of

MOST_PAGES = 1000

MOST_TOOLS = 5000
"""Tools of one server; naming more of them would hold up every other server."""

LARGEST_LIST = 64 * 1024 * 1024
"""Bytes of all its tools together."""


TOOLS_LIST = "tools/list"


async def read_tools(session: Session) -> tuple[list[bytes], list[str]]:
    """Return every tool that the server lists, as `read_list` does."""
    return await read_list(session, TOOLS_LIST, "tools")


async def read_list(session: Session, method: str, member: str) -> tuple[list[bytes], list[str]]:
    """Return every entry that the server lists, as raw JSON, with notes on what looked odd.

    A server that does not know the method has an empty list.

    Args:
        session: With the server.
        method: Whose result is a page of the list.
        member: Where in it the entries are.

    Raises:
        UpstreamError: A page cannot be had.
    """
    cut = "its list was cut" if method == TOOLS_LIST else f"its {method} was cut"
    listed: list[bytes] = []
    known: set[bytes] = set()
    cursors: set[str] = set()
    cursor: str | None = None
    size = 0
    for number in range(1, MOST_PAGES + 1):
        try:
            page, cursor = _page(await session.list_page(cursor, method), method, member)
        except UpstreamError as error:
            if number == 1 and error_code(error) == METHOD_NOT_FOUND:
                return [], [f"the server has no {method}"]
            if cursor == "" and isinstance(error, UpstreamProtocolError):
                return listed, []  # many servers write an empty cursor for none
            raise
        if page and known.issuperset(page):
            if "" in cursors:
                return listed, []
            return listed, [f"{cut} at page {number}, which only repeats earlier ones"]
        size += sum(map(len, page))
        listed += page
        known.update(page)
        if len(listed) > MOST_TOOLS or size > LARGEST_LIST:
            return _beginning(listed), [f"{cut} at page {number}, which makes it too long"]
        if cursor is None:
            return listed, []
        if cursor in cursors:
            return listed, [f"{cut} at page {number}, whose cursor came before"]
        cursors.add(cursor)
    return listed, [f"{cut} after {MOST_PAGES} pages"]


def _beginning(listed: list[bytes]) -> list[bytes]:
    """Return the first entries, as many as may be."""
    kept: list[bytes] = []
    size = 0
    for entry in listed[:MOST_TOOLS]:
        size += len(entry)
        if size > LARGEST_LIST:
            break
        kept.append(entry)
    return kept


def _page(result: bytes, method: str, member: str) -> tuple[list[bytes], str | None]:
    """Return the entries of one page and the cursor of the next; an empty cursor is one."""
    try:
        parts = members(result)
        entries = parts.get(member, b"")
        listed = [] if entries == b"null" else elements(entries)  # Go's empty list
        cursor = value_of(parts.get("nextCursor", b"null"))
    except Malformed as error:
        raise UpstreamProtocolError(f"answered {method} with nonsense: {error}") from error
    if cursor is not None and not isinstance(cursor, str):
        raise UpstreamProtocolError(f"answered {method} with a cursor that is no text")
    return listed, cursor
