"""One operation of each kind, ready to be asked for by an administrator.

A new operation of the OpenAPI document without a line here fails `test_operations.py`.
"""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from uuid import uuid4

from tests.api.worlds import AGENT, QUESTION, ROLE
from tests.client.data_operations import DATA_EXAMPLES

from remit.client import (
    Client,
    Operation,
    agents,
    alerts,
    audit,
    authority,
    crew,
    datasources,
    declaration,
    doctor,
    grants,
    inbox,
    keys,
    me,
    overview,
    projects,
    revisions,
    roles,
    servers,
    tenants,
    users,
)

PROJECT = "default"


def fresh(prefix: str = "x") -> str:
    return f"{prefix}{uuid4().hex[:8]}"


def open_alert(client: Client) -> str:
    listed = client.ask(alerts.list_newest(PROJECT, status="open", limit=1))
    return listed.data.items[0].id


def newest_row(client: Client) -> str:
    return client.ask(audit.search(limit=1)).items[0].id


def entry() -> dict[str, object]:
    return {"command": "no-such-program", "enabled": False}


def grant() -> dict[str, object]:
    return {"user": fresh(), "effect": "deny", "server": "tools"}


def new_key(client: Client) -> str:
    return client.ask(keys.create(fresh("k"), role=ROLE)).name


def new_server(client: Client) -> str:
    return client.ask(servers.create(fresh("s"), entry())).name


def new_role(client: Client) -> str:
    return client.ask(roles.create(fresh("r"), {"allow": ["tools/*"]})).name


def new_grant(client: Client) -> str:
    return client.ask(grants.create(grant())).name


def disabled(client: Client) -> str:
    return client.ask(users.disable(fresh("u"))).name


def tag(client: Client) -> str:
    return client.ask_tagged(declaration.get()).etag


def tagged_agent(client: Client) -> Operation[agents.Agent]:
    seen = client.ask_tagged(agents.get(AGENT))
    return agents.change(AGENT, {"epic": fresh()}, if_match=seen.etag)


def the_same(client: Client) -> Operation[Any]:
    return declaration.apply(client.ask(declaration.get()), if_match="*")


def source_file() -> str:
    """Return the path of a new database of SQLite."""
    path = Path(mkdtemp(prefix="remit-source-")) / "source.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (n INTEGER)")
    return str(path)


def new_source(client: Client) -> str:
    made = datasources.add(PROJECT, fresh("d"), engine="sqlite", url=source_file())
    return client.ask(made).name


def with_project_key(client: Client) -> Operation[Any]:
    client.ask(projects.regenerate_agent_key(PROJECT))
    return projects.revoke_agent_key(PROJECT)


EXAMPLES: Mapping[str, Callable[[Client], Operation[Any]]] = {
    "me.get": lambda _: me.get(),
    "me.tools": lambda _: me.tools(),
    "tenants.list": lambda _: tenants.list_all(),
    "tenants.create": lambda _: tenants.create(fresh("t")),
    "tenants.get": lambda _: tenants.get("default"),
    "servers.list": lambda _: servers.list_all(),
    "servers.get": lambda _: servers.get("tools"),
    "servers.bundled": lambda _: servers.bundled(),
    "servers.tools": lambda _: servers.tools("tools"),
    "servers.create": lambda _: servers.create(fresh("s"), entry()),
    "servers.replace": lambda c: servers.replace(new_server(c), entry(), if_match=tag(c)),
    "servers.change": lambda c: servers.change(
        new_server(c), {"description": "changed"}, if_match=tag(c)
    ),
    "servers.remove": lambda c: servers.remove(new_server(c), if_match=tag(c)),
    "servers.enable": lambda c: servers.enable(new_server(c)),
    "servers.disable": lambda c: servers.disable(new_server(c)),
    "servers.test": lambda _: servers.test("tools"),
    "servers.restart": lambda c: servers.restart(new_server(c)),
    "roles.list": lambda _: roles.list_all(),
    "roles.get": lambda _: roles.get(ROLE),
    "roles.create": lambda _: roles.create(fresh("r"), {}),
    "roles.replace": lambda c: roles.replace(
        new_role(c), {"allow": ["tools/rest"]}, if_match=tag(c)
    ),
    "roles.change": lambda c: roles.change(new_role(c), {"deny": ["tools/rest"]}, if_match=tag(c)),
    "roles.remove": lambda c: roles.remove(new_role(c), if_match=tag(c)),
    "grants.list": lambda _: grants.list_all(),
    "grants.get": lambda c: grants.get(new_grant(c)),
    "grants.create": lambda _: grants.create(grant()),
    "grants.replace": lambda c: grants.replace(new_grant(c), grant(), if_match=tag(c)),
    "grants.remove": lambda c: grants.remove(new_grant(c), if_match=tag(c)),
    "inbox.list": lambda _: inbox.list_newest(every=True),
    "inbox.thread": lambda _: inbox.thread(QUESTION),
    "inbox.read": lambda _: inbox.read(QUESTION),
    "inbox.reply": lambda _: inbox.reply(QUESTION, "8401."),
    "users.list": lambda _: users.list_all(),
    "users.get": lambda _: users.get("auth0|a/b .."),
    "users.disable": lambda _: users.disable(fresh("u")),
    "users.enable": lambda c: users.enable(disabled(c)),
    "keys.list": lambda _: keys.list_all(),
    "keys.get": lambda c: keys.get(new_key(c)),
    "keys.create": lambda _: keys.create(fresh("k"), role=ROLE),
    "keys.rotate": lambda c: keys.rotate(new_key(c), overlap=5),
    "keys.revoke": lambda c: keys.revoke(new_key(c)),
    "crew.list": lambda _: crew.list_all(),
    "crew.get": lambda _: crew.get(AGENT),
    "agents.list": lambda _: agents.list_all(),
    "agents.get": lambda _: agents.get(AGENT),
    "agents.create": lambda _: agents.create(fresh("a"), type="WORKER"),
    "agents.change": tagged_agent,
    "revisions.list": lambda _: revisions.list_all(),
    "revisions.get": lambda _: revisions.get(1),
    "revisions.diff": lambda _: revisions.diff(1),
    "revisions.rollback": lambda _: revisions.rollback(1, dry_run=True),
    "datasources.list": lambda _: datasources.list_all(PROJECT),
    "datasources.get": lambda c: datasources.get(PROJECT, new_source(c)),
    "datasources.add": lambda _: datasources.add(
        PROJECT, fresh("d"), engine="sqlite", url=source_file(), settings={"rowLimit": 7}
    ),
    "datasources.change": lambda c: datasources.change(
        PROJECT, new_source(c), {"tables": ["t"], "isDefault": False}, if_match="*"
    ),
    "datasources.remove": lambda c: datasources.remove(PROJECT, new_source(c), if_match="*"),
    "datasources.test": lambda c: datasources.test(PROJECT, new_source(c)),
    "declaration.export": lambda _: declaration.get(),
    "declaration.apply": the_same,
    "explain": lambda _: authority.explain(f"role:{ROLE}", "tools/work"),
    "who_can": lambda _: authority.who_can("tools/work"),
    "authority.matrix": lambda _: authority.matrix(),
    "authority.export": lambda _: authority.export(),
    "tools.list": lambda _: authority.tools(f"role:{ROLE}"),
    "audit.search": lambda _: audit.search(),
    "audit.get": lambda client: audit.get(newest_row(client)),
    "audit.decisions": lambda _: audit.decisions(),
    "audit.verify": lambda _: audit.verify(),
    "audit.export": lambda _: audit.export(),
    "overview.get": lambda _: overview.get(minutes=5),
    "doctor.examine": lambda _: doctor.examine(),
    "alerts.list": lambda _: alerts.list_newest(PROJECT),
    "alerts.resolve": lambda client: alerts.resolve(PROJECT, open_alert(client), note="x"),
    "alerts.dismiss": lambda client: alerts.dismiss(PROJECT, open_alert(client)),
    "alerts.resolve_all": lambda _: alerts.resolve_all(PROJECT, user="user:nobody"),
    "alerts.config": lambda _: alerts.config(PROJECT),
    "alerts.configure": lambda _: alerts.configure(
        PROJECT, {"repeated_errors": {"errors": 7}}, if_match="*"
    ),
    "projects.config": lambda _: projects.config(PROJECT),
    "projects.configure": lambda _: projects.configure(PROJECT, {"addQueryTools": False}),
    "projects.agent_key": lambda _: projects.agent_key(PROJECT),
    "projects.regenerate_agent_key": lambda _: projects.regenerate_agent_key(PROJECT),
    "projects.revoke_agent_key": with_project_key,
    **DATA_EXAMPLES,
}
