"""`remit queries`: what was suggested and approved, and the decisions on it."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

import msgspec
import typer

from remit.app.data import DataPlace
from remit.app.installation import State, open_state
from remit.calls.ids import new_id
from remit.cli.changes import making, operator
from remit.cli.lines import print_json, say
from remit.cli.output import ConfigFlag, JsonFlag, TenantFlag, print_entries, print_table, run
from remit.cli.remote import KeyFlag, Remote, UrlFlag, reach
from remit.client import queries as asked
from remit.data.desk import Desk
from remit.data.queries import approved, decisions, suggestions
from remit.identity.clock import utc_now
from remit.model.data import Query
from remit.model.principals import Principal, PrincipalKind
from remit.settings import Settings

queries_app = typer.Typer(
    help="See approved queries, and decide on those that were suggested.", no_args_is_help=True
)

QueryArgument = Annotated[str, typer.Argument(metavar="QUERY", help="The id of it.")]
SourceArgument = Annotated[
    str, typer.Argument(metavar="DATASOURCE", help="The name or id of a datasource.")
]

Shown = Mapping[str, Any]

_COLUMNS = ("id", "name", "status", "enabled", "suggested_by")
_WAITING = ("id", "name", "changes", "outdated", "suggested_by")


@queries_app.command("list")
def list_queries(
    datasource: SourceArgument,
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the queries of a datasource that are approved, disabled ones too."""
    if (remote := reach(url, key, tenant)) is not None:
        wanted = asked.list_all(remote.project(tenant), datasource, status="approved")
        shown = [_told(each) for each in remote.all_items(wanted)]
    else:
        shown = run(lambda: _approved(Settings.read(config, tenant=tenant), datasource))
    _print_all(shown, as_json=as_json)


@queries_app.command()
def pending(
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what waits for a decision, oldest first."""
    if (remote := reach(url, key, tenant)) is not None:
        waiting = remote.all_items(asked.pending(remote.project(tenant)))
        shown = [_beside(each) for each in waiting]
    else:
        shown = run(lambda: _pending(Settings.read(config, tenant=tenant)))
    rows = [_waiting(each) for each in shown]
    print_entries(shown, _WAITING, rows, empty="no query", as_json=as_json)


@queries_app.command()
def show(
    datasource: SourceArgument,
    query: QueryArgument,
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show one query, or one suggestion, with its SQL.

    A suggested change is shown as the query would be by it, with what each changed field was.
    """
    if (remote := reach(url, key, tenant)) is not None:
        shown = _asked(remote, remote.project(tenant), datasource, query)
    else:
        shown = run(lambda: _one(Settings.read(config, tenant=tenant), datasource, query))
    if as_json:
        print_json(shown)
        return
    before: Shown = shown.get("before", {})
    rows = {name: value for name, value in shown.items() if name != "before"}
    rows |= {f"{name}, before": value for name, value in before.items()}
    print_table(
        ("field", "value"), [[name, _cell(value)] for name, value in rows.items()], empty=""
    )


@queries_app.command()
def approve(
    query: QueryArgument,
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Approve a suggestion: a new query can be run, a change is merged into its original."""
    if (remote := reach(url, key, tenant)) is not None:
        shown = _told(remote.ask(asked.approve(remote.project(tenant), query)))
    else:
        settings = Settings.read(config, tenant=tenant)
        what = {"id": query}
        shown = run(
            lambda: _decide(
                settings, "queries.approve", what, lambda desk: decisions.approve(desk, query)
            )
        )
    _print_one(shown, "is approved", as_json=as_json)


@queries_app.command()
def reject(
    query: QueryArgument,
    reason: Annotated[str, typer.Argument(metavar="REASON", help="Why; its author reads it.")],
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Reject a suggestion."""
    if (remote := reach(url, key, tenant)) is not None:
        shown = _told(remote.ask(asked.reject(remote.project(tenant), query, reason)))
    else:
        settings = Settings.read(config, tenant=tenant)
        what = {"id": query, "rejection": reason}
        shown = run(
            lambda: _decide(
                settings, "queries.reject", what, lambda desk: decisions.reject(desk, query, reason)
            )
        )
    _print_one(shown, "is rejected", as_json=as_json)


async def _approved(settings: Settings, datasource: str) -> Sequence[Shown]:
    async with _open(settings, "list_approved_queries") as (_, desk):
        found = await approved.list_approved(desk, datasource=datasource, disabled=True)
        return [_stored(each) for each in found]


async def _pending(settings: Settings) -> Sequence[Shown]:
    async with _open(settings, "list_query_suggestions") as (_, desk):
        return [
            _beside(asked.Suggestion.of(_kept(each.query), each.original and _kept(each.original)))
            for each in await suggestions.list_suggestions(desk)
        ]


async def _one(settings: Settings, datasource: str, query: str) -> Shown:
    async with _open(settings, "list_approved_queries") as (_, desk):
        source = await desk.datasource(datasource)
        found = await desk.stores.queries.find_query(desk.tenant, query)
        if found is None or found.datasource != source.id:
            return _stored(await approved.get_query(desk, query))  # says in words what is wrong
        if not found.parent:
            return _stored(found)
        original = await desk.stores.queries.find_query(desk.tenant, found.parent)
        return _beside(asked.Suggestion.of(_kept(found), original and _kept(original)))


def _asked(remote: Remote, project: str, datasource: str, query: str) -> Shown:
    """Ask a gateway for a query, or for a suggestion beside what it would change."""
    found = remote.ask(asked.get(project, datasource, query))
    if not found.parent:
        return _told(found)
    original = remote.find(asked.get(project, datasource, found.parent))
    return _beside(asked.Suggestion.of(found, original))


async def _decide(
    settings: Settings,
    operation: str,
    what: Mapping[str, object],
    act: Callable[[Desk], Coroutine[object, object, Query]],
) -> Shown:
    async with _open(settings, operation) as (state, desk), making(state, operation, what):
        return _stored(await act(desk))


@asynccontextmanager
async def _open(settings: Settings, tool: str) -> AsyncGenerator[tuple[State, Desk]]:
    """Open the database, with a desk for whoever types, who administers what is on this machine."""
    async with open_state(settings) as state:
        place = DataPlace(settings, state.database, lambda _: "refuse")
        async with place.running():
            yield (
                state,
                Desk(
                    principal=Principal(
                        kind=PrincipalKind.KEY,
                        name=operator(),
                        tenant=state.tenant.name,
                        admin=True,
                    ),
                    tenant=state.tenant.name,
                    tool=tool,
                    came_by="api",
                    stores=place.stores,
                    sources=place.sources,
                    clock=utc_now,
                    new_id=new_id,
                ),
            )


def _told(query: asked.Query) -> Shown:
    """Return a query of a gateway, with its fields as they are stored."""
    told: dict[str, Any] = msgspec.to_builtins(query)
    return {field.name: told[field.encode_name] for field in msgspec.structs.fields(query)}


def _stored(query: Query) -> Shown:
    """Return a query as a gateway tells it."""
    body: dict[str, Any] = msgspec.to_builtins(query)
    known = {field.name: body[field.name] for field in msgspec.structs.fields(asked.Query)}
    for name in ("reviewed_by", "rejection_reason", "parent"):
        known[name] = known[name] or None
    return known


def _kept(query: Query) -> asked.Query:
    """Return a query that is stored as a gateway tells it."""
    told = {field.name: field.encode_name for field in msgspec.structs.fields(asked.Query)}
    stored = {told[name]: value for name, value in _stored(query).items()}
    return msgspec.convert(stored, asked.Query)


def _beside(suggestion: asked.Suggestion) -> Shown:
    """Return a suggestion as the query would be by it, with what each changed field was."""
    merged, original = _told(suggestion.merged), suggestion.original
    before: Shown = {} if original is None else _told(original)
    return {
        **merged,
        "is_outdated": suggestion.is_outdated,
        "before": {name: before[name] for name in merged["changed"] if name in before},
    }


def _waiting(shown: Shown) -> Shown:
    changes = ", ".join(shown["changed"]) if shown["parent"] else "new"
    return {**shown, "changes": changes, "outdated": "yes" if shown["is_outdated"] else "no"}


def _print_all(shown: Sequence[Shown], *, as_json: bool) -> None:
    rows = [{**each, "enabled": "yes" if each["is_enabled"] else "no"} for each in shown]
    print_entries(shown, _COLUMNS, rows, empty="no query", as_json=as_json)


def _print_one(shown: Shown, what: str, *, as_json: bool) -> None:
    if as_json:
        print_json(shown)
    else:
        say(f"query {shown['id']!r} ({_cell(shown['name'])}) {what}")


def _cell(value: object) -> str:
    """Return a value on one line, without what a terminal would take for a command."""
    text = " ".join(str("" if value is None else value).split())
    return "".join(letter if letter.isprintable() else "�" for letter in text)
