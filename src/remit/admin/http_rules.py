"""What must hold of the `server` section beyond its types: addresses, networks, origins."""

import ipaddress
from collections.abc import Iterator
from urllib.parse import SplitResult, urlsplit

from remit.admin.complaints import Complaints
from remit.admin.schema import HttpShape
from remit.errors import Problem


def http_problems(complaints: Complaints, shape: HttpShape) -> Iterator[Problem]:
    """Give what is wrong with a well-typed section."""
    if shape.public_url and not _is_plain(_split(shape.public_url)):
        yield complaints.at(
            "bad-value",
            "must be the address of this gateway, such as https://remit.example",
            where=("server", "public_url"),
            remedy="write scheme and host, and a path only if a proxy serves the gateway below one",
        )
    for index, origin in enumerate(shape.allowed_origins):
        parts = _split(origin)
        if not _is_plain(parts) or parts.path.strip("/"):
            yield complaints.at(
                "bad-value",
                "must be an origin, such as https://app.example: no star, no path",
                where=("server", "allowed_origins", index),
                remedy="list each origin whose pages may call",
            )
    for index, proxy in enumerate(shape.trusted_proxies):
        if not _is_network(proxy):
            yield complaints.at(
                "bad-value",
                "must be an address or a network, such as 10.0.0.5 or 10.0.0.0/8",
                where=("server", "trusted_proxies", index),
                remedy="write the addresses that your proxies connect from",
            )


def _split(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port  # asked, it raises for one that is none
    except ValueError:
        return urlsplit("")
    return parts


def _is_plain(parts: SplitResult) -> bool:
    """Whether it is http with a host, and without what has no business in our own address."""
    is_web = parts.scheme in ("http", "https") and bool(parts.hostname)
    text = parts.geturl()
    return is_web and parts.username is None and all(c.isalnum() or c in ":/.-_~[]" for c in text)


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True
