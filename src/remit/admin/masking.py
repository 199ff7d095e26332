"""What a declaration shows of itself to administrators: no secret that stands in it in clear (T19).

A declaration should hold references (`${NAME}`), and those are shown. Where it holds the values
themselves, `[redacted]` is shown instead, and whoever sends that back unchanged keeps the value.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, cast

from remit.admin.nested import mapping_at
from remit.admin.secrets_in_clear import is_secret, secret_arguments, without_scheme
from remit.admin.yaml_source import child_path
from remit.calls.redact import REDACTED, redacted_text

_REFERENCE: Final = re.compile(r"\$\{(?:env:)?[A-Za-z_][A-Za-z0-9_]*\}")
"""A reference without a default, which may be a secret itself."""

_ADDRESS: Final = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)?(?P<user>[^/?#]*@)?(?P<rest>[^?#]*)"
    r"(?P<query>\?[^#]*)?(?P<fragment>#.*)?",
    re.DOTALL,
)
_FREE: Final = frozenset({"data", "tenants", "identity"})
"""Sections in which any key may name a secret."""

_VALUES: Final = frozenset({"env", "headers"})
"""Parts of a server whose values are nobody's business but the server's."""


def masked(document: Mapping[str, object]) -> dict[str, object]:
    """Return *document* as it may be shown."""
    shown: dict[str, object] = {}
    for section, value in document.items():
        if section == "mcp_servers":
            servers = mapping_at(value).items()
            shown[section] = {name: masked_server(mapping_at(entry)) for name, entry in servers}
        else:
            shown[section] = _by_name("", value) if section in _FREE else _by_shape(value)
    return shown


def masked_server(entry: Mapping[str, object]) -> dict[str, object]:
    """Return a server's entry as it may be shown.

    Of `env` and `headers` only what consists of references, and numbers and switches; of `url`
    neither user nor values of the query; of the rest what does not look like a secret.
    """
    return {key: _field(key, value) for key, value in entry.items()}


def restored(entry: Mapping[str, object], stored: Mapping[str, object]) -> dict[str, object]:
    """Return a server's entry with the stored value wherever it was sent back as it was shown.

    Any other text with a mask in it is left, for the declaration's rules to refuse.
    """
    return cast("dict[str, object]", _put_back(entry, masked_server(stored), stored))


def restored_document(
    document: Mapping[str, object], stored: Mapping[str, object]
) -> dict[str, object]:
    """Do the same for a whole document, in every section of it."""
    return cast("dict[str, object]", _put_back(document, masked(stored), stored))


def masks_left(document: object, stored: object, path: str = "") -> Iterator[str]:
    """Give the paths at which a mask stands for nothing that is *stored* there.

    A text that was stored with such a word in it is what it was.
    """
    if isinstance(document, str):
        if REDACTED in document and document != stored:
            yield path
    elif isinstance(document, Mapping):
        values = mapping_at(stored)
        for key, value in cast("Mapping[str, object]", document).items():
            yield from masks_left(value, values.get(key), child_path(path, key))
    elif isinstance(document, list):
        items = cast("list[object]", document)
        pairs = zip_longest(items, _list(stored)[: len(items)])
        for place, (item, value) in enumerate(pairs):
            yield from masks_left(item, value, child_path(path, place))


def _put_back(new: object, shown: object, stored: object) -> object:
    if isinstance(new, str):
        return stored if REDACTED in new and new == shown else new
    if isinstance(new, Mapping):
        masks, values = mapping_at(shown), mapping_at(stored)
        return {
            key: _put_back(value, masks.get(key), values.get(key))
            for key, value in cast("Mapping[str, object]", new).items()
        }
    if isinstance(new, list):
        items = cast("list[object]", new)
        return [
            _put_back(item, mask, value)
            for item, mask, value in _paired(items, _list(shown), _list(stored))
        ]
    return new


def _paired(
    items: list[object], shown: list[object], stored: list[object]
) -> Iterator[tuple[object, object, object]]:
    """Give each item with what stands for it in *shown* and *stored*.

    An entry with names of its own may have moved: it is the one that is shown just so. One that
    was changed as well is only known by its place, in a list of which nothing was taken out.
    """
    for place, item in enumerate(items):
        at = place if place < len(shown) else None
        if isinstance(item, Mapping):
            same = [number for number, mask in enumerate(shown) if mask == item]
            at = same[0] if same else at if len(items) == len(shown) else None
        yield (item, None, None) if at is None else (item, shown[at], stored[at])


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _field(key: str, value: object) -> object:
    if key in _VALUES and isinstance(value, Mapping):
        values = cast("Mapping[str, object]", value)
        return {name: _value(one) for name, one in values.items()}
    if key == "args" and isinstance(value, list):
        return _arguments(cast("list[object]", value))
    if key == "url" and isinstance(value, str):
        return _ADDRESS.sub(_address, value, count=1)
    return _by_shape(value)


def _value(value: object) -> object:
    """Return a value of which only references, numbers and switches are shown."""
    if not isinstance(value, str):
        return value
    return REDACTED if without_scheme(_REFERENCE.sub("", value)) else value


def _arguments(args: list[object]) -> Sequence[object]:
    # A default is no reference: `${NAME:-secret}` shows it.
    opened = [_REFERENCE.sub("", str(one)).replace("${", "") for one in args]
    secret = set(secret_arguments(opened))
    return [REDACTED if at in secret else _by_shape(one) for at, one in enumerate(args)]


def _address(parts: re.Match[str]) -> str:
    user = f"{REDACTED}@" if parts["user"] else ""
    fragment = f"#{REDACTED}" if parts["fragment"] else ""
    query = "&".join(map(_query_part, (parts["query"] or "")[1:].split("&")))
    rest = redacted_text(parts["rest"])
    return f"{parts['scheme'] or ''}{user}{rest}{'?' if parts['query'] else ''}{query}{fragment}"


def _query_part(part: str) -> str:
    name, equals, value = part.partition("=")
    if not equals:
        return REDACTED if _REFERENCE.sub("", part) else part
    return f"{name}={_value(value)}"


def _by_shape(value: object) -> object:
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        return {key: _by_shape(member) for key, member in members.items()}
    if isinstance(value, list):
        return [_by_shape(item) for item in cast("list[object]", value)]
    return redacted_text(value) if isinstance(value, str) else value


def _by_name(name: str, value: object) -> object:
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        return {key: _by_name(key, member) for key, member in members.items()}
    if isinstance(value, list):
        return [_by_name(name, item) for item in cast("list[object]", value)]
    if isinstance(value, str) and is_secret(name, value):
        return REDACTED
    return _by_shape(value)
