"""What happens at the gateway of `office.py` once it runs, by real calls and changes."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from anyio.from_thread import start_blocking_portal

from remit.app.data import DataPlace
from remit.client import Client, alerts, data_changes, datasources, grants, ontology, queries, roles
from remit.errors import ClientError
from remit.model.data import EngineKind
from remit.model.principals import DEFAULT_TENANT
from remit.settings import Settings
from remit.storage.database import default_url, open_database
from remit.testing.questions import put_question
from remit.testing.shops import run_on_sqlite

if TYPE_CHECKING:
    from tests.console.office import Office

DATASOURCE = "shop"
QUERY = "Customers of a city"
SUGGESTION = "Orders by status"
QUESTION = "Do prices include tax?"
MAIL = "Which port does the shop listen on?"
CITY = {"name": "city", "type": "string", "description": "As customers write it", "example": "Bern"}
BY_CITY = queries.Draft(
    name=QUERY,
    description="Name and address of all customers of a city",
    sql="SELECT name, email FROM customers WHERE city = {{city}}",
    parameters=(CITY,),
    tags=("customers",),
)
INJECTION = "x' OR 1=1 --"
LONGEST_WAIT = 30.0
"""Seconds after which an alert that did not come is a failure."""


def let_things_happen(office: "Office", settings: Settings) -> None:
    """Change the declaration, call tools, and leave something to decide everywhere."""
    administrator = office.client("administrator")
    _change_rules(administrator)
    _describe_data(office, administrator, settings)
    _call_tools(office)
    _suggest(office.client("user"))
    _attack(office, administrator)


def _change_rules(administrator: Client) -> None:
    entry = {"user": "ivan", "effect": "deny", "tool": "git/git_push"}
    administrator.ask(grants.create(entry, reason="leaves the company"))
    guest = {"description": "Looks around for a day", "allow": ["git/git_log", "git/git_status"]}
    administrator.ask(roles.create("guest", guest, reason="visitors of the open day"))


def _describe_data(office: "Office", administrator: Client, settings: Settings) -> None:
    tenant, source = DEFAULT_TENANT, DATASOURCE
    file = office.folder / f"{DATASOURCE}.{EngineKind.SQLITE}"
    added = administrator.ask(
        datasources.add(
            tenant, source, engine="sqlite", url=str(file), settings={"isWritable": True}
        )
    )
    administrator.ask(data_changes.refresh(tenant, source))
    customer = {"description": "Whoever ordered at least once", "aliases": ["client"]}
    administrator.ask(ontology.put_entity(tenant, source, "Customer", customer, if_match="*"))
    revenue = {"definition": "Price of what orders that are paid name", "aliases": ["turnover"]}
    administrator.ask(ontology.put_term(tenant, source, "revenue", revenue, if_match="*"))
    administrator.ask(queries.create(tenant, source, BY_CITY))
    run_on_sqlite(file, ["CREATE TABLE returns (id INTEGER PRIMARY KEY, order_id INTEGER)"])
    administrator.ask(data_changes.refresh(tenant, source, auto_select=False))
    with start_blocking_portal() as portal:
        portal.call(_ask_about_data, settings, added.id)


async def _ask_about_data(settings: Settings, datasource: str) -> None:
    async with open_database(default_url(settings.config.parent / ".remit")) as database:
        place = DataPlace(settings, database, lambda _: "refuse")
        await put_question(place.stores.ontology, datasource, QUESTION)


def _call_tools(office: "Office") -> None:
    ci, agent = office.client("role"), office.client("agent")
    for name in ("git__git_status", "git__git_log", "git__git_branch"):
        ci.call_tool(name)
    for name in ("git__git_merge", "deploy__deploy_service", "no__such_tool"):
        with suppress(ClientError):  # refused, which is the point
            ci.call_tool(name)
    agent.call_tool("deploy__list_services")
    agent.call_tool("deploy__deploy_service", {"service": "shop", "version": "v1.4.2"})
    agent.call_tool("deploy__restart_service")
    for name, given in (
        ("deploy__deploy_service", {"service": "shop", "version": "latest"}),
        ("deploy__read_metrics", {}),
    ):
        with suppress(ClientError):
            agent.call_tool(name, given)
    body = "The manifest says 8400, the runbook 8401."
    agent.call_tool("mail__send", {"toHuman": True, "subject": MAIL, "body": body})


def _suggest(user: Client) -> None:
    result = user.call_tool(
        "suggest_approved_query",
        {
            "name": SUGGESTION,
            "description": "How many orders stand where",
            "sql": "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status",
            "parameters": [],
            "context": "Asked for every Monday",
        },
        server="data",
    )
    assert not result.is_error, result.text


def _attack(office: "Office", administrator: Client) -> None:
    service = office.client("service")
    listed = service.call_tool("list_approved_queries", {}, server="data").structured
    assert listed is not None
    (query,) = (each["query_id"] for each in listed["queries"] if each["name"] == QUERY)
    for city in ("Bern", INJECTION):
        given = {"query_id": query, "parameters": {"city": city}}
        service.call_tool("execute_approved_query", given, server="data")
    until(
        lambda: bool(
            administrator.ask(alerts.list_newest(DEFAULT_TENANT, status="open")).data.items
        ),
        office,
    )


def until(is_so: Callable[[], bool], office: "Office") -> None:
    """Wait until something is so, and fail with the log of the gateway where it never is."""
    deadline = time.monotonic() + LONGEST_WAIT
    while not is_so():
        assert time.monotonic() < deadline, office.running.log.read_text()
        with suppress(Exception):
            office.running.process.wait(0.1)
