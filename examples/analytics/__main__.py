"""A business user asks, an analyst approves, an agent queries, and an injection gets nowhere.

    make example NAME=analytics

A gateway with a `data` server over a shop of a hundred thousand rows, and four callers with
credentials of their own. Every line that is printed was looked at before.
"""

import json
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import anyio
import httpx2
from shop import make_shop

from remit.admin.secret_files import write_secret
from remit.data.datasources import Edit
from remit.identity.development import KEY_FILE
from remit.identity.development_tokens import make_signing_key
from remit.model.data import EngineKind
from remit.settings import Settings
from remit.storage.database import default_url
from remit.testing.data_gateway import (
    MASTER_KEY,
    Callers,
    DataCaller,
    DataGateway,
    add_source,
    open_callers,
)
from remit.testing.gateway import start_gateway

PATIENCE: Final = 120
"""Seconds that the whole may take; it takes a tenth of that."""

REVENUE: Final = (
    "SELECT c.city, COUNT(DISTINCT o.id) AS orders, SUM(l.quantity * p.cents) / 100.0 AS revenue"
    " FROM customers c JOIN orders o ON o.customer_id = c.id"
    " JOIN order_lines l ON l.order_id = o.id JOIN products p ON p.id = l.product_id"
    " WHERE c.city = {{city}} AND o.status = 'paid' GROUP BY c.city"
)
PARAMETERS: Final = (
    {"name": "city", "type": "string", "description": "As customers write it", "example": "Bern"},
)
AGENT_TOOLS: Final = ("health", "list_approved_queries", "execute_approved_query")
TABLES: Final = ("customers", "products", "orders", "order_lines")
INJECTION: Final = "x' OR 1=1 --"


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    """The gateway, and whoever is at work.

    Attributes:
        auditor: The API of the project, as its administrator.
    """

    gateway: DataGateway
    callers: Callers
    auditor: httpx2.AsyncClient

    async def ask(self, path: str, **query: str) -> Any:
        """Read something of the project."""
        reply = await self.auditor.get(f"/api/projects/default/{path}", params=query)
        check(reply.is_success, f"{path}: {reply.status_code} {reply.text}")
        return reply.json()["data"]

    async def alerts(self) -> Sequence[Mapping[str, Any]]:
        """Return the open alerts on injections, newest first."""
        found = await self.ask("audit/alerts", type="sql_injection_detected", status="open")
        items: Sequence[Mapping[str, Any]] = found["items"]
        return items

    async def screen(self, screening: str) -> None:
        """Declare what becomes of a value that looks like an injection."""
        reply = await self.auditor.put(
            "/api/v1/declaration", json=declaration(screening), headers={"If-Match": "*"}
        )
        check(reply.is_success, reply.text)


async def run(office: Office) -> None:
    """Let it happen."""
    uma, dana = office.callers.user(), office.callers.analyst()
    await learn(uma, dana)
    suggestion = await suggest(uma)
    await decide(uma, dana, suggestion)
    agent = await office.callers.service("reports", queries=[suggestion])
    await query(agent, suggestion)
    await attack(office, agent, suggestion)
    await look_back(office, dana, agent, suggestion)


async def learn(uma: DataCaller, dana: DataCaller) -> None:
    """Let the analyst have the shop's schema read, and say what a word of it means."""
    await dana.does("refresh_schema", auto_select=True)
    schema = json.dumps(await dana.does("get_schema"))
    check(all(table in schema for table in TABLES), schema)
    say(f"dana, an analyst, has the schema read: {', '.join(TABLES)}")
    await dana.does(
        "update_glossary_term",
        term="revenue",
        definition="What was paid: quantity times price of the lines of orders that are paid",
    )
    known = await uma.does("list_glossary")
    check("revenue" in json.dumps(known), known)
    say("dana says what revenue means; everybody reads it")


async def suggest(uma: DataCaller) -> str:
    """Let the business user suggest a query, and return its id."""
    failure = await uma.fails("query", sql="DELETE FROM orders")
    check(failure == "invalid_sql_type", failure)
    say("uma, a business user, may read and change nothing: DELETE is refused")
    suggested = await uma.does(
        "suggest_approved_query",
        name="Revenue of a city",
        description="Paid orders and what they brought in, for one city",
        sql=REVENUE,
        parameters=list(PARAMETERS),
        context="Asked for every Monday",
    )
    check(suggested["status"] == "pending", suggested)
    say("uma suggests a query; it ran dry, and waits")
    return str(suggested["suggestion_id"])


async def decide(uma: DataCaller, dana: DataCaller, suggestion: str) -> None:
    """Let somebody else than who suggested it decide."""
    failure = await uma.fails("approve_query_suggestion", suggestion_id=suggestion)
    check(failure == "query_not_authorized", failure)
    say("uma may not approve it: query_not_authorized")
    approved = await dana.does("approve_query_suggestion", suggestion_id=suggestion)
    check(approved["status"] == "approved", approved)
    say("dana approves it")


async def query(agent: DataCaller, query_id: str) -> None:
    """Let an agent with a service key run it."""
    tools = await agent.tools()
    check(tools == list(AGENT_TOOLS), tools)
    say(f"an agent's key lists exactly three tools: {', '.join(tools)}")
    listed = await agent.does("list_approved_queries")
    check([each["name"] for each in listed["queries"]] == ["Revenue of a city"], listed)
    ran = await agent.does(
        "execute_approved_query", query_id=query_id, parameters={"city": "Zürich"}
    )
    [[city, orders, revenue]] = ran["rows"]
    check(city == "Zürich" and orders > 0 and revenue > 0, ran)
    say(f"the agent asks for {city}: {orders} orders, {revenue:,.2f} of revenue")


async def attack(office: Office, agent: DataCaller, query_id: str) -> None:
    """Let the agent send what looks like an injection, to both settings of the screen."""
    sent = {"query_id": query_id, "parameters": {"city": INJECTION}}
    failure = await agent.fails("execute_approved_query", **sent)
    check(failure == "security_violation", failure)
    say(f"the agent sends {INJECTION!r}: the screen refuses it, security_violation")
    [alert] = await until(office.alerts, 1)
    check((alert["severity"], alert["user"]) == ("critical", agent.subject), alert)
    check(INJECTION not in json.dumps(alert), alert)
    say(f"an alert is open: {alert['title']}")
    closed = await office.auditor.post(
        f"/api/projects/default/audit/alerts/{alert['id']}/resolve",
        json={"note": "the agent was taught better"},
    )
    check(closed.json()["data"]["status"] == "resolved", closed.text)
    say("the auditor resolves it")

    await office.screen("alert")
    ran = await agent.does("execute_approved_query", **sent)
    check(ran["rows"] == [], ran)
    say("with `screening: alert` the same value is bound: no city has that name, no row comes")
    [again] = await until(office.alerts, 1)
    check(again["id"] != alert["id"], again)
    say("and it raises an alert all the same")


async def look_back(office: Office, dana: DataCaller, agent: DataCaller, query_id: str) -> None:
    """Let the auditor see who approved, and what ran."""
    approvals = (await office.ask("audit/query-approvals"))["items"]
    decided = [(each["user"], each["outcome"]) for each in approvals]
    check((dana.subject, "ok") in decided, approvals)
    say(f"the auditor sees that {dana.subject} approved")
    executions = (await office.ask("audit/query-executions", query=query_id))["items"]
    theirs = [each for each in executions if each["user"] == agent.subject]
    codes = [each["code"] or "" for each in theirs]
    check(codes == ["", "security_violation", ""], executions)
    say(f"and the {len(theirs)} executions of {agent.subject}, the refused one among them")
    events = (await office.ask("audit/mcp-events", user=agent.subject))["items"]
    check(len(events) > len(theirs), events)
    say(f"and {len(events)} calls of it in the record")


async def until(find: Callable[[], Any], most: int) -> Sequence[Mapping[str, Any]]:
    """Return what is found, once there is some."""
    while True:
        found: Sequence[Mapping[str, Any]] = await find()
        if found:
            check(len(found) <= most, found)
            return found
        await anyio.sleep(0.1)


def check(holds: bool, told: object) -> None:
    """End the story if it is not true."""
    if not holds:
        raise AssertionError(told)


def say(line: str) -> None:
    """Print one line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def declaration(screening: str) -> dict[str, object]:
    """Return what this place declares."""
    return {
        "version": "1.0",
        "mcp_servers": {"data": {"builtin": "data"}},
        "data": {"screening": screening},
    }


@asynccontextmanager
async def open_office(folder: Path) -> AsyncGenerator[Office]:
    """Make the shop and start the gateway in *folder*; nothing runs on afterwards."""
    shop = folder / "shop.db"
    say(f"a shop of {make_shop(shop):,} rows")
    config, own = folder / "remit.yaml", default_url(folder)
    config.write_text(json.dumps(declaration("refuse"), indent=2))
    settings = Settings(config=config, database_url=own, master_key=MASTER_KEY)
    settings.state.mkdir(mode=0o700, exist_ok=True)
    write_secret(settings.state / KEY_FILE, make_signing_key() + "\n")
    await add_source(settings, "shop", EngineKind.SQLITE, Edit(url=str(shop)))
    environ = {"REMIT_DATABASE_URL": own, "REMIT_MASTER_KEY": MASTER_KEY}
    running = start_gateway(folder, config, environ).settle()
    try:
        gateway = DataGateway(
            running=running, database_url=own, kind=EngineKind.SQLITE, location=str(shop)
        )
        headers = {"Authorization": f"Bearer {running.admin_key}"}
        async with (
            open_callers(gateway) as callers,
            httpx2.AsyncClient(base_url=running.base, headers=headers, timeout=60) as auditor,
        ):
            yield Office(gateway=gateway, callers=callers, auditor=auditor)
    finally:
        running.stop()


async def main(folder: Path) -> None:
    """Run all of it in *folder*."""
    with anyio.fail_after(PATIENCE):
        async with open_office(folder) as office:
            await run(office)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        anyio.run(main, Path(sys.argv[1]))
    else:
        with TemporaryDirectory() as made:
            anyio.run(main, Path(made))
