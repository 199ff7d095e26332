"""What a server offers beside tools: prompts, resources and templates of resources.

Policy knows each as the pair of its server and a name that says its kind: `prompt:NAME`, or
`resource:URI` with the URI, or the text of the template, as the server writes it. So patterns,
grants, limits and the record speak of them as they do of tools (R10, R15).
"""

from dataclasses import dataclass, field
from enum import StrEnum

from remit.model.tools import ToolId


class Kind(StrEnum):
    """What a request is about; the value begins the names of all kinds but tools."""

    TOOL = "tool"
    PROMPT = "prompt"
    RESOURCE = "resource"

    def id(self, server: str, own: str) -> ToolId:
        """Return what policy decides on: *own* is the server's name or URI of it."""
        return ToolId(server, own if self is Kind.TOOL else f"{self.value}:{own}")


def kind_of(name: str) -> Kind:
    """Return the kind of what *name*, the second half of an identity, means."""
    head, colon, _ = name.partition(":")
    return Kind(head) if colon and head in (Kind.PROMPT, Kind.RESOURCE) else Kind.TOOL


def own_name(item: ToolId) -> str:
    """Return the server's name or URI of *item*."""
    kind = kind_of(item.name)
    return item.name if kind is Kind.TOOL else item.name[len(kind.value) + 1 :]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A prompt, a resource or a template, as its server offers it.

    Attributes:
        wire: The server's own JSON object for it, as UTF-8 bytes, unaltered.
        required: Names of the arguments that a prompt cannot do without.
    """

    id: ToolId
    wire: bytes = field(repr=False)
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """All that one server offers beside tools.

    Attributes:
        has_resources: Whether it says that it has resources, be they listed or not.
        completes: Whether it completes arguments.
        subscribable: Whether it tells of updates to a resource.
    """

    prompts: tuple[Item, ...] = ()
    resources: tuple[Item, ...] = ()
    templates: tuple[Item, ...] = ()
    has_resources: bool = False
    completes: bool = False
    subscribable: bool = False

    @property
    def items(self) -> tuple[Item, ...]:
        """Return everything in it."""
        return (*self.prompts, *self.resources, *self.templates)
