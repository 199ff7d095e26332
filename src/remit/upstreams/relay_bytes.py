"""The head of a request as bytes: what nothing varies in is made once, and nothing is injected."""

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import SplitResult, quote, unquote, urlsplit

_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNSAFE = re.compile(r"[\r\n\x00]")
_IN_PATH = "/%:@!$&'()*+,;=~"
_IN_QUERY = _IN_PATH + "?"
_FRAMING = frozenset(
    {
        *("connection", "content-length", "expect", "keep-alive", "proxy-connection"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
    }
)
"""What only the connection itself may say; people copy such fields from elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a URL leads.

    Attributes:
        authority: `host:port` as the Host field has it, without a default port.
        resource: Path and query, percent-encoded.
        login: The value of an Authorization field for the URL's user and password, or empty.
    """

    is_tls: bool
    host: str
    port: int
    authority: str
    resource: str = field(repr=False)
    login: str = field(repr=False)

    @classmethod
    def parse(cls, url: str) -> Self:
        """Take a URL apart.

        Raises:
            ValueError: It is no `http` or `https` URL of a host.
        """
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError("no URL of http or https")
        host = parts.hostname.encode("idna").decode("ascii")
        default = _PORTS[parts.scheme]
        port = default if parts.port is None else parts.port
        name = f"[{host}]" if ":" in host else host
        query = f"?{quote(parts.query, safe=_IN_QUERY)}" if parts.query else ""
        return cls(
            is_tls=parts.scheme == "https",
            host=host,
            port=port,
            authority=name if port == default else f"{name}:{port}",
            resource=(quote(parts.path, safe=_IN_PATH) or "/") + query,
            login=_login(parts),
        )


class RequestHead:
    """The head of a request, all but its length.

    Attributes:
        fixed: It as bytes.

    Args:
        fields: In groups; of two for one name, the later group's is sent.

    Raises:
        ValueError: A field cannot be sent as it is.
    """

    def __init__(self, method: str, target: Target, fields: Iterable[Mapping[str, str]]) -> None:
        own = {"Host": target.authority}
        if target.login:
            own["Authorization"] = target.login
        self._first = f"{method} {target.resource} HTTP/1.1\r\n".encode("ascii")
        self._fields = _merged((own, *fields))
        self._taken = self._fields.keys() | _FRAMING
        self.fixed = self._first + _lines(self._fields.values())

    def with_fields(self, more: Mapping[str, str]) -> bytes:
        """Return the head with *more* fields, which win over its own.

        Raises:
            ValueError: One of them cannot be sent as it is.
        """
        if not more:
            return self.fixed
        if self._taken.isdisjoint(map(str.lower, more)):
            return self.fixed + _lines(more.items())
        merged = {**self._fields, **_merged((more,))}
        return self._first + _lines(merged.values())


def _merged(groups: Iterable[Mapping[str, str]]) -> dict[str, tuple[str, str]]:
    """Return name and value of each field by its name in lower case."""
    found = {name.lower(): (name, value) for group in groups for name, value in group.items()}
    return {name: pair for name, pair in found.items() if name not in _FRAMING}


def _lines(fields: Iterable[tuple[str, str]]) -> bytes:
    lines: list[str] = []
    for name, value in fields:
        if _NAME.fullmatch(name) is None or _UNSAFE.search(value) is not None:
            raise ValueError("a field that would not arrive as it is")
        lines.append(f"{name}: {value}\r\n")
    return "".join(lines).encode("latin-1")


def _login(parts: SplitResult) -> str:
    if parts.username is None and parts.password is None:
        return ""
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return "Basic " + base64.b64encode(pair.encode()).decode("ascii")
