"""What a shape of configuration file is: how it is known, and how its servers are found."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from remit.admin.imports.notes import Notebook, RawServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One shape that files have.

    Attributes:
        name: For people.
        recognises: Whether a document has this shape.
        read: Gives its servers, and notes what else it finds.
        sections: Top-level keys that it looks into; the others are noted as left out. None where
            every key belongs to it.
    """

    name: str
    recognises: Callable[[Mapping[str, object]], bool]
    read: Callable[[Mapping[str, object], Notebook], Iterator[RawServer]]
    sections: frozenset[str] | None
