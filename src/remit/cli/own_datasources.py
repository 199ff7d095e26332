"""What `remit datasources` does without a gateway: on the database itself."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from remit.app.data import DataPlace
from remit.app.installation import State, open_state
from remit.cli.changes import making
from remit.cli.datasource_options import Place
from remit.data.datasources import Datasources, Edit, Trial
from remit.model.data import Datasource, EngineKind
from remit.settings import Settings

_SECRET = frozenset({"url", "writeUrl"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    state: State
    datasources: Datasources

    @property
    def tenant(self) -> str:
        return self.state.tenant.name


async def add(
    settings: Settings, name: str, place: Place, given: Mapping[str, Any], *, untested: bool
) -> Datasource:
    """Add one; a path is taken from where the command runs.

    Raises:
        RemitError: As `Datasources.add` says.
    """
    asked = {"name": name, "engine": place.engine, **_on_record(given)}
    async with (
        _open(settings, may_begin=True) as opened,
        making(opened.state, "datasources.add", asked),
    ):
        return await opened.datasources.add(
            opened.tenant,
            name,
            EngineKind(place.engine),
            edit_of({**given, "url": place.url}),
            tested=not untested,
        )


async def change(
    settings: Settings, name: str, given: Mapping[str, Any], *, untested: bool
) -> Datasource:
    """Change one, whatever it is now.

    Raises:
        RemitError: As `Datasources.change` says, or there is none.
    """
    asked = {"name": name, **_on_record(given)}
    async with _open(settings) as opened, making(opened.state, "datasources.change", asked):
        seen = await opened.datasources.get(opened.tenant, name)
        return await opened.datasources.change(seen, edit_of(given), tested=not untested)


async def all_datasources(settings: Settings) -> Sequence[Datasource]:
    """Return every one, by name."""
    async with _open(settings) as opened:
        return await opened.datasources.all(opened.tenant)


async def try_out(settings: Settings, name: str) -> Trial:
    """Connect to one, and leave it again.

    Raises:
        NotFound: There is none.
    """
    async with _open(settings) as opened:
        found = await opened.datasources.get(opened.tenant, name)
        return await opened.datasources.try_out(found)


async def remove(settings: Settings, name: str) -> None:
    """Take one away.

    Raises:
        NotFound: There is none.
    """
    asked = {"name": name}
    async with _open(settings) as opened, making(opened.state, "datasources.remove", asked):
        await opened.datasources.remove(await opened.datasources.get(opened.tenant, name))


def edit_of(given: Mapping[str, Any]) -> Edit:
    """Return what is given in the spelling of the API."""

    def texts(name: str) -> tuple[str, ...] | None:
        return None if name not in given else tuple(given[name])

    return Edit(
        url=given.get("url"),
        write_url=given.get("writeUrl"),
        is_writable=given.get("isWritable"),
        schemas=texts("schemas"),
        tables=texts("tables"),
        sensitive=texts("sensitive"),
        row_limit=given.get("rowLimit"),
        time_limit=given.get("timeLimit"),
        concurrency=given.get("concurrency"),
        is_default=given.get("isDefault"),
    )


def _on_record(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what goes on record: no URL, which may hold a password."""
    return {name: value for name, value in given.items() if name not in _SECRET}


@asynccontextmanager
async def _open(settings: Settings, *, may_begin: bool = False) -> AsyncGenerator[_Opened]:
    async with open_state(settings, may_begin=may_begin) as state:
        place = DataPlace(settings, state.database, lambda _: "refuse")
        yield _Opened(state=state, datasources=place.datasources)
