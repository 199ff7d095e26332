"""A gateway that serves in this process: calls of every outcome, and what is read off it."""

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from tests.api.worlds import ROLE, Api, open_api

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.gateway import MODERN, fixture_entry
from remit.testing.upstream import received

TOOLS: list[str | Mapping[str, Any]] = [
    "work",
    "rest",
    {"name": "fail", "x-fixture": {"result": {"isError": True, "content": []}}},
    {"name": "break", "x-fixture": {"error": {"code": -32000, "message": "no"}}},
    {"name": "often"},
    {
        "name": "strict",
        "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
    },
]
_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

Key = tuple[str, frozenset[tuple[str, str]]]


@dataclass(frozen=True, kw_only=True)
class Scrape:
    """What `/metrics` said."""

    text: str
    values: Mapping[Key, float]

    @classmethod
    def read(cls, text: str) -> "Scrape":
        """Read the text format, as strictly as it is written here."""
        values: dict[Key, float] = {}
        for line in text.splitlines():
            if line.startswith("#"):
                continue
            found = _SAMPLE.fullmatch(line)
            assert found is not None, line
            key = (found[1], frozenset(_LABEL.findall(found[2] or "")))
            assert key not in values, f"twice: {line}"
            values[key] = float(found[3])
        return cls(text=text, values=values)

    def sum(self, name: str, **labels: str) -> float:
        """Return the sum of the samples that have these labels."""
        return sum(
            value
            for (sample, held), value in self.values.items()
            if sample == name and set(labels.items()) <= held
        )

    def labels(self, name: str) -> list[dict[str, str]]:
        """Return the labels of every sample of that name."""
        return [dict(held) for sample, held in self.values if sample == name]


@dataclass(frozen=True, kw_only=True)
class Watched:
    """A gateway with the servers `tools` and `gone`, of which the latter never comes up."""

    api: Api

    def received(self) -> list[dict[str, Any]]:
        """Return the calls that reached the server `tools`, oldest first."""
        return received(self.api.folder / "ran", "tools/call")

    def call(
        self,
        name: str,
        arguments: Any = None,
        *,
        by: str = "role key",
        meta: Mapping[str, str] | None = None,
        **headers: str,
    ) -> httpx2.Response:
        """Call a tool in the era of 2026-07-28."""
        envelope: dict[str, object] = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            **(meta or {}),
        }
        params = {"name": name, "arguments": arguments or {}, "_meta": envelope}
        sent = {
            "Accept": "application/json",
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": "tools/call",
            "Mcp-Name": name,
            **headers,
        }
        credential = self.api.credentials[by]
        if credential is not None:
            sent["Authorization"] = f"Bearer {credential}"
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return httpx2.post(
            f"{self.api.base}/mcp", json=body, headers=sent, timeout=30, verify=TRUSTS_NOBODY
        )

    def metrics(self, by: str | None = "administrator", **headers: str) -> httpx2.Response:
        """Ask for the metrics as one of the callers, or as nobody."""
        credential = None if by is None else self.api.credentials[by]
        sent = {} if credential is None else {"Authorization": f"Bearer {credential}"}
        return httpx2.get(
            f"{self.api.base}/metrics", headers=sent | headers, timeout=30, verify=TRUSTS_NOBODY
        )

    def scrape(self, by: str | None = "administrator") -> Scrape:
        """Return what an administrator reads."""
        reply = self.metrics(by)
        assert reply.status_code == 200, reply.text
        return Scrape.read(reply.text)


def document(folder: Path) -> dict[str, Any]:
    """Return the declaration."""
    allowed = ["tools/work", "tools/fail", "tools/break", "tools/often", "tools/strict", "gone/*"]
    return {
        "version": "1.0",
        "mcp_servers": {
            "tools": fixture_entry(TOOLS, folder / "ran", session="shared"),
            "gone": {"command": "no-such-command-anywhere"},
        },
        "roles": {ROLE: {"allow": allowed}},
        "limits": [{"tool": "tools/often", "calls": 1, "per": "hour"}],
    }


@contextmanager
def open_watched(folder: Path, **more: Any) -> Generator[Watched]:
    """Serve the declaration, with *more* keys in it."""
    with open_api(folder, document(folder) | more) as api:
        yield Watched(api=api)
