"""A web service as its settings describe it: where it is, who asks, how long things may take."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

import httpx2

from remit.servers.rest.credentials import Credential


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A web service.

    Attributes:
        name: For messages, such as "GitHub".
        base: Where its API begins, such as `https://host/api/v3`.
        setting: The environment variable that says so, for messages.
        headers: Sent with every request.
        attempt: Seconds one attempt may take that could be followed by another.
        call: Seconds a request may take with all its attempts; an enclosing time limit counts too.
        most_bytes: Of an answer.

    Raises:
        ValueError: If the base is no address of a service; the message is one line.
    """

    name: str
    base: str
    setting: str
    credential: Credential
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    attempt: float = 10.0
    call: float = 30.0
    most_bytes: int = 8 * 1024 * 1024

    def __post_init__(self) -> None:
        """Refuse an address that is none, or that holds a password."""
        parts = parts_of(self.base)
        if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"{self.setting} is no http or https address")
        if "@" in parts.netloc:
            raise ValueError(f"{self.setting} holds a user or password; leave them out of it")
        if parts.query or parts.fragment:
            raise ValueError(f"{self.setting} has a query or fragment; leave it out")

    @property
    def strange(self) -> str:
        """What to say of an answer whose shape is none of the API's (`StrangeShapeError`)."""
        return (
            f"{self.name} answered with JSON of another shape than its API has;"
            f" is {self.setting} right?"
        )

    @property
    def host(self) -> str:
        """The host, with its port where it says one, for messages."""
        return urlsplit(self.base).netloc


def parts_of(url: str) -> SplitResult | None:
    """Return the parts of an address; None when it is none."""
    try:
        httpx2.URL(url)
        parts = urlsplit(url)
        _ = parts.port  # raises when it is out of range
    except (ValueError, httpx2.InvalidURL):
        return None
    return parts
