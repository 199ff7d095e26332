"""Pages of GitHub's lists: whether there is another one."""

from remit.servers.rest.requests import Reply


def next_page(reply: Reply, page: int) -> int | None:
    """Return the number of the page after *page*, None when it is the last."""
    return page + 1 if 'rel="next"' in reply.headers.get("link", "") else None
