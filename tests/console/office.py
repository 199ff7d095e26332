"""A gateway with something of everything in it, and keys of whoever may sign in at its console.

with open_office(folder) as office:
    office.client("administrator").ask(servers.list_all())
    office.visit("auditor").get("/audit")
"""

import json
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal
from tests.console.past import remember
from tests.console.present import DATASOURCE, let_things_happen
from tests.console.visits import Visit, sign_in

from remit.admin.default_roles import default_document
from remit.app.bundled import CREW
from remit.client import Client, agents, keys
from remit.model.data import EngineKind
from remit.settings import Settings
from remit.testing.gateway import Running, fixture_entry, start_gateway
from remit.testing.shops import make_shop
from remit.testing.squad import make_repositories

AGENT = "builder"
"""A worker of the crew."""

MASTER_KEY = "correct horse battery staple"
GITHUB_TOKEN = "github-token-that-nobody-shows"
"""What the declaration takes from the environment."""

VISITORS = ("administrator", "auditor", "reviewer", "user", "role", "service", "agent")
"""Whoever has a key, by what it is good for."""

DEPLOY_TOOLS = (
    {"name": "list_services", "description": "What runs, and in which version"},
    {
        "name": "deploy_service",
        "description": "Put a version of a service into production",
        "inputSchema": {
            "type": "object",
            "properties": {
                "service": {"type": "string", "description": "As list_services has it"},
                "version": {"type": "string", "pattern": "^v[0-9.]+$"},
                "notes": {"type": "string"},
            },
            "required": ["service", "version"],
        },
    },
    {
        "name": "restart_service",
        "description": "Restart a service",
        "x-fixture": {
            "result": {"content": [{"type": "text", "text": "no such service"}], "isError": True}
        },
    },
    {
        "name": "read_metrics",
        "description": "Metrics of the last hour",
        "annotations": {"readOnlyHint": True},
        "x-fixture": {"error": {"code": -32603, "message": "the metrics are away"}},
    },
)


@dataclass(frozen=True, kw_only=True)
class Office:
    """The gateway, and who comes to it.

    Attributes:
        folder: Where it runs.
        keys: Kind of visitor to the text of its key.
    """

    folder: Path
    running: Running
    keys: Mapping[str, str] = field(repr=False)
    _stack: ExitStack = field(repr=False)
    _visits: dict[str, Visit] = field(default_factory=dict[str, Visit], repr=False)
    _clients: dict[str, Client] = field(default_factory=dict[str, Client], repr=False)

    @property
    def base(self) -> str:
        """The root of every path."""
        return self.running.base

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """Return what no page of anybody may hold."""
        state = self.folder / ".remit"
        kept = [path.read_text().strip() for path in state.glob("*.key")]
        return (*(text.split("_", 2)[2] for text in self.keys.values()), GITHUB_TOKEN,
                MASTER_KEY, *kept)  # fmt: skip

    def client(self, who: str = "administrator") -> Client:
        """Return a client of the gateway with that visitor's key."""
        if who not in self._clients:
            client = Client(self.base, key=self.keys[who], timeout=60)
            self._clients[who] = self._stack.enter_context(client)
        return self._clients[who]

    def visit(self, who: str) -> Visit:
        """Return that visitor, signed in at the console without a browser."""
        if who not in self._visits:
            self._visits[who] = self._stack.enter_context(sign_in(self.base, self.keys[who]))
        return self._visits[who]


@contextmanager
def open_office(folder: Path) -> Generator[Office]:
    """Start the gateway in *folder*, let things happen there, and stop it at the end."""
    config = folder / "remit.yaml"
    config.write_text(json.dumps(_declaration(folder), indent=2))
    settings = Settings(config=config, master_key=MASTER_KEY)
    with start_blocking_portal() as portal:  # a loop of its own, whatever runs in this thread
        portal.call(remember, settings)
    environ = {"GITHUB_TOKEN": GITHUB_TOKEN, "REMIT_MASTER_KEY": MASTER_KEY}
    running = start_gateway(folder, config, environ)
    with ExitStack() as stack:
        stack.callback(_stop, running)
        running.settle()
        with Client(running.base, key=running.admin_key, timeout=60) as administrator:
            made = _make_keys(administrator)
        office = Office(
            folder=folder,
            running=running,
            keys={"administrator": running.admin_key, **made},
            _stack=stack,
        )
        let_things_happen(office, settings)
        yield office


def _declaration(folder: Path) -> dict[str, Any]:
    _, work = make_repositories(folder)
    make_shop(EngineKind.SQLITE, folder)
    roles = default_document()["roles"]
    roles["devops_engineer"]["allow"] = ["deploy/*"]
    servers: dict[str, Any] = {
        "git": {"builtin": "git", "args": ["--repository", str(work)]},
        "github": {
            "builtin": "github",
            "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "GITHUB_API_URL": "http://127.0.0.1:9"},
        },
        "deploy": fixture_entry(DEPLOY_TOOLS, folder / "deployed", session="shared"),
        "search": {"command": "no-such-program", "default_access": "allow"},
        "archive": {"url": "https://archive.example.test/mcp", "enabled": False},
        "data": {"builtin": "data"},
        **{name: {"builtin": name} for name in CREW},
    }
    return {
        "version": "1.0",
        "mcp_servers": servers,
        "roles": roles,
        "grants": [{"user": "eve", "effect": "deny", "server": "deploy"}],
        "limits": [{"per_caller": True, "calls": 600, "per": "minute"}],
    }


def _make_keys(administrator: Client) -> dict[str, str]:
    agent = agents.create(AGENT, type="WORKER", role="devops_engineer")
    administrator.ask(agents.create("planner", type="ORCHESTRATOR"))
    administrator.ask(agent)
    wanted = {
        # AUD
        "auditor": keys.create("audrey", auditor=True),
        "reviewer": keys.create("dana", user_role="data"),
        "user": keys.create("uma", user_role="user"),
        "role": keys.create("ci", role="backend_developer", expires="90d"),
        "service": keys.create("reports", service=True),
        "agent": keys.create("builder-1", agent=AGENT),
    }
    return {who: administrator.ask(operation).key for who, operation in wanted.items()}


def _stop(running: Running) -> None:
    """Stop it; it wrote no traceback but of the one tool that fails for an agent (R25)."""
    running.stop()
    written = running.log.read_text().splitlines()
    traces = [line for line in written if "Traceback" in line]
    assert all("the metrics are away" in line for line in traces), traces


__all__ = ["AGENT", "DATASOURCE", "VISITORS", "Office", "open_office"]
