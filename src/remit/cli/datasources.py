"""`remit datasources`: the databases that a `data` server works on."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from remit.cli import own_datasources
from remit.cli.datasource_options import (
    ConcurrencyFlag,
    DefaultFlag,
    RowsFlag,
    SchemaFlag,
    SecondsFlag,
    SensitiveFlag,
    TableFlag,
    UntestedFlag,
    WritableFlag,
    given_url,
    place_of,
    settings_of,
)
from remit.cli.lines import print_json, say
from remit.cli.output import (
    EXIT_USAGE,
    ConfigFlag,
    JsonFlag,
    TenantFlag,
    fail,
    print_entries,
    run,
)
from remit.cli.remote import KeyFlag, UrlFlag, reach
from remit.client import datasources
from remit.model.data import Datasource
from remit.settings import Settings

datasources_app = typer.Typer(
    help="Add, change, try out and remove what the data server works on.", no_args_is_help=True
)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The datasource's name.")]
SqliteFlag = Annotated[
    str | None, typer.Option("--sqlite", metavar="PATH", help="A database of SQLite.")
]
DuckdbFlag = Annotated[
    str | None,
    typer.Option(
        "--duckdb",
        metavar="PATH",
        help="A database of DuckDB, or a folder of CSV and Parquet files.",
    ),
]
PostgresqlFlag = Annotated[
    str | None,
    typer.Option(
        "--postgresql",
        metavar="URL",
        help="Read with this URL; `-` reads it from standard input. One with a password is"
        " refused here, since lists of processes show it.",
    ),
]
PostgresqlEnvFlag = Annotated[
    str | None,
    typer.Option(
        "--postgresql-env", metavar="VAR", help="Read with the URL in this environment variable."
    ),
]
WriteUrlFlag = Annotated[
    str | None,
    typer.Option(
        "--write-url", metavar="URL", help="Write with this URL, likewise; '' takes it away."
    ),
]
WriteUrlEnvFlag = Annotated[
    str | None,
    typer.Option(
        "--write-url-env", metavar="VAR", help="Write with the URL in this environment variable."
    ),
]

_COLUMNS = ("name", "engine", "location", "writable", "default", "tables")

Shown = Mapping[str, Any]


@datasources_app.command()
def add(
    name: NameArgument,
    *,
    sqlite: SqliteFlag = None,
    duckdb: DuckdbFlag = None,
    postgresql: PostgresqlFlag = None,
    postgresql_env: PostgresqlEnvFlag = None,
    write_url: WriteUrlFlag = None,
    write_url_env: WriteUrlEnvFlag = None,
    writable: WritableFlag = None,
    schemas: SchemaFlag = None,
    tables: TableFlag = None,
    sensitive: SensitiveFlag = None,
    row_limit: RowsFlag = None,
    time_limit: SecondsFlag = None,
    concurrency: ConcurrencyFlag = None,
    default: DefaultFlag = None,
    untested: UntestedFlag = False,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Add a datasource, once it has answered; a password in its URL is kept encrypted."""
    server = given_url("--postgresql", postgresql, postgresql_env)
    place = place_of(sqlite=sqlite, duckdb=duckdb, postgresql=server)
    settings = settings_of(
        write_url=given_url("--write-url", write_url, write_url_env),
        writable=writable,
        schemas=schemas,
        tables=tables,
        sensitive=sensitive,
        row_limit=row_limit,
        time_limit=time_limit,
        concurrency=concurrency,
        default=default,
    )
    if (remote := reach(url, key, tenant)) is not None:
        wanted = datasources.add(
            remote.project(tenant),
            name,
            engine=place.engine,
            url=place.url,
            settings=settings,
            untested=untested,
        )
        shown = _entry(remote.ask(wanted))
    else:
        local = Settings.read(config, tenant=tenant)
        shown = _entry(
            run(lambda: own_datasources.add(local, name, place, settings, untested=untested))
        )
    _tell(shown, "is added", as_json)


@datasources_app.command("set")
def change(
    name: NameArgument,
    *,
    path: Annotated[
        str | None,
        typer.Option("--path", metavar="PATH", help="Where a file or folder of it is now."),
    ] = None,
    postgresql: PostgresqlFlag = None,
    postgresql_env: PostgresqlEnvFlag = None,
    write_url: WriteUrlFlag = None,
    write_url_env: WriteUrlEnvFlag = None,
    writable: WritableFlag = None,
    schemas: SchemaFlag = None,
    tables: TableFlag = None,
    sensitive: SensitiveFlag = None,
    row_limit: RowsFlag = None,
    time_limit: SecondsFlag = None,
    concurrency: ConcurrencyFlag = None,
    default: DefaultFlag = None,
    untested: UntestedFlag = False,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Change a datasource; what is not given stays. The next call has it so."""
    server = given_url("--postgresql", postgresql, postgresql_env)
    if path is not None and server is not None:
        fail("give --path or --postgresql, not both", EXIT_USAGE)
    settings = settings_of(
        write_url=given_url("--write-url", write_url, write_url_env),
        writable=writable,
        schemas=schemas,
        tables=tables,
        sensitive=sensitive,
        row_limit=row_limit,
        time_limit=time_limit,
        concurrency=concurrency,
        default=default,
        url=path if server is None else server,
    )
    if not settings:
        fail("say what is to change; see `remit datasources set --help`", EXIT_USAGE)
    if (remote := reach(url, key, tenant)) is not None:
        wanted = datasources.change(
            remote.project(tenant), name, settings, if_match="*", untested=untested
        )
        shown = _entry(remote.ask(wanted))
    else:
        local = Settings.read(config, tenant=tenant)
        shown = _entry(
            run(lambda: own_datasources.change(local, name, settings, untested=untested))
        )
    _tell(shown, "is changed", as_json)


@datasources_app.command("list")
def list_datasources(
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show every datasource, without any password."""
    if (remote := reach(url, key, tenant)) is not None:
        shown = [_entry(one) for one in remote.ask(datasources.list_all(remote.project(tenant)))]
    else:
        local = Settings.read(config, tenant=tenant)
        shown = [_entry(one) for one in run(lambda: own_datasources.all_datasources(local))]
    print_entries(
        shown,
        _COLUMNS,
        [{**each, "tables": _patterns(each["tables"])} for each in shown],
        empty="no datasources: add one with `remit datasources add`",
        as_json=as_json,
    )


@datasources_app.command("test")
def try_out(
    name: NameArgument,
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Connect to a datasource and leave it again; status 1 when that does not work."""
    if (remote := reach(url, key, tenant)) is not None:
        trial = remote.ask(datasources.test(remote.project(tenant), name))
        problem, tables, warnings = trial.problem or "", trial.tables, trial.warnings
    else:
        local = Settings.read(config, tenant=tenant)
        found = run(lambda: own_datasources.try_out(local, name))
        problem, tables, warnings = found.problem, found.tables, found.warnings
    if as_json:
        print_json(
            {"works": not problem, "problem": problem or None, "tables": tables}
            | {"warnings": list(warnings)}
        )
    elif not problem:
        say(f"datasource {name!r} answers; tables and views that may be used: {tables}")
        for warning in warnings:
            say(f"warning: {warning}", err=True)
    if problem:
        fail(f"datasource {name!r} cannot be used: {problem}")


@datasources_app.command()
def remove(
    name: NameArgument,
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Take a datasource away with its queries and all that is known of it; not its data."""
    if (remote := reach(url, key, tenant)) is not None:
        remote.ask(datasources.remove(remote.project(tenant), name, if_match="*"))
    else:
        local = Settings.read(config, tenant=tenant)
        run(lambda: own_datasources.remove(local, name))
    if as_json:
        print_json({"name": name, "deleted": True})
    else:
        say(f"datasource {name!r} is removed, with its queries and all that was known of it")


def _entry(shown: Datasource | datasources.Datasource) -> Shown:
    is_kept = isinstance(shown, Datasource)
    return {
        "id": shown.id,
        "name": shown.name,
        "engine": str(shown.engine),
        "location": shown.location,
        "has_password": bool(shown.reader) if is_kept else shown.has_password,
        "has_write_url": bool(shown.writer) if is_kept else shown.has_write_url,
        "writable": shown.is_writable,
        "default": shown.is_default,
        "schemas": list(shown.schemas),
        "tables": None if shown.tables is None else list(shown.tables),
        "sensitive": list(shown.sensitive),
        "row_limit": shown.row_limit,
        "time_limit": shown.time_limit,
        "concurrency": shown.concurrency,
        "created": shown.created.isoformat(timespec="seconds"),
        "updated": shown.updated.isoformat(timespec="seconds"),
    }


def _patterns(tables: Sequence[str] | None) -> str:
    return "all" if tables is None else ", ".join(tables) or "none"


def _tell(shown: Shown, what: str, as_json: bool) -> None:
    if as_json:
        print_json(shown)
    else:
        say(f"datasource {shown['name']!r} {what}: {shown['engine']}, {shown['location']}")
