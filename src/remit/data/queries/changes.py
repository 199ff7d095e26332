"""Changing a query: which fields another one would have, and whether it would work with them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from remit.data.desk import Desk
from remit.data.queries.checks import Validation, check_query, require_seen, require_words, tags_of
from remit.data.queries.drafts import Edit
from remit.data.running import open_source
from remit.errors import DataFailure
from remit.model.data import CHANGEABLE, DataCode, Query

_NEEDS_CHECK: Final = frozenset({"sql", "parameters", "output_columns"})
"""Fields that decide whether a query works."""


async def edited(desk: Desk, query: Query, edit: Edit) -> tuple[Query, Validation]:
    """Return a query as *edit* would have it, with the names of what changed, and what was found.

    It is run dry where its SQL, parameters or columns change. Descriptions of columns stay with
    the columns that stay.

    Raises:
        DataFailure: `invalid_parameters`: nothing changes; or it would not work.
    """
    after = replace(query, **_fields_of(edit))
    require_words(after)
    if after.name != query.name:
        require_seen(after, "name")
    validation = _unchecked(query)
    described = edit.output_columns or {}
    if described or (after.sql, after.parameters) != (query.sql, query.parameters):
        source = await open_source(desk, query.datasource)
        after, validation = await check_query(desk, source, after, described)
    changed = tuple(name for name in CHANGEABLE if getattr(after, name) != getattr(query, name))
    if not changed:
        raise DataFailure(
            DataCode.INVALID_PARAMETERS,
            "nothing would change: give at least one field another value",
        )
    return replace(after, changed=changed), validation


async def merged(desk: Desk, original: Query, suggestion: Query) -> Query:
    """Return *original*, as it is by now, with the fields that a suggestion of an update changes.

    Raises:
        DataFailure: The whole would not work.
    """
    fields: dict[str, Any] = {name: getattr(suggestion, name) for name in suggestion.changed}
    after = replace(original, **fields)
    if "name" in suggestion.changed:
        require_seen(after, "name")
    if _NEEDS_CHECK.isdisjoint(suggestion.changed):
        return after
    source = await open_source(desk, original.datasource)
    after, _ = await check_query(desk, source, after, {})
    return after


def _fields_of(edit: Edit) -> Mapping[str, Any]:
    words = {"name": edit.name, "description": edit.description, "constraints": edit.constraints}
    fields: dict[str, object] = {
        name: value.strip() for name, value in words.items() if value is not None
    }
    if edit.sql is not None:
        fields["sql"] = edit.sql.strip()
    if edit.parameters is not None:
        fields["parameters"] = edit.parameters
    if edit.tags is not None:
        fields["tags"] = tags_of(edit.tags)
    if edit.is_enabled is not None:
        fields["is_enabled"] = edit.is_enabled
    return fields


def _unchecked(query: Query) -> Validation:
    return Validation(
        dry_run_rows=None,
        output_columns=query.output_columns,
        allows_modification=query.allows_modification,
    )
