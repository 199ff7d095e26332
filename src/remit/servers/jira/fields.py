"""Fields of tickets by the names that people know them by."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from remit.servers.errors import ToolError
from remit.servers.rest.fields import Fields, text

EPIC_LINK: Final = "com.pyxis.greenhopper.jira:gh-epic-link"
SPRINT: Final = "com.pyxis.greenhopper.jira:gh-sprint"
TEXT_AREA: Final = "com.atlassian.jira.plugin.system.customfieldtypes:textarea"

_MOST_NAMED: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field.

    Attributes:
        kind: The type of its value, such as `user`; `""` when Jira does not say.
        items: The type of each value of a list.
        custom: What kind of custom field it is; `""` for one of Jira's own.
    """

    id: str
    name: str
    kind: str = ""
    items: str = ""
    custom: str = ""


# Those that every Jira has, whether it lists them or not.
_OWN: Final = (
    Field(id="summary", name="Summary", kind="string"),
    Field(id="description", name="Description", kind="string"),
    Field(id="environment", name="Environment", kind="string"),
    Field(id="issuetype", name="Issue Type", kind="issuetype"),
    Field(id="priority", name="Priority", kind="priority"),
    Field(id="labels", name="Labels", kind="array", items="string"),
    Field(id="assignee", name="Assignee", kind="user"),
    Field(id="reporter", name="Reporter", kind="user"),
    Field(id="duedate", name="Due Date", kind="date"),
    Field(id="components", name="Components", kind="array", items="component"),
    Field(id="fixVersions", name="Fix Versions", kind="array", items="version"),
    Field(id="versions", name="Affects Versions", kind="array", items="version"),
    Field(id="parent", name="Parent", kind="issuelink"),
)


def _field(fields: Fields, own: Field | None) -> Field:
    return Field(
        id=text(fields, "id"),
        name=text(fields, "name"),
        kind=text(fields, "schema", "type"),
        items=text(fields, "schema", "items") or (own.items if own else ""),
        custom=text(fields, "schema", "custom"),
    )


class FieldTable:
    """The fields of one Jira.

    Args:
        listed: As Jira lists them.
    """

    def __init__(self, listed: Sequence[Fields]) -> None:
        own = {field.id: field for field in _OWN}
        found = own | {
            text(fields, "id"): _field(fields, own.get(text(fields, "id"))) for fields in listed
        }
        self._by_id = found
        self._by_name: dict[str, list[Field]] = {}
        for field in found.values():
            self._by_name.setdefault(field.name.casefold(), []).append(field)
        for field in _OWN:  # Jira may call them otherwise, such as Component/s
            self._by_name.setdefault(field.name.casefold(), [found[field.id]])

    def knows(self, name: str) -> bool:
        """Whether some field has that name or id."""
        return name in self._by_id or name.casefold() in self._by_name

    def get(self, name: str) -> Field:
        """Return the field of that id or name.

        Raises:
            ToolError: There is none, or several; the message lists those that were meant, perhaps.
        """
        if name in self._by_id:
            return self._by_id[name]
        found = self._by_name.get(name.casefold(), [])
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(field.id for field in found)
            raise ToolError(f"several fields are called {name!r}; give the id of one: {ids}")
        names = {field.name.casefold(): field.name for field in self._by_id.values()}
        near = get_close_matches(name.casefold(), names, n=_MOST_NAMED, cutoff=0.5)
        hint = f"; is it {', '.join(repr(names[one]) for one in near)}?" if near else ""
        raise ToolError(f"Jira has no field {name!r}{hint}")

    def find_custom(self, custom: str) -> Field | None:
        """Return the first custom field of that kind, or None."""
        return next((field for field in self._by_id.values() if field.custom == custom), None)
