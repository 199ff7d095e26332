"""The UUID in a path: the credential's own tenant, or the answer that no tenant gets (S2.18)."""

import pytest
from tests.doors.worlds import UUID, Reply, Wire, World, initialize

from remit.model.principals import Principal, PrincipalKind

ELSEWHERE = "00000000-0000-4000-8000-000000000001"


def names(reply: Reply) -> list[str]:
    return sorted(tool["name"] for tool in reply.result["tools"])


@pytest.mark.parametrize("uuid", [UUID, UUID.upper()], ids=["lower", "upper"])
async def test_the_own_tenants_path_serves_what_the_bare_one_does(wire: Wire, uuid: str) -> None:
    everything, own = [
        await wire.modern("tools/list", path=path) for path in ("/mcp", f"/mcp/{uuid}")
    ]
    server, own_server = [
        await wire.modern("tools/list", path=path) for path in ("/mcp/files", f"/mcp/{uuid}/files")
    ]

    assert names(everything) == names(own) == ["files__list", "files__read"]
    assert names(server) == names(own_server) == ["list", "read"]


async def test_calls_go_through_the_tenants_path_in_both_eras(wire: Wire) -> None:
    path = f"/mcp/{UUID}/files"
    session = await wire.begin(path=path)

    modern = await wire.call("read", path=path)
    ended = await wire.send(verb="DELETE", path=path, headers={"Mcp-Session-Id": session})

    assert "result" in modern.json
    assert ended.status == 200


@pytest.mark.parametrize("server", ["", "/files", "/nothing"])
async def test_another_tenants_path_answers_as_one_that_does_not_exist(
    wire: Wire, files_world: World, server: str
) -> None:
    files_world.keys["foreign-key"] = Principal(
        kind=PrincipalKind.KEY, name="foreign", tenant="acme", roles=("reader",)
    )
    foreign = Wire(wire.session, wire.url, "foreign-key")

    absent = await wire.send(initialize(), path=f"/mcp/{ELSEWHERE}{server}")
    served_nowhere = await foreign.send(initialize(), path=f"/mcp/{UUID}{server}")

    assert absent.status == 403
    assert absent.headers["www-authenticate"] == 'Bearer error="insufficient_scope"'
    assert "tools" not in absent.body.decode()
    assert served_nowhere.status == 503  # not yet: its tenant was made a moment ago


async def test_without_a_credential_no_path_tells_anything(wire: Wire) -> None:
    replies = [
        await wire.send(initialize(), path=path, headers={"Authorization": None})
        for path in ("/mcp", f"/mcp/{UUID}", f"/mcp/{ELSEWHERE}")
    ]

    assert {reply.status for reply in replies} == {401}
    assert len({reply.body for reply in replies}) == 1
