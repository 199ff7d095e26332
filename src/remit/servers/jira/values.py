"""Values of fields as Jira takes them, made of what a caller gives."""

from collections.abc import Mapping
from typing import Final, cast

from remit.servers.errors import ToolError
from remit.servers.jira.fields import SPRINT, TEXT_AREA, Field
from remit.servers.jira.people import reference
from remit.servers.jira.site import Jira

_ELSEWHERE: Final = {
    "status": "change_status",
    "resolution": "change_status",
    "comment": "add_comment",
}
_NAMED: Final = frozenset(
    {"priority", "issuetype", "version", "component", "securitylevel", "group"}
)
_DOCUMENTS: Final = frozenset({"description", "environment"})


async def field_values(jira: Jira, given: Mapping[str, object]) -> dict[str, object]:
    """Return fields by id with their values, made of names and plain values.

    Raises:
        ToolError: A field or person is not known, or a field is changed otherwise.
        RestFault: Jira does not say.
    """
    values: dict[str, object] = {}
    for name, value in given.items():
        if name.casefold() in _ELSEWHERE:
            raise ToolError(f"{name!r} is no field to set; use {_ELSEWHERE[name.casefold()]}")
        field = await jira.field(name)
        values[field.id] = await _value(jira, field, value)
    return values


async def _value(jira: Jira, field: Field, value: object) -> object:
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [await _one(jira, field.items or field.kind, item) for item in items]
    if value is None or isinstance(value, dict):
        return cast("object", value)  # as Jira takes it
    if field.custom == SPRINT:
        if isinstance(value, int) or (isinstance(value, str) and value.isdigit()):
            return int(value)
        raise ToolError(f"{field.name!r} takes the id of a sprint; get_sprint shows it")
    if field.kind == "array":
        raise ToolError(f"{field.name!r} takes a list of values")
    if isinstance(value, str) and (field.id in _DOCUMENTS or field.custom == TEXT_AREA):
        return await jira.write(value)
    return await _one(jira, field.kind, value)


async def _one(jira: Jira, kind: str, value: object) -> object:
    if not isinstance(value, str):
        return value
    if kind == "user":
        return await reference(jira, value)
    if kind == "option":
        return {"value": value}
    if kind in _NAMED:
        return {"name": value}
    if kind in {"issuelink", "project"}:
        return {"key": value}
    return value
