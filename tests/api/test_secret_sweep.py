"""T19: secrets that stand in a declaration are in no answer, row or log, and are not lost."""

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from tests.api.worlds import Api

SENTINEL = "sentinel-83af"
ENTRY: dict[str, Any] = {
    "command": "no-such-program",
    "args": ["--token", f"{SENTINEL}-argument", "--port", "80"],
    "env": {"API_KEY": f"{SENTINEL}-value", "PLAIN": f"{SENTINEL}-odd", "REFERENCE": "${NAME}"},
    "enabled": False,
}
REMOTE: dict[str, Any] = {
    "url": f"https://user:{SENTINEL}-password@wiki.example.test/mcp?key={SENTINEL}-query",
    "headers": {"Authorization": f"Bearer {SENTINEL}-bearer", "X-Odd": f"{SENTINEL}-header"},
    "enabled": False,
}

READ = (
    *("/servers", "/servers/child", "/servers/remote", "/declaration", "/declaration?format=yaml"),
    *("/revisions", "/revisions/2", "/revisions/2/diff", "/revisions/3", "/revisions/3/diff"),
    *("/audit", "/audit/export", "/tools?as=role:developer"),
)

pytestmark = pytest.mark.timeout(120)


def _stored(api: Api) -> dict[str, Any]:
    database = api.folder / ".remit" / "remit.db"
    with closing(sqlite3.connect(database)) as connection:
        query = "SELECT document FROM revisions ORDER BY number DESC LIMIT 1"
        (document,) = connection.execute(query).fetchone()
    return json.loads(document)["mcp_servers"]


def _sent(api: Api, method: str, path: str, body: Any, status: int) -> str:
    headers = {} if method == "POST" else {"If-Match": api.tag("/declaration")}
    reply = api.send(method, path, body=body, headers=headers)
    assert reply.status_code == status, reply.text
    assert SENTINEL not in reply.text
    return reply.text


def test_t19_a_secret_in_clear_is_shown_nowhere_and_a_form_sent_back_keeps_it(api: Api) -> None:
    _sent(api, "POST", "/servers", {"name": "child", **ENTRY}, 201)
    _sent(api, "POST", "/servers", {"name": "remote", **REMOTE}, 201)
    for path in READ:
        reply = api.send("GET", path)
        assert reply.status_code == 200, (path, reply.text)
        assert SENTINEL not in reply.text, path

    for name, entry in (("child", ENTRY), ("remote", REMOTE)):
        form = api.get(f"/servers/{name}")["declared"]
        assert "[redacted]" in json.dumps(form)
        _sent(api, "PUT", f"/servers/{name}", {**form, "description": "changed"}, 200)
        assert _stored(api)[name] == {**entry, "description": "changed"}
        _sent(api, "PATCH", f"/servers/{name}", {"description": None}, 200)
        assert _stored(api)[name] == entry

    whole = api.get("/declaration")
    _sent(api, "PUT", "/declaration", {**whole, "groups": {"all": ["ann"]}}, 200)
    assert {name: _stored(api)[name] for name in ("child", "remote")} == {
        "child": ENTRY,
        "remote": REMOTE,
    }


def test_t19_a_change_that_is_refused_tells_no_secret(
    api: Api, capfd: pytest.CaptureFixture[str]
) -> None:
    name = {"name": "other"}
    _sent(api, "POST", "/servers", {**name, **ENTRY, "timeout": f"{SENTINEL}-timeout"}, 422)
    _sent(api, "POST", "/servers", {**name, **ENTRY, "cwd": "${" + SENTINEL}, 422)
    _sent(api, "POST", "/servers", {**name, **REMOTE, "command": f"{SENTINEL}-command"}, 422)
    _sent(api, "POST", "/servers", {**name, **REMOTE, "url": f"ftp://u:{SENTINEL}@h"}, 422)

    logged = capfd.readouterr()
    assert SENTINEL not in logged.out + logged.err
    assert SENTINEL not in api.send("GET", "/audit", params={"limit": "1000"}).text
