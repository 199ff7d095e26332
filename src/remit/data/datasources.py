"""What administrators do with datasources: add, change, try out and remove them (S2.29).

A URL with a password is sealed before it is kept; nothing shows it again.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar

import anyio

from remit.data.desk import DatasourceStore
from remit.data.places import Premises
from remit.data.sealing import UrlSeal, Use
from remit.data.sources import OpenSources
from remit.data.urls import has_secret, require_postgresql_url, without_secret
from remit.errors import BadCall, DataFailure, NotFound
from remit.model.data import MOST_ROWS, MOST_SECONDS, Datasource, EngineKind

T = TypeVar("T")

MOST_AT_ONCE: Final = 1000
"""Statements on one datasource at once, in one process."""

LONGEST_PATTERN: Final = 200
MOST_PATTERNS: Final = 1000

PATIENCE: Final = 15.0
"""Seconds that a datasource has to answer when it is tried out."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_OURS: Final = frozenset({"audit_events", "data_sources", "api_keys"})
"""Tables that, all together, only a gateway's own database has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What is to be said of a datasource; what is None stays as it is.

    Attributes:
        url: What is read: a path on SQLite and DuckDB, a URL on PostgreSQL.
        write_url: What PostgreSQL is written with; empty takes it away.
        tables: Patterns; `("*",)` for every table, an empty one for none (R8).
    """

    url: str | None = None
    write_url: str | None = None
    is_writable: bool | None = None
    schemas: tuple[str, ...] | None = None
    tables: tuple[str, ...] | None = None
    sensitive: tuple[str, ...] | None = None
    row_limit: int | None = None
    time_limit: float | None = None
    concurrency: int | None = None
    is_default: bool | None = None

    def __repr__(self) -> str:
        """Say nothing of URLs."""
        return "Edit(…)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What came of trying a datasource.

    Attributes:
        problem: Why it cannot be used, or empty.
        tables: How many tables and views it has that may be used.
        warnings: What whoever reads could do beyond reading, a sentence each.
        ms: Milliseconds until it had answered.
    """

    problem: str = ""
    tables: int = 0
    warnings: tuple[str, ...] = ()
    ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Datasources:
    """The datasources of every tenant, as administrators see them.

    Attributes:
        clock: Returns the time, aware UTC.
        new_id: Returns an id that nothing has.
    """

    store: DatasourceStore
    sources: OpenSources
    seal: UrlSeal
    premises: Premises
    clock: Callable[[], datetime]
    new_id: Callable[[], str]

    async def all(self, tenant: str) -> Sequence[Datasource]:
        """Return a tenant's, by name."""
        return await self.store.all_datasources(tenant)

    async def get(self, tenant: str, name_or_id: str) -> Datasource:
        """Return one.

        Raises:
            NotFound: There is none.
        """
        found = await self.store.find_datasource(tenant, name_or_id)
        if found is None:
            raise NotFound(f"there is no datasource {name_or_id[:80]!r}")
        return found

    async def add(
        self, tenant: str, name: str, engine: EngineKind, edit: Edit, *, tested: bool = True
    ) -> Datasource:
        """Add one, once it has answered.

        Args:
            tenant: Whose.
            name: Unique in the tenant.
            engine: What it is.
            edit: All else; a URL has to be in it.
            tested: Whether it has to answer.

        Raises:
            BadCall: Something does not do, or it does not answer.
            Conflict: The name is taken.
        """
        if not _NAME.fullmatch(name):
            raise BadCall(
                "a datasource's name is 1 to 64 letters, digits, `_`, `.` and `-`,"
                " and begins with a letter or digit"
            )
        if not edit.url:
            raise BadCall("say where the datasource is")
        now = self.clock()
        made = Datasource(
            id=self.new_id(),
            tenant=tenant,
            name=name,
            engine=engine,
            location="",
            created=now,
            updated=now,
        )
        return await self._write(self._edited(made, edit), tested=tested)

    async def change(self, seen: Datasource, edit: Edit, *, tested: bool = True) -> Datasource:
        """Change one, as it was seen.

        Raises:
            BadCall: Something does not do, or it does not answer.
            Outdated: Somebody else has changed it meanwhile.
        """
        changed = replace(self._edited(seen, edit), updated=self.clock())
        reaches = edit.url is not None or edit.write_url is not None
        return await self._write(changed, tested=tested and reaches)

    async def remove(self, seen: Datasource) -> None:
        """Take one away, with its queries and all that is known of it.

        Raises:
            Outdated: Somebody else has changed it meanwhile.
        """
        await self.store.remove_datasource(seen)

    async def try_out(self, datasource: Datasource) -> Trial:
        """Connect to a datasource beside what is open, and leave it again."""
        began = anyio.current_time()
        try:
            with anyio.fail_after(PATIENCE):
                engine = await self.sources.open_apart(datasource)
                try:
                    await engine.ping()
                    tables, warnings = await engine.schema(), tuple(await engine.warnings())
                finally:
                    with anyio.CancelScope(shield=True):
                        await engine.aclose()
        except DataFailure as failure:
            return Trial(problem=str(failure))
        except TimeoutError:
            return Trial(problem=f"did not answer within {PATIENCE:g} seconds")
        if {table.name for table in tables} >= _OURS:
            return Trial(problem="is a database of a gateway: take another one")
        ms = (anyio.current_time() - began) * 1000
        return Trial(tables=len(tables), warnings=warnings, ms=ms)

    async def _write(self, datasource: Datasource, *, tested: bool) -> Datasource:
        try:
            self.premises.require_foreign(datasource, self.seal)
        except DataFailure as failure:
            raise BadCall(str(failure)) from failure
        if tested:
            trial = await self.try_out(datasource)
            if trial.problem:
                raise BadCall(f"datasource {datasource.name!r} cannot be used: {trial.problem}")
        await self.store.write_datasource(datasource)
        return replace(datasource, version=datasource.version + 1)

    def _edited(self, old: Datasource, edit: Edit) -> Datasource:
        """Return *old* with everything that *edit* says."""
        new = replace(
            old,
            is_writable=_or(edit.is_writable, old.is_writable),
            schemas=_names("schemas", _or(edit.schemas, old.schemas)),
            sensitive=_names("sensitive tables", _or(edit.sensitive, old.sensitive)),
            row_limit=_within("row limit", _or(edit.row_limit, old.row_limit), MOST_ROWS),
            concurrency=_within(
                "concurrency", _or(edit.concurrency, old.concurrency), MOST_AT_ONCE
            ),
            is_default=_or(edit.is_default, old.is_default),
        )
        if edit.tables is not None:
            tables = _names("tables", edit.tables)
            new = replace(new, tables=None if tables == ("*",) else tables)
        if edit.time_limit is not None:
            if not 0 < edit.time_limit <= MOST_SECONDS:
                raise BadCall(f"a time limit is above 0 and at most {MOST_SECONDS:g} seconds")
            new = replace(new, time_limit=edit.time_limit)
        return _complete(self._reached(new, edit))

    def _reached(self, new: Datasource, edit: Edit) -> Datasource:
        """Return *new* with the URLs that *edit* gives, sealed where they hold a password."""
        if new.engine is not EngineKind.POSTGRESQL:
            if edit.write_url:
                raise BadCall(f"{new.engine.value} is written where it is read: give no other URL")
            return new if edit.url is None else replace(new, location=_path(edit.url))
        if edit.url is not None:
            require_postgresql_url(edit.url)
            kept = self._kept(new, edit.url, "reader") if has_secret(edit.url) else ""
            new = replace(new, location=without_secret(edit.url), reader=kept)
        if edit.write_url is not None:
            if edit.write_url:
                require_postgresql_url(edit.write_url)
            new = replace(new, writer=self._kept(new, edit.write_url, "writer"))
        return new

    def _kept(self, datasource: Datasource, url: str, use: Use) -> str:
        if not has_secret(url):
            return url
        return self.seal.seal(url, tenant=datasource.tenant, datasource=datasource.id, use=use)


def _complete(datasource: Datasource) -> Datasource:
    """Refuse what could not do what it says.

    Raises:
        BadCall: It is writable, and there is nothing to write it with.
    """
    is_server = datasource.engine is EngineKind.POSTGRESQL
    if is_server and datasource.is_writable and not datasource.writer:
        raise BadCall(
            "a PostgreSQL datasource is written with a URL of its own, of a role that may write:"
            " give one beside the URL that is read with"
        )
    return datasource


def _path(given: str) -> str:
    """Return the whole path of a file or folder.

    Raises:
        BadCall: It is not there.
    """
    for prefix in ("sqlite:///", "duckdb:///"):
        given = given.removeprefix(prefix)
    path = Path(given).expanduser().absolute()
    try:
        is_there = path.exists()
    except (OSError, ValueError):
        is_there = False
    if not is_there:
        raise BadCall(f"there is no file or folder {str(path)[:200]!r}; make the database first")
    return str(path)


def _names(what: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return names or patterns, each once.

    Raises:
        BadCall: They do not do.
    """
    distinct = tuple(dict.fromkeys(names))
    if len(distinct) > MOST_PATTERNS:
        raise BadCall(f"{what}: at most {MOST_PATTERNS}")
    if not all(0 < len(name) <= LONGEST_PATTERN and name.isprintable() for name in distinct):
        raise BadCall(f"{what}: each is 1 to {LONGEST_PATTERN} printable characters")
    return distinct


def _within(what: str, number: int, most: int) -> int:
    if not 1 <= number <= most:
        raise BadCall(f"a {what} is 1 to {most}")
    return number


def _or(value: T | None, old: T) -> T:
    return old if value is None else value
