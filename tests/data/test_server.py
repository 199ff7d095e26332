"""The `data` server at every door: who is told what, and how it fails (S2.10, S2.45)."""

import json
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from remit.app.data import DataPlace
from remit.data.desk import Stores
from remit.data.servers import MOST_OF_ONE, DataServer, list_only
from remit.errors import (
    BadCall,
    Conflict,
    DataFailure,
    NotFound,
    Outdated,
    Refused,
    StorageUnavailable,
    UpstreamUnavailable,
)
from remit.model.data import Datasource
from remit.model.principals import Principal, PrincipalKind, UserRole
from remit.policy.toolsets import LOADOUTS
from remit.servers.toolbox import ERROR
from remit.settings import Settings
from remit.storage.database import default_url, open_database
from remit.storage.datasources import Datasources
from remit.testing.data_gateway import SOURCE, Callers, DataGateway

ANN = Principal(kind=PrincipalKind.USER, name="ann", user_roles=(UserRole.DEVELOPER,))


async def test_health_tells_people_which_datasources_answer(callers: Callers) -> None:
    told = await callers.user().does("health")

    assert told["status"] == "healthy"
    assert told["datasources_configured"] == told["datasources_reachable"] == 1
    assert told["datasources"] == [
        {
            "name": SOURCE,
            "engine": "sqlite",
            "is_default": False,
            "is_writable": True,
            "reachable": True,
        }
    ]


async def test_health_tells_a_service_key_no_names(callers: Callers) -> None:
    told = await (await callers.service()).does("health")

    assert told["datasources_reachable"] == 1
    assert SOURCE not in json.dumps(told)


async def test_echo_gives_back_what_a_developer_sends_and_is_unknown_to_others(
    callers: Callers,
) -> None:
    message = "Grüße \U0001f375 \x00"

    assert await callers.developer().does("echo", message=message) == {"message": message}
    assert await callers.user().fails("echo", message="hello") == "-32602"
    assert await callers.nobody().tools() == []


@pytest.mark.parametrize("path", ["/mcp", "/mcp/data", "/mcp/{uuid}/data", "/mcp/{uuid}"])
async def test_it_is_served_at_every_endpoint(
    callers: Callers, data_gateway: DataGateway, path: str
) -> None:
    dev = callers.developer()
    listed = await dev.caller.http.get(
        f"{data_gateway.running.base}/api/v1/tenants",
        headers={"Authorization": f"Bearer {data_gateway.running.admin_key}"},
    )
    uuid = listed.json()["items"][0]["id"]

    there = callers.holder("user:dev", dev.caller.key, path.format(uuid=uuid))

    (name,) = [tool for tool in await there.tools() if tool.endswith("echo")]
    assert await there.does(name, message="here") == {"message": "here"}


async def test_the_json_door_calls_it(callers: Callers, data_gateway: DataGateway) -> None:
    key = await callers.service()
    reply = await key.caller.http.post(
        f"{data_gateway.running.url}/execute",
        json={"toolName": "mcp__data__health", "input": {}},
        headers={"Authorization": f"Bearer {key.caller.key}"},
    )

    envelope = reply.json()
    assert envelope["success"], envelope
    assert envelope["data"]["status"] == "healthy"


async def test_an_injection_is_in_the_log_with_who_sent_it_and_from_where(
    callers: Callers, data_gateway: DataGateway
) -> None:
    """S2.33, whichever way it came."""
    developer, service = callers.developer(), await callers.service()
    made = await developer.does(
        "create_approved_query",
        name="By city",
        description="Who lives somewhere.",
        sql="SELECT name FROM customers WHERE city = {{city}}",
        parameters=[{"name": "city", "type": "string", "example": "Bern"}],
    )
    query = made["query_id"]
    hostile = {"city": "x' OR '1'='1' --"}

    refused = await service.fails("execute_approved_query", query_id=query, parameters=hostile)
    assert refused == "security_violation"
    root, http = data_gateway.running.base, service.caller.http
    await http.post(
        f"{root}/mcp/execute",
        json={
            "toolName": "mcp__data__execute_approved_query",
            "input": {"query_id": query, "parameters": hostile},
        },
        headers={"Authorization": f"Bearer {service.caller.key}"},
    )
    await http.post(
        f"{root}/api/projects/default/datasources/{SOURCE}/queries/{query}/execute",
        json={"parameters": hostile},
        headers={"Authorization": f"Bearer {developer.caller.key}"},
    )

    written = data_gateway.running.log.read_text()
    lines = [json.loads(each) for each in written.splitlines() if query in each]
    found = [each for each in lines if each["event"] == "value looks like an injection"]
    assert [each["principal"] for each in found] == [
        service.subject,
        service.subject,
        developer.subject,
    ]
    assert {
        (each["level"], each["query"], each["parameter"], each["address"]) for each in found
    } == {("critical", query, "city", "127.0.0.1")}
    assert all(each["fingerprint"] for each in found)
    assert "'1'='1'" not in written


def test_a_command_calls_it(data_gateway: DataGateway) -> None:
    shown = data_gateway.running.remit(
        *("call", "data/health", "--as", "user-role:developer", "--json")
    )

    assert json.loads(shown)["structuredContent"]["datasources_reachable"] == 1


@asynccontextmanager
async def servers(folder: Path) -> AsyncGenerator[tuple[DataServer, Stores]]:
    """Give a server of this process over an empty database."""
    settings = Settings(config=folder / "remit.yaml")
    async with open_database(default_url(folder / ".remit")) as database:
        place = DataPlace(settings, database, lambda _: "refuse")
        async with place.running():
            yield DataServer(place.stores, place.sources, place.screening), place.stores


class Failing(Datasources):
    """A store of datasources that fails in a way of the test's choice."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def all_datasources(self, tenant: str) -> Sequence[Datasource]:  # noqa: ARG002 - the port's
        raise self._error


class Waiting(Datasources):
    """A store of datasources that answers once it is told to."""

    def __init__(self) -> None:
        self.asked = 0
        self.go = anyio.Event()

    async def all_datasources(self, tenant: str) -> Sequence[Datasource]:  # noqa: ARG002 - the port's
        self.asked += 1
        await self.go.wait()
        return []


async def test_one_caller_takes_its_share_of_the_places_and_another_is_served_meanwhile(
    tmp_path: Path,
) -> None:
    async with servers(tmp_path) as (server, stores), anyio.create_task_group() as group:
        waiting = Waiting()
        sources = server.desk(ANN, "health").sources
        slow = DataServer(replace(stores, datasources=waiting), sources, lambda _: "refuse")
        asks = partial[Coroutine[Any, Any, object]](slow.call_for, ANN, "health", {}, {})
        for _ in range(MOST_OF_ONE + 1):
            group.start_soon(asks)
        while waiting.asked < MOST_OF_ONE:
            await anyio.lowlevel.checkpoint()

        echoed = await slow.call_for(replace(ANN, name="bob"), "echo", {"message": "hi"}, {})
        refused: Any = await slow.call_for(ANN, "echo", {"message": "hi"}, {})

        assert echoed["isError"] is False
        assert json.loads(refused["content"][0]["text"])["code"] == "service_unavailable"
        assert waiting.asked == MOST_OF_ONE
        waiting.go.set()


async def result_of(folder: Path, error: Exception) -> Any:
    """Return what `health` answers when the store fails so."""
    async with servers(folder) as (server, stores):
        broken = replace(stores, datasources=Failing(error))
        failing = DataServer(broken, server.desk(ANN, "health").sources, lambda _: "refuse")
        return await failing.call_for(ANN, "health", {}, {})


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DataFailure("no_datasource", "there is none"), "no_datasource"),
        (BadCall("that does not do"), "invalid_parameters"),
        (Outdated("changed meanwhile"), "resource_conflict"),
        (Conflict("is there already"), "resource_conflict"),
        (NotFound("there is no such thing"), "not_found"),
        (Refused("may not"), "query_not_authorized"),
    ],
)
async def test_a_failure_is_json_for_the_model_and_has_its_code_for_other_doors(
    tmp_path: Path, error: Exception, code: str
) -> None:
    result = await result_of(tmp_path, error)

    assert result["isError"] is True
    (block,) = result["content"]
    assert json.loads(block["text"]) == {"error": True, "code": code, "message": str(error)}
    assert result["_meta"] == {ERROR: {"code": code}}


async def test_details_are_told_for_programs(tmp_path: Path) -> None:
    failure = DataFailure("parameter_validation", "is missing", details={"parameter": "since"})

    result = await result_of(tmp_path, failure)

    assert json.loads(result["content"][0]["text"])["details"] == {"parameter": "since"}


async def test_a_database_that_is_away_is_no_failure_of_the_tool(tmp_path: Path) -> None:
    with pytest.raises(UpstreamUnavailable) as told:
        await result_of(tmp_path, StorageUnavailable("it is away"))

    assert told.value.transient


async def test_arguments_that_do_not_fit_have_the_code_of_s2(tmp_path: Path) -> None:
    async with servers(tmp_path) as (server, _):
        result: Any = await server.call_for(ANN, "echo", {"message": 7}, {})

    assert json.loads(result["content"][0]["text"])["code"] == "invalid_parameters"


async def test_without_a_gateway_it_lists_its_tools_and_runs_none() -> None:
    server = list_only()

    names = [tool["name"] for tool in server.tools()]
    result = await server.call_tool("health", {})

    assert names == [name for name in LOADOUTS if name in names]
    assert result["isError"] is True
