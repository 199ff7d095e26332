"""A reload beside other workers that reload as well."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
from structlog.testing import capture_logs

from remit.app.doors import build_http_doors
from remit.app.gateway import open_gateway
from remit.model.principals import DEFAULT_TENANT
from remit.model.revisions import Revision
from remit.settings import Settings
from remit.storage.database import Database
from remit.storage.revisions import Revisions


class Overtaken(Revisions):
    """Revisions of which another worker writes one just before we do, once."""

    def __init__(self, database: Database, others: Mapping[str, object]) -> None:
        super().__init__(database)
        self._others: Mapping[str, object] | None = others

    async def write(self, tenant: str, document: Mapping[str, object], **more: Any) -> Revision:
        """Write what the other says first."""
        others, self._others = self._others, None
        if others is not None:
            now = datetime.now(UTC)
            await super().write(tenant, others, author="serve", reason="", now=now, from_file=True)
        return await super().write(tenant, document, **more)


def _document(role: str) -> dict[str, object]:
    return {"mcp_servers": {"git": {"builtin": "git"}}, "roles": {role: {"allow": ["git/*"]}}}


async def test_a_file_that_another_worker_read_before_it_changed_again_is_put_in_force(
    tmp_path: Path,
) -> None:
    config = tmp_path / "remit.yaml"
    config.write_text(json.dumps(_document("first")))
    async with open_gateway(Settings(config=config), author="serve") as gateway:
        installation = gateway.installation
        revisions = Overtaken(installation.database, _document("second"))
        overtaken = replace(gateway, installation=replace(installation, revisions=revisions))
        config.write_text(json.dumps(_document("third")))

        with capture_logs() as logged:
            await overtaken.reload()

        latest = await revisions.latest(DEFAULT_TENANT)
    assert latest is not None
    assert (latest.number, latest.document["roles"]) == (3, {"third": {"allow": ["git/*"]}})
    assert not [line for line in logged if line["event"] == "the declaration is not reloaded"]


async def test_how_a_gateway_is_seen_from_outside_counts_at_once(tmp_path: Path) -> None:
    config = tmp_path / "remit.yaml"
    config.write_text(json.dumps(_document("first")))
    seen: list[int] = []
    async with open_gateway(Settings(config=config), author="serve") as gateway:
        doors = build_http_doors(gateway, loopback=True)
        transport = httpx2.ASGITransport(app=doors.app)
        async with httpx2.AsyncClient(
            transport=transport, base_url="https://remit.example.test"
        ) as http:
            for server in ({}, {"public_url": "https://remit.example.test"}, {}):
                config.write_text(json.dumps({**_document("first"), "server": server}))
                await gateway.reload()
                seen.append((await http.get("/console")).status_code)
        doors.stop()

    assert seen == [421, 303, 421]
