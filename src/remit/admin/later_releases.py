"""What the contract knows and this version does not act on yet: warned of, never silent."""

from collections.abc import Iterator, Mapping
from typing import cast

from remit.admin.complaints import Location
from remit.admin.schema import ANY

_MEANINGS: Mapping[tuple[str, ...], str] = {
    ("identity", "oidc"): "nobody can sign in to the console",
    ("tenants",): "tenants are made by `remit tenants create`",
    ("data",): "the `data` server is not there",
    ("alerts",): "no alert is ever sent",
    ("mcp_servers", ANY, "tools", ANY, "critical"): "nobody is told of a failure",
}
"""Where it stands, and what its being idle means to whoever wrote it."""


def idle_parts(data: Mapping[str, object]) -> Iterator[tuple[Location, str]]:
    """Give every part of a document that does nothing yet, with what that means."""
    for pattern, meaning in _MEANINGS.items():
        for where in _places(data, pattern, ()):
            yield where, meaning


def _places(value: object, pattern: tuple[str, ...], where: Location) -> Iterator[Location]:
    if not pattern:
        if value:
            yield where
        return
    if not isinstance(value, Mapping):
        return
    for key, inner in cast("Mapping[str, object]", value).items():
        if pattern[0] in (ANY, key):
            yield from _places(inner, pattern[1:], (*where, key))
