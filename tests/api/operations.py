"""A request for every operation of the OpenAPI document that an administrator's key is served.

A new operation without a line here fails `test_rules.py`.
"""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from uuid import uuid4

from tests.api.data_operations import DATA_EXAMPLES
from tests.api.examples import Example, plain
from tests.api.worlds import AGENT, QUESTION, ROLE, Api


def new_key(api: Api) -> str:
    """Make a key that nobody else needs; return its name."""
    name = f"key-{uuid4()}"
    assert api.send("POST", "/keys", body={"name": name, "role": ROLE}).status_code == 201
    return name


def disabled_user(api: Api) -> str:
    name = f"user-{uuid4()}"
    assert api.send("POST", f"/users/{name}/disable").status_code == 200
    return name


PROJECT = "/api/projects/default/mcp"
AUDIT = "/api/projects/default/audit"
DATASOURCES = "/api/projects/default/datasources"
UNSEEN = {"If-Match": "*"}


def datasource() -> dict[str, object]:
    """Return a datasource under a name of its own: a database of SQLite with one table."""
    path = Path(mkdtemp(prefix="remit-source-")) / "source.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (n INTEGER)")
    return {"name": f"d{uuid4().hex[:8]}", "engine": "sqlite", "url": str(path)}


def new_datasource(api: Api) -> str:
    """Add a datasource that nobody else needs; return its name."""
    made = datasource()
    assert api.send("POST", DATASOURCES, body=made).status_code == 201
    return str(made["name"])


def with_project_key(api: Api) -> Example:
    assert api.send("POST", f"{PROJECT}/agent-key/regenerate").status_code == 200
    return Example(path=f"{PROJECT}/agent-key")


def open_alert(api: Api) -> str:
    """Return the path of an alert that nobody has closed."""
    listed = api.get(f"{AUDIT}/alerts", params={"status": "open", "limit": "1"})
    return f"{AUDIT}/alerts/{listed['data']['items'][0]['id']}"


def newest_row(api: Api) -> str:
    """Return the id of the newest call or change; makes one."""
    new_role(api)
    return str(api.get("/audit", params={"limit": "1"})["items"][0]["id"])


def entry() -> dict[str, object]:
    """Return a server that cannot run, under a name of its own."""
    return {"name": f"s{uuid4().hex[:8]}", "command": "no-such-program", "enabled": False}


def new_server(api: Api) -> str:
    """Declare a server that nobody else needs; return its name."""
    made = entry()
    assert api.send("POST", "/servers", body=made).status_code == 201
    return str(made["name"])


def new_role(api: Api) -> str:
    """Declare a role that nobody else needs; return its name."""
    name = f"r{uuid4().hex[:8]}"
    assert api.send("POST", "/roles", body={"name": name, "allow": ["tools/*"]}).status_code == 201
    return name


def grant() -> dict[str, str]:
    return {"user": str(uuid4()), "effect": "deny", "server": "tools"}


def new_grant(api: Api) -> str:
    """Declare a grant that nobody else needs; return its id."""
    made = api.send("POST", "/grants", body=grant())
    assert made.status_code == 201, made.text
    return made.json()["name"]


def guarded(make: Callable[[Api], str], path: str, body: Any = None) -> Callable[[Api], Example]:
    """Return what changes something of its own, with the present state in view."""

    def example(api: Api) -> Example:
        name = make(api)
        headers = {"If-Match": api.tag("/declaration")}
        return Example(path=f"{path}/{name}", body=body, headers=headers)

    return example


def the_same_declaration(api: Api) -> Example:
    document = api.get("/declaration")
    return Example(path="/declaration", body=document, headers={"If-Match": "*"})


EXAMPLES: Mapping[str, Callable[[Api], Example]] = {
    "me.get": plain("/me"),
    "me.tools": plain("/me/tools"),
    "tenants.list": plain("/tenants"),
    "tenants.create": lambda _: Example(
        path="/tenants", body={"name": f"t{uuid4().hex[:8]}"}, status=201
    ),
    "tenants.get": plain("/tenants/default"),
    "servers.list": plain("/servers"),
    "servers.get": plain("/servers/tools"),
    "servers.bundled": plain("/bundled-servers"),
    "servers.tools": plain("/servers/tools/tools"),
    "roles.list": plain("/roles"),
    "roles.get": plain(f"/roles/{ROLE}"),
    "servers.create": lambda _: Example(path="/servers", body=entry(), status=201),
    "servers.replace": guarded(new_server, "/servers", {"command": "other", "enabled": False}),
    "servers.change": guarded(new_server, "/servers", {"description": "changed"}),
    "servers.remove": guarded(new_server, "/servers"),
    "servers.enable": lambda api: Example(path=f"/servers/{new_server(api)}/enable"),
    "servers.disable": lambda api: Example(path=f"/servers/{new_server(api)}/disable"),
    "servers.test": plain("/servers/tools/test"),
    "servers.restart": lambda api: Example(path=f"/servers/{new_server(api)}/restart"),
    "roles.create": lambda _: Example(path="/roles", body={"name": str(uuid4())}, status=201),
    "roles.replace": guarded(new_role, "/roles", {"allow": ["tools/rest"]}),
    "roles.change": guarded(new_role, "/roles", {"deny": ["tools/rest"]}),
    "roles.remove": guarded(new_role, "/roles"),
    "grants.list": plain("/grants"),
    "grants.get": lambda api: Example(path=f"/grants/{new_grant(api)}"),
    "grants.create": lambda _: Example(path="/grants", body=grant(), status=201),
    "grants.replace": guarded(new_grant, "/grants", grant()),
    "grants.remove": guarded(new_grant, "/grants"),
    "declaration.export": plain("/declaration"),
    "declaration.apply": the_same_declaration,
    "revisions.rollback": plain("/revisions/1/rollback", dry_run="true"),
    "inbox.list": plain("/inbox", all="true"),
    "inbox.thread": plain(f"/inbox/{QUESTION}/thread"),
    "inbox.read": lambda _: Example(path=f"/inbox/{QUESTION}/read"),
    "inbox.reply": lambda _: Example(
        path=f"/inbox/{QUESTION}/reply", body={"body": "Take 8400."}, status=201
    ),
    "users.list": plain("/users"),
    "users.get": plain("/users/ann"),
    "users.disable": lambda _: Example(path=f"/users/{uuid4()}/disable"),
    "users.enable": lambda api: Example(path=f"/users/{disabled_user(api)}/enable"),
    "keys.list": plain("/keys"),
    "keys.get": lambda api: Example(path=f"/keys/{new_key(api)}"),
    "keys.create": lambda _: Example(
        path="/keys", body={"name": str(uuid4()), "role": ROLE}, status=201
    ),
    "keys.rotate": lambda api: Example(path=f"/keys/{new_key(api)}/rotate"),
    "keys.revoke": lambda api: Example(path=f"/keys/{new_key(api)}"),
    "crew.list": plain("/crew"),
    "crew.get": plain(f"/crew/{AGENT}"),
    "agents.list": plain("/agents"),
    "agents.get": plain(f"/agents/{AGENT}"),
    "agents.create": lambda _: Example(
        path="/agents", body={"id": str(uuid4()), "type": "WORKER"}, status=201
    ),
    "agents.change": lambda api: Example(
        path=f"/agents/{AGENT}",
        body={"epic": str(uuid4())},
        headers={"If-Match": api.tag(f"/agents/{AGENT}")},
    ),
    "revisions.list": plain("/revisions"),
    "revisions.get": plain("/revisions/1"),
    "revisions.diff": plain("/revisions/1/diff"),
    "explain": plain("/explain", tool="tools/work", **{"as": f"role:{ROLE}"}),
    "who_can": plain("/who-can", tool="tools/work"),
    "authority.matrix": plain("/matrix", kind="agent_type", decision="allow"),
    "authority.export": plain("/matrix/export"),
    "tools.list": plain("/tools", **{"as": f"role:{ROLE}"}),
    "overview.get": plain("/overview", minutes="5"),
    "doctor.examine": plain("/doctor"),
    "audit.search": plain("/audit"),
    "audit.get": lambda api: Example(path=f"/audit/{newest_row(api)}"),
    "audit.decisions": plain("/audit/decisions"),
    "audit.verify": plain("/audit/verify"),
    "audit.export": plain("/audit/export"),
    "alerts.list": plain(f"{AUDIT}/alerts", severity="info", status="open", limit="2"),
    "alerts.resolve": lambda api: Example(path=f"{open_alert(api)}/resolve", body={"note": "x"}),
    "alerts.dismiss": lambda api: Example(path=f"{open_alert(api)}/dismiss", body={}),
    "alerts.resolve_all": lambda _: Example(
        path=f"{AUDIT}/alerts/resolve-all", body={"user": "user:nobody"}
    ),
    "alerts.config": plain(f"{AUDIT}/alert-config"),
    "alerts.configure": lambda _: Example(
        path=f"{AUDIT}/alert-config", body={"repeated_errors": {"errors": 7}}
    ),
    "projects.config": plain(f"{PROJECT}/config"),
    "projects.configure": lambda _: Example(
        path=f"{PROJECT}/config", body={"addQueryTools": False}
    ),
    "projects.agent_key": plain(f"{PROJECT}/agent-key"),
    "projects.regenerate_agent_key": plain(f"{PROJECT}/agent-key/regenerate"),
    "projects.revoke_agent_key": with_project_key,
    **DATA_EXAMPLES,
    "datasources.list": plain(DATASOURCES),
    "datasources.add": lambda _: Example(path=DATASOURCES, body=datasource(), status=201),
    "datasources.get": lambda api: Example(path=f"{DATASOURCES}/{new_datasource(api)}"),
    "datasources.change": lambda api: Example(
        path=f"{DATASOURCES}/{new_datasource(api)}", body={"rowLimit": 9}, headers=UNSEEN
    ),
    "datasources.remove": lambda api: Example(
        path=f"{DATASOURCES}/{new_datasource(api)}", headers=UNSEEN
    ),
    "datasources.test": lambda api: Example(path=f"{DATASOURCES}/{new_datasource(api)}/test"),
}
