"""The datasources of a project: what its `data` server works on.

Administrators manage them; whoever works with one may see that it is there.
"""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from remit.data.datasources import LONGEST_PATTERN, MOST_AT_ONCE, MOST_PATTERNS, Edit, Trial
from remit.doors.api.access import (
    Administrator,
    ByProjectAdministrator,
    ByProjectMember,
    Reason,
)
from remit.doors.api.camel import CamelBody, CamelShape
from remit.doors.api.envelope import PROJECTS, Envelope
from remit.doors.api.preconditions import IfMatch, require_match, require_tag, version_tag
from remit.model.data import MOST_ROWS, MOST_SECONDS, Datasource, EngineKind

router = APIRouter(prefix=f"{PROJECTS}/{{tenant}}/datasources", tags=["datasources"])

LONGEST_URL = 4096

Name = Annotated[str, Path(max_length=200, description="Name or id of the datasource.")]
Untested = Annotated[bool, Query(description="Keep it although it does not answer.", strict=False)]
Pattern = Annotated[str, Field(min_length=1, max_length=LONGEST_PATTERN)]
Patterns = Annotated[list[Pattern], Field(max_length=MOST_PATTERNS)]


class DatasourceShape(CamelShape):
    """A datasource, without any password."""

    id: str
    name: str
    engine: EngineKind
    location: str = Field(description="Empty for whoever neither administers nor audits.")
    has_password: bool = Field(description="Whether what it is read with is kept encrypted.")
    has_write_url: bool
    is_writable: bool
    schemas: list[str] = Field(description="Empty for the engine's usual one.")
    tables: list[str] | None = Field(description="Patterns; null for every table.")
    sensitive: list[str] = Field(description="Patterns of tables whose use raises an alert.")
    row_limit: int
    time_limit: float = Field(description="Seconds that a statement may run.")
    concurrency: int
    is_default: bool
    created: datetime
    updated: datetime
    version: int

    @classmethod
    def of(cls, datasource: Datasource) -> "DatasourceShape":
        """Show a datasource."""
        return cls(
            id=datasource.id,
            name=datasource.name,
            engine=datasource.engine,
            location=datasource.location,
            has_password=bool(datasource.reader),
            has_write_url=bool(datasource.writer),
            is_writable=datasource.is_writable,
            schemas=list(datasource.schemas),
            tables=None if datasource.tables is None else list(datasource.tables),
            sensitive=list(datasource.sensitive),
            row_limit=datasource.row_limit,
            time_limit=datasource.time_limit,
            concurrency=datasource.concurrency,
            is_default=datasource.is_default,
            created=datasource.created,
            updated=datasource.updated,
            version=datasource.version,
        )

    def to_member(self) -> "DatasourceShape":
        """Return it without where it is and how it is watched: what a member need not know."""
        hidden: dict[str, object] = {
            "location": "",
            "has_password": False,
            "has_write_url": False,
            "sensitive": [],
        }
        return self.model_copy(update=hidden)


class TrialShape(CamelShape):
    """What came of connecting to a datasource."""

    works: bool
    problem: str | None
    tables: int = Field(description="Tables and views that may be used.")
    warnings: list[str] = Field(description="What whoever reads could do beyond reading.")
    ms: float

    @classmethod
    def of(cls, trial: Trial) -> "TrialShape":
        """Show a trial."""
        return cls(
            works=not trial.problem,
            problem=trial.problem or None,
            tables=trial.tables,
            warnings=list(trial.warnings),
            ms=round(trial.ms, 1),
        )


class DatasourcePatch(CamelBody):
    """What is to change; what is not sent stays as it is."""

    url: str | None = Field(
        default=None,
        min_length=1,
        max_length=LONGEST_URL,
        description="A path for SQLite and DuckDB; the URL that PostgreSQL is read with.",
        json_schema_extra={"writeOnly": True},
    )
    write_url: str | None = Field(
        default=None,
        max_length=LONGEST_URL,
        description="The URL that PostgreSQL is written with; empty takes it away.",
        json_schema_extra={"writeOnly": True},
    )
    is_writable: bool | None = None
    schemas: Patterns | None = None
    tables: Patterns | None = Field(default=None, description='`["*"]` for every table.')
    sensitive: Patterns | None = None
    row_limit: int | None = Field(default=None, ge=1, le=MOST_ROWS)
    time_limit: float | None = Field(default=None, gt=0, le=MOST_SECONDS)
    concurrency: int | None = Field(default=None, ge=1, le=MOST_AT_ONCE)
    is_default: bool | None = None

    def edit(self) -> Edit:
        """Return what it says."""
        return Edit(
            url=self.url,
            write_url=self.write_url,
            is_writable=self.is_writable,
            schemas=_texts(self.schemas),
            tables=_texts(self.tables),
            sensitive=_texts(self.sensitive),
            row_limit=self.row_limit,
            time_limit=self.time_limit,
            concurrency=self.concurrency,
            is_default=self.is_default,
        )

    def on_record(self) -> dict[str, object]:
        """Return what of it goes on record: no URL, which may hold a password."""
        return self.model_dump(mode="json", exclude_unset=True, exclude={"url", "write_url"})


class NewDatasource(DatasourcePatch):
    """A datasource to be added."""

    name: str = Field(min_length=1, max_length=64)
    engine: Annotated[EngineKind, Field(strict=False)]
    url: str = Field(  # pyright: ignore[reportIncompatibleVariableOverride] - here it is required
        min_length=1,
        max_length=LONGEST_URL,
        description="A path for SQLite and DuckDB; the URL that PostgreSQL is read with.",
        json_schema_extra={"writeOnly": True},
    )


class RemovedShape(CamelShape):
    """What is there no longer."""

    name: str
    deleted: bool = True


@router.get("", operation_id="datasources.list")
async def list_datasources(by: ByProjectMember) -> Envelope[list[DatasourceShape]]:
    """Show every datasource, by name; where each is only to who administers or audits."""
    found = [
        DatasourceShape.of(each) for each in await by.services.datasources().all(by.tenant.key)
    ]
    sees_where = by.principal.admin or by.principal.auditor
    return Envelope(data=found if sees_where else [each.to_member() for each in found])


@router.post("", operation_id="datasources.add", status_code=201)
async def add_datasource(
    by: ByProjectAdministrator,
    new: NewDatasource,
    response: Response,
    *,
    untested: Untested = False,
    reason: Reason = "",
) -> Envelope[DatasourceShape]:
    """Add a datasource, once it has answered; a URL with a password is kept encrypted."""
    async with by.making(reason, **new.on_record()):
        made = await by.services.datasources().add(
            by.tenant.key, new.name, new.engine, new.edit(), tested=not untested
        )
    return _answered(made, response)


@router.get("/{name}", operation_id="datasources.get")
async def get_datasource(
    by: ByProjectAdministrator, name: Name, response: Response
) -> Envelope[DatasourceShape]:
    """Show one datasource."""
    return _answered(await _found(by, name), response)


@router.patch("/{name}", operation_id="datasources.change")
async def change_datasource(
    by: ByProjectAdministrator,
    name: Name,
    patch: DatasourcePatch,
    response: Response,
    *,
    if_match: IfMatch = None,
    untested: Untested = False,
    reason: Reason = "",
) -> Envelope[DatasourceShape]:
    """Change a datasource; whoever asks for it next has it so. A new URL has to answer."""
    tags = require_tag(if_match)
    async with by.making(reason, name=name, **patch.on_record()):
        seen = await _found(by, name)
        require_match(tags, version_tag(seen.version))
        changed = await by.services.datasources().change(seen, patch.edit(), tested=not untested)
    return _answered(changed, response)


@router.delete("/{name}", operation_id="datasources.remove")
async def remove_datasource(
    by: ByProjectAdministrator, name: Name, *, if_match: IfMatch = None, reason: Reason = ""
) -> Envelope[RemovedShape]:
    """Take a datasource away with its queries and all that is known of it; not its data."""
    tags = require_tag(if_match)
    async with by.making(reason, name=name):
        seen = await _found(by, name)
        require_match(tags, version_tag(seen.version))
        await by.services.datasources().remove(seen)
    return Envelope(data=RemovedShape(name=seen.name))


@router.post("/{name}/test", operation_id="datasources.test")
async def test_datasource(by: ByProjectAdministrator, name: Name) -> Envelope[TrialShape]:
    """Connect to a datasource beside what is open, and leave it again."""
    trial = await by.services.datasources().try_out(await _found(by, name))
    return Envelope(data=TrialShape.of(trial))


async def _found(by: Administrator, name: str) -> Datasource:
    return await by.services.datasources().get(by.tenant.key, name)


def _answered(datasource: Datasource, response: Response) -> Envelope[DatasourceShape]:
    response.headers["ETag"] = version_tag(datasource.version)
    return Envelope(data=DatasourceShape.of(datasource))


def _texts(given: list[str] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(given)
