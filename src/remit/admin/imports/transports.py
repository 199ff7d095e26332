"""How a server is reached, in every spelling that people's files have for it."""

import re
from typing import Final, Literal
from urllib.parse import urlsplit

Way = Literal["stdio", "http", "sse"]

_NOISE = re.compile(r"[^a-z0-9]")

SPELLINGS: Final[dict[str, Way]] = {
    "http": "http",
    "https": "http",
    "shttp": "http",
    "streamable": "http",
    "streamablehttp": "http",
    "streamhttp": "http",
    "httpstream": "http",
    "httpstreaming": "http",
    "httponly": "http",
    "httpfirst": "http",
    "remote": "http",
    "sse": "sse",
    "sseonly": "sse",
    "ssefirst": "sse",
    "serversentevents": "sse",
    "stdio": "stdio",
    "local": "stdio",
    "command": "stdio",
}
"""Lower case, letters and digits alone, to the way that is meant."""


def read_transport(word: str) -> Way | None:
    """Return what *word*, such as `streamable_http` or `STDIO`, means; None where nothing known."""
    return SPELLINGS.get(_NOISE.sub("", word.lower()))


def ends_in_sse(url: str) -> bool:
    """Whether an address looks like one of the older transport: its path ends in `/sse`."""
    try:
        return urlsplit(url).path.rstrip("/").endswith("/sse")
    except ValueError:
        return False
