"""A request for every operation of the OpenAPI document that an administrator's key is served.

A new operation without a line here fails `test_rules.py`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from tests.api.worlds import AGENT, ROLE, Api


@dataclass(frozen=True, kw_only=True)
class Example:
    """What to send, and what comes back.

    Attributes:
        path: Below `/api/v1`.
    """

    path: str
    status: int = 200
    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def plain(path: str, **query: str) -> Callable[[Api], Example]:
    return lambda _: Example(path=path, query=query)


def new_key(api: Api) -> str:
    """Make a key that nobody else needs; return its name."""
    name = f"key-{uuid4()}"
    assert api.send("POST", "/keys", body={"name": name, "role": ROLE}).status_code == 201
    return name


def disabled_user(api: Api) -> str:
    name = f"user-{uuid4()}"
    assert api.send("POST", f"/users/{name}/disable").status_code == 200
    return name


EXAMPLES: Mapping[str, Callable[[Api], Example]] = {
    "me.get": plain("/me"),
    "me.tools": plain("/me/tools"),
    "tenants.list": plain("/tenants"),
    "tenants.get": plain("/tenants/default"),
    "servers.list": plain("/servers"),
    "servers.get": plain("/servers/tools"),
    "roles.list": plain("/roles"),
    "roles.get": plain(f"/roles/{ROLE}"),
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
    "tools.list": plain("/tools", **{"as": f"role:{ROLE}"}),
    "audit.search": plain("/audit"),
    "audit.verify": plain("/audit/verify"),
    "audit.export": plain("/audit/export"),
}
