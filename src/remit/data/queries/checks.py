"""Whether a query that is to be would work: parsed, matched with parameters, run dry (S2.35)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from remit.data.apart import parsed
from remit.data.desk import Desk
from remit.data.guard.parameters import bind_values, list_names, require_matching
from remit.data.guard.statements import Statement, StatementKind
from remit.data.queries.drafts import LONGEST_NAME, Draft
from remit.data.running import OpenSource, open_source, plan_of, require_writable, run_reading
from remit.errors import DataFailure
from remit.model.data import Bound, Column, DataCode, EngineKind, Parameter, Query
from remit.servers.shapes import LONGEST_TEXT

_UNSEEN: Final = r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_UNSEEN_IN: Final = {
    "name": re.compile(f"[{_UNSEEN}]"),
    "sql": re.compile(rf"(?!\n|\t|\r\n)[{_UNSEEN}]"),
}
"""Field to what would make reviewers see another text than the one that counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What was found of a query that would work.

    Attributes:
        dry_run_rows: Rows that the dry run gave, none or one; None where it was only explained.
        output_columns: As the database names them, with the descriptions that were given.
        allows_modification: Whether it modifies.
    """

    dry_run_rows: int | None
    output_columns: tuple[Column, ...] = ()
    allows_modification: bool = False


async def check_draft(desk: Desk, draft: Draft) -> Validation:
    """Run a query that is to be dry, with the examples of its parameters (S2.35).

    One that reads is run for one row; one that modifies is only explained.

    Raises:
        DataFailure: It would not work, with the code of why.
    """
    source = await open_source(desk, draft.datasource)
    return (await check_query(desk, source, query_of(desk, source, draft), draft.output_columns))[1]


async def check_parameters(desk: Desk, draft: Draft) -> None:
    """Match placeholders with parameters, both ways, and defaults and examples with types (S2.32).

    Raises:
        DataFailure: `invalid_sql`, `parameter_validation` or `type_validation`.
    """
    datasource = await desk.datasource(draft.datasource)
    await match(draft.sql, datasource.engine, draft.parameters)


def query_of(desk: Desk, source: OpenSource, draft: Draft) -> Query:
    """Return the query that *draft* would have, pending, by whoever asks.

    Raises:
        DataFailure: `validation_error`: its name or what it says is empty.
    """
    now = desk.clock()
    query = Query(
        id=desk.new_id(),
        tenant=desk.tenant,
        datasource=source.datasource.id,
        name=draft.name.strip(),
        description=draft.description.strip(),
        sql=draft.sql.strip(),
        dialect=source.datasource.engine,
        parameters=draft.parameters,
        constraints=draft.constraints.strip(),
        suggested_by=desk.user,
        suggestion_context=draft.context.strip(),
        tags=tags_of(draft.tags),
        created=now,
        updated=now,
    )
    require_words(query)
    require_seen(query, "name")
    return query


def require_words(query: Query) -> None:
    """Let only a query pass that says what it is, and not without end.

    Raises:
        DataFailure: `validation_error`.
    """
    words = (
        ("name", query.name, LONGEST_NAME),
        ("description", query.description, LONGEST_TEXT),
        ("sql", query.sql, LONGEST_TEXT),
    )
    for field, value, longest in words:
        if not 0 < len(value) <= longest:
            raise DataFailure(
                DataCode.VALIDATION_ERROR,
                f"a query has a {field} of 1 to {longest} characters",
                details={"field": field},
            )


def require_seen(query: Query, *fields: str) -> None:
    """Let only a query pass whose name and SQL are what reviewers see (CVE-2021-42574).

    Args:
        query: As it is to be.
        *fields: Those of `name` and `sql` that are new.

    Raises:
        DataFailure: `validation_error`.
    """
    for field in fields:
        text: str = getattr(query, field)
        found = _UNSEEN_IN[field].search(text)
        if found is not None:
            raise DataFailure(
                DataCode.VALIDATION_ERROR,
                f"the {field} of a query holds U+{ord(found[0]):04X} at character"
                f" {found.start() + 1}, a control or bidirectional character that would make"
                " reviewers see another text; take it out, or give a value that needs it by a"
                " parameter",
                details={"field": field},
            )


def tags_of(given: Sequence[str]) -> tuple[str, ...]:
    """Return tags, each once and none empty, in their order."""
    return tuple(dict.fromkeys(tag.strip() for tag in given if tag.strip()))


async def check_query(
    desk: Desk, source: OpenSource, query: Query, described: Mapping[str, str]
) -> tuple[Query, Validation]:
    """Run a query dry; return it as it would be kept, and what was found.

    Args:
        desk: Who asks.
        source: Where it would run.
        query: As it is to be; what its columns are said to be counts where *described* says
            nothing.
        described: Descriptions of its columns, each of which there has to be.

    Raises:
        DataFailure: It would not work, with the code of why.
    """
    require_seen(query, "sql")
    statement = await match(query.sql, query.dialect, query.parameters)
    modifies = statement.kind is not StatementKind.READ
    if modifies:
        require_writable(source.datasource)
    seen = query.output_columns if query.allows_modification else ()
    query = replace(query, sql=statement.sql, allows_modification=modifies)
    values = example_values(query.parameters)
    rows: int | None = None
    found: Sequence[Column] = ()
    if modifies:
        await plan_of(desk, source, query.sql, query=query, values=values, modifying=True)
        # a plan names no columns: those count of which somebody says something
        names = dict.fromkeys([*(each.name for each in seen), *described])
        found = tuple(Column(name=name) for name in names)
    else:
        given = await run_reading(desk, source, query.sql, limit=1, query=query, values=values)
        rows, found = len(given.rows), given.columns
    columns = _described(found, {**_descriptions(query.output_columns), **described}, described)
    query = replace(query, output_columns=columns)
    return query, Validation(
        dry_run_rows=rows, output_columns=columns, allows_modification=modifies
    )


async def match(sql: str, engine: EngineKind, parameters: Sequence[Parameter]) -> Statement:
    """Return a query's statement, whose placeholders and parameters match both ways (S2.32).

    Raises:
        DataFailure: `invalid_sql`, `invalid_sql_type`, `parameter_validation` or
            `type_validation`.
    """
    statement = await parsed(sql, engine, placeholders=True, lists=list_names(parameters))
    if statement.kind not in (StatementKind.READ, StatementKind.MODIFY):
        raise DataFailure(
            DataCode.INVALID_SQL_TYPE,
            "an approved query reads rows or changes them: a SELECT, or one INSERT, UPDATE, DELETE"
            " or MERGE",
        )
    require_matching(parameters, statement.names)
    return statement


def example_values(parameters: Sequence[Parameter]) -> Mapping[str, Bound]:
    """Return what the dry run binds: the example of each parameter, or its default.

    Raises:
        DataFailure: `parameter_validation`: a required one has neither; or `type_validation`.
    """
    given: dict[str, object] = {}
    for parameter in parameters:
        if parameter.example is not None:
            given[parameter.name] = parameter.example
        elif parameter.required and parameter.default is None:
            raise DataFailure(
                DataCode.PARAMETER_VALIDATION,
                f"parameter {parameter.name!r} is required and has no example; give one, which is"
                " used for the dry run alone",
                details={"parameter": parameter.name},
            )
    return bind_values(parameters, given)


def _descriptions(columns: Sequence[Column]) -> dict[str, str]:
    return {each.name: each.description for each in columns if each.description}


def _described(
    found: Sequence[Column], descriptions: Mapping[str, str], needed: Mapping[str, str]
) -> tuple[Column, ...]:
    names = [each.name for each in found]
    for name in needed:
        if name not in names:
            raise DataFailure(
                DataCode.VALIDATION_ERROR,
                f"column {name[:80]!r} is described, and the query gives only"
                f" {', '.join(names[:50]) or 'none'}",
                details={"column": name[:80]},
            )
    return tuple(
        replace(each, description=descriptions.get(each.name, each.description)) for each in found
    )
