"""Stating what a word of the business means, with SQL that is known to work."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import anyio

from remit.data.apart import parsed
from remit.data.desk import Desk
from remit.data.guard.statements import Statement, require_reading
from remit.data.ontology.glossary import Enrichment, Term
from remit.data.ontology.knowledge import Knowledge
from remit.data.ontology.names import folded
from remit.data.ontology.writing import (
    Stated,
    Wanted,
    distinct,
    require_free,
    require_name,
    state,
    unstate,
)
from remit.data.running import OpenSource, open_source
from remit.errors import DataFailure, Outdated
from remit.model.data import Column, DataCode
from remit.model.ontology import ItemKind

RETEST_SECONDS: Final = 10.0
"""How long terms are tested again after a look at the schema; the rest is left as it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermEdit:
    """What is to be stated of a term; None leaves a field as it is.

    Attributes:
        sql: A statement that reads; empty for none.
    """

    term: str
    definition: str | None = None
    sql: str | None = None
    aliases: Sequence[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """SQL that may run, and what it gives."""

    sql: str
    base_table: str
    columns: tuple[Column, ...]


async def update_glossary_term(desk: Desk, datasource: str | None, edit: TermEdit) -> Stated[Term]:
    """State what a term means; its SQL is tested without being run.

    Raises:
        DataFailure: What guard or database say against the SQL; `validation_error`,
            `resource_conflict` where a name means another term, or `precedence_blocked`.
    """
    where = await desk.datasource(datasource)
    tested = None
    if edit.sql:
        tested = await tested_sql(await open_source(desk, where.id), edit.sql)
    return await state(
        desk, where, ItemKind.TERM, lambda known: Wanted(value=_edited(known, edit, tested))
    )


async def tested_sql(source: OpenSource, sql: str) -> Tested:
    """Return what *sql* gives, without running it.

    Raises:
        DataFailure: What guard or database say against it.
    """
    statement = await parsed(sql, source.datasource.engine)
    require_reading(statement, source.allowed)
    columns = await source.engine.describe(
        statement.prepare(), seconds=source.datasource.time_limit
    )
    return Tested(sql=statement.sql, base_table=_base(statement), columns=tuple(columns))


def _base(statement: Statement) -> str:
    if not statement.tables:
        return ""
    return ".".join(part for part in statement.tables[0] if part)


def _edited(known: Knowledge, edit: TermEdit, tested: Tested | None) -> Term:
    name = require_name(edit.term, "the term")
    term = known.terms.get(folded(name)) or Term(term=name)
    if edit.definition is not None:
        term = replace(term, definition=edit.definition)
    if edit.aliases is not None:
        term = replace(term, aliases=distinct(edit.aliases))
    if edit.sql is not None:
        term = _with_sql(known, term, tested)
    taken = {
        folded(each): other.term
        for key, other in known.terms.items()
        if key != term.key
        for each in (*other.aliases, other.term)
    }
    require_free([name, *(edit.aliases or ())], taken, "a term")
    return term


def _with_sql(known: Knowledge, term: Term, tested: Tested | None) -> Term:
    if tested is None:
        return replace(
            term, sql="", base_table="", output_columns=(), enrichment=Enrichment.PENDING
        )
    described = {each.name: each.description for each in term.output_columns}
    base = known.find_table(tested.base_table) if tested.base_table else None
    return replace(
        term,
        sql=tested.sql,
        base_table=base.full_name if base is not None else tested.base_table,
        output_columns=tuple(
            replace(each, description=each.description or described.get(each.name, ""))
            for each in tested.columns
        ),
        enrichment=Enrichment.SUCCESS,
    )


async def retest_terms(desk: Desk, source: OpenSource) -> Sequence[str]:
    """Test the SQL of every term again, after the schema has changed; return those that fail.

    What people said of a term stays theirs: only whether its SQL works is noted.
    """
    where = source.datasource
    every = await desk.stores.ontology.items(desk.tenant, where.id, ItemKind.TERM)
    until = anyio.current_time() + RETEST_SECONDS
    failing: list[str] = []
    for item in every:
        term = Term.from_item(item)
        if not term.sql or anyio.current_time() > until:
            continue
        try:
            await tested_sql(source, term.sql)
            now = Enrichment.SUCCESS
        except DataFailure as refused:
            if refused.code == DataCode.SERVICE_UNAVAILABLE:
                break
            now = Enrichment.FAILED
            failing.append(term.term)
        if now is not term.enrichment:
            noted = replace(item, body=replace(term, enrichment=now).to_body())
            with suppress(Outdated):  # whoever has changed it meanwhile has tested it, too
                await desk.stores.ontology.write(items=[noted])
    return failing


async def delete_glossary_term(desk: Desk, datasource: str | None, term: str) -> bool:
    """Take a term away, and say whether it was there.

    Raises:
        DataFailure: `precedence_blocked`.
    """
    where = await desk.datasource(datasource)
    return await unstate(desk, where, ItemKind.TERM, lambda _known: folded(term))
