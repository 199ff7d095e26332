"""What a kind of things is that the ontology states, and what a field of its form is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from remit.client.operations import Operation, Page

LINES: Final = "lines"
"""A field of several texts, one a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of the form of a kind.

    Attributes:
        name: As the API has it.
        look: `text`, `area`, `code`, `select` or `lines`.
        options: Of a `select`.
        can_clear: Whether an empty field takes away what is said; otherwise that stays.
    """

    name: str
    label: str
    look: str = "area"
    hint: str = ""
    options: Sequence[str | tuple[str, str]] = ()
    can_clear: bool = False
    is_required: bool = False

    def shown(self, value: Any) -> str:
        """Return what the form shows of a value of the API."""
        if value is None:
            return ""
        return "\n".join(value) if self.look == LINES else str(value)

    def given(self, text: str) -> str | list[str] | None:
        """Return what the API is given of a text of the form; None where nothing is said."""
        if self.look == LINES:
            return [line.strip() for line in text.splitlines() if line.strip()]
        return text if text or self.can_clear else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of thing.

    Attributes:
        key: In paths.
        tab: Of the page.
        noun: What people call one, with an article in *article*.
        named_by: Labels of what tells one from another.
        names: Returns those of a thing.
        empty: What to do where there is none.
        has_id: Whether a new one is given its name by the gateway.
    """

    key: str
    tab: str
    title: str
    noun: str
    article: str
    named_by: Sequence[str]
    names: Callable[[Any], Sequence[str]]
    fields: Sequence[Field]
    empty: str
    list_all: Callable[..., Operation[Page[Any]]]
    get: Callable[..., Operation[Any]]
    put: Callable[..., Operation[Any]]
    remove: Callable[..., Operation[Any]]
    has_id: bool = False

    def entered(self, value: Any) -> Mapping[str, str]:
        """Return what the fields of the form show of a thing; nothing of None."""
        return {
            each.name: "" if value is None else each.shown(getattr(value, each.name))
            for each in self.fields
        }

    def body(self, entered: Mapping[str, str]) -> Mapping[str, Any]:
        """Return what the API is sent of what was entered."""
        given = {each.name: each.given(entered[each.name]) for each in self.fields}
        return {name: value for name, value in given.items() if value is not None}
