"""A running gateway examines itself (issue 4)."""

import json
from typing import Any

import httpx2
import typer.testing
from tests.api.worlds import ELSEWHERE, Api

from remit.cli.main import app
from remit.cli.remote import KEY_VARIABLE


def test_an_administrator_of_the_installation_sees_all_of_it(api: Api) -> None:
    found = api.get("/doctor")

    assert [server["name"] for server in found["servers"]] == ["tools", "data"]
    assert found["servers"][0]["tools"] == 2
    about = {finding["about"] for finding in found["findings"]}
    assert {"server tools", "database", "record", "journal", "state folder", "disk"} <= about
    assert found["healthy"], found


def test_an_administrator_of_another_tenant_sees_its_own_servers_alone(api: Api) -> None:
    found = api.get("/doctor", by="administrator of another tenant")

    assert found["servers"] == []
    assert {finding["about"] for finding in found["findings"]} == {"declaration"}
    named = api.get("/doctor", params={"tenant": ELSEWHERE})
    assert named["servers"] == []


def test_the_command_asks_a_running_gateway(api: Api) -> None:
    environ = {KEY_VARIABLE: api.credentials["administrator"] or ""}
    words = ["doctor", "--json", "--url", api.base]

    done = typer.testing.CliRunner().invoke(app, words, env=environ)

    assert done.exit_code == 0, done.output
    told: dict[str, Any] = json.loads(done.stdout)
    assert {(one["code"], one["about"]) for one in told["findings"]} == {
        (one["code"], one["about"]) for one in api.get("/doctor")["findings"]
    }


def test_nobody_else_may_ask(api: Api) -> None:
    for by, status in (("nobody", 401), ("role key", 403), ("agent", 403)):
        reply: httpx2.Response = api.send("GET", "/doctor", by=by)
        assert reply.status_code == status
