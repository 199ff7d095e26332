"""Bodies of items, and the typed values that they are read as."""

import json
from collections.abc import Mapping
from typing import TypeVar, cast

import msgspec

from remit.model.ontology import Item

Value = TypeVar("Value")


def read_body(item: Item, kind: type[Value]) -> Value:
    """Return the body of *item* as a value; fields that it has no place for are left out.

    Raises:
        msgspec.ValidationError: A field holds what it never should; that was not written here.
    """
    return msgspec.convert(item.body, kind)


def body_of(value: object) -> Mapping[str, object]:
    """Return a value as the body of an item, as it comes back when it was stored."""
    plain = json.loads(json.dumps(msgspec.to_builtins(value)))  # lists for tuples
    return cast("Mapping[str, object]", plain)
