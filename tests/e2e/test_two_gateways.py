"""A change is in force on every gateway of one store within two seconds (R17, must-show 4)."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from remit.admin.keys import make_key, revoke_key
from remit.model.agents import Agent, AgentType
from remit.model.principals import DEFAULT_TENANT
from remit.storage.agents import Agents
from remit.storage.database import Database, default_url, open_database
from remit.storage.keys import Keys
from remit.storage.revisions import Revisions
from remit.storage.users import Users
from remit.testing.gateway import Caller, Running, fixture_entry, start_gateway
from remit.testing.postgres import PostgresServer

REACH = 2.0
"""Seconds within which a change is in force everywhere."""

TOOLS = ["read", "write"]


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two gateways, each with a state folder of its own unless the store is SQLite."""

    one: Running
    two: Running
    database: Database


def _document(folder: Path, tools: list[str], grants: list[Any] | None = None) -> dict[str, Any]:
    servers = {
        "files": fixture_entry(TOOLS, folder / "files", session="shared"),
        "notes": fixture_entry(["add"], folder / "notes", session="shared"),
    }
    return {
        "version": "1.0",
        "mcp_servers": servers,
        "roles": {"clerk": {"tools": {"files": tools}}, "scribe": {"allow": ["*/add"]}},
        "agent_types": {"WORKER": {"allow": ["notes/*"]}},
        "grants": grants or [],
    }
