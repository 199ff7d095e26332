"""What is asked of a service and what it answered, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote

Query = Mapping[str, str | int | bool | list[str] | None]
"""Names to values; None leaves one out, a list repeats the name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request.

    Attributes:
        path: Below the base of the service, made with `path_of`.
        body: Sent as JSON; None sends none.
        reads: Whether it changes nothing, so that it may be repeated (R23).
        idempotent: Whether a second one changes nothing more, so that it may be repeated.
        wants: JSON that is decoded, or a text that may be cut off at the cap.
        bucket: Which of the service's rate limits it falls under.
    """

    method: str
    path: str
    query: Query = field(default_factory=dict[str, str])
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    reads: bool = False
    idempotent: bool = False
    wants: Literal["json", "text"] = "json"
    bucket: str = ""

    @property
    def is_repeatable(self) -> bool:
        """Whether a second one does no harm."""
        return self.reads or self.idempotent


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A good answer.

    Attributes:
        headers: Names in lower case.
        data: The decoded JSON; None when there was no body, or a text was wanted.
        text: The body when a text was wanted, otherwise empty.
        truncated: Whether the text goes on beyond the cap.
    """

    status: int
    headers: Mapping[str, str]
    data: object = None
    text: str = ""
    truncated: bool = False


def path_of(*segments: str | int) -> str:
    """Return the path of *segments*, each taken as it is: none can climb or begin a query.

    Raises:
        ValueError: If one is empty, `.` or `..`.
    """
    for segment in segments:
        if str(segment) in {"", ".", ".."}:
            raise ValueError(f"{segment!r} is no name")
    return "/" + "/".join(quote(str(segment), safe="") for segment in segments)
