"""The gateway as a resource server: metadata of each endpoint, challenges, audiences (RFC 9728)."""

from collections.abc import Mapping
from dataclasses import replace

import aiohttp
import pytest
import structlog
from tests.doors.worlds import UUID, Wire, World, caller, initialize, message, serving

from remit.errors import InsufficientScope
from remit.model.declaration import HttpSettings
from remit.model.grants import JwtIssuer
from remit.model.principals import Principal, PrincipalKind

IDP = JwtIssuer(issuer="https://idp.example.test", audience=("api://remit",))
OTHER = JwtIssuer(issuer="https://login.example.test/v2/", audience=("x",), scopes=("a", "b"))
INNER = JwtIssuer(issuer="build-server", audience=("x",), scopes=("c",))
PUBLIC = HttpSettings(public_url="https://remit.example.test")
WELL_KNOWN = "/.well-known/oauth-protected-resource"
TENANT = "2f6c1f3e-0000-4000-8000-000000000000"


async def metadata(wire: Wire, path: str, **headers: str) -> dict[str, object]:
    reply = await wire.send(
        verb="GET", path=WELL_KNOWN + path, headers={"Authorization": None, **headers}
    )
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    return reply.json


async def challenge(wire: Wire, path: str = "/mcp", **headers: str) -> str:
    reply = await wire.send(initialize(), path=path, headers={"Authorization": None, **headers})
    assert reply.status == 401
    return reply.headers["www-authenticate"]


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        ("", "/mcp"),
        ("/", "/mcp"),
        ("/mcp", "/mcp"),
        ("/mcp/", "/mcp"),
        ("/mcp/files", "/mcp/files"),
        ("/mcp/no_such_server", "/mcp/no_such_server"),
        (f"/mcp/{TENANT}", f"/mcp/{TENANT}"),
        (f"/mcp/{TENANT}/files", f"/mcp/{TENANT}/files"),
    ],
)
async def test_every_endpoint_is_a_resource_of_its_own(
    files_world: World, http: aiohttp.ClientSession, path: str, resource: str
) -> None:
    files_world.issuers, files_world.http = (IDP,), PUBLIC
    async with serving(files_world) as url:
        document = await metadata(Wire(http, url), path)

    assert document == {
        "resource": f"https://remit.example.test{resource}",
        "authorization_servers": ["https://idp.example.test"],
        "bearer_methods_supported": ["header"],
        "resource_name": "remit",
        "scopes_supported": ["openid"],
    }


@pytest.mark.parametrize("path", ["/other", "/mcp/a/b/c", "/mcp//", "/mcp/-x", "/mcpx", "x"])
async def test_what_is_no_endpoint_has_no_metadata(
    files_world: World, http: aiohttp.ClientSession, path: str
) -> None:
    files_world.issuers = (IDP,)
    async with serving(files_world) as url:
        reply = await Wire(http, url).send(verb="GET", path=WELL_KNOWN + path)
        posted = await Wire(http, url).send(path=WELL_KNOWN)

    assert (reply.status, posted.status) == (404, 405)


async def test_only_issuers_that_can_be_found_are_authorization_servers(
    files_world: World, http: aiohttp.ClientSession
) -> None:
    files_world.issuers = (INNER, OTHER, IDP)
    async with serving(files_world) as url:
        document = await metadata(Wire(http, url), "/mcp")
        said = await challenge(Wire(http, url))

    # To the letter: a client compares it with what the server calls itself.
    assert document["authorization_servers"] == [OTHER.issuer, IDP.issuer]
    assert document["scopes_supported"] == ["a", "b", "openid"]
    assert 'scope="a b openid"' in said


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/mcp", [IDP.issuer]),
        ("/mcp/files", [IDP.issuer]),
        (f"/mcp/{UUID}", [OTHER.issuer, IDP.issuer]),
        (f"/mcp/{UUID.upper()}/files", [OTHER.issuer, IDP.issuer]),
        (f"/mcp/{TENANT}", [IDP.issuer]),
    ],
    ids=["bare", "server", "tenant", "its server", "no tenant"],
)
async def test_a_tenants_endpoint_names_its_own_issuers_first(
    files_world: World, http: aiohttp.ClientSession, path: str, expected: list[str]
) -> None:
    files_world.issuers, files_world.own_issuers = (IDP,), (OTHER, IDP)
    async with serving(files_world) as url:
        document = await metadata(Wire(http, url), path)
        said = await challenge(Wire(http, url), path)

    assert document["authorization_servers"] == expected
    assert ('scope="a b openid"' in said) == (OTHER.issuer in expected)


async def test_a_tenant_alone_may_have_issuers(
    files_world: World, http: aiohttp.ClientSession
) -> None:
    files_world.own_issuers = (IDP,)
    async with serving(files_world) as url:
        bare = await challenge(Wire(http, url))
        own = await challenge(Wire(http, url), f"/mcp/{UUID}")

    assert bare == "Bearer"
    assert f'{WELL_KNOWN}/mcp/{UUID}"' in own


@pytest.mark.parametrize("issuers", [(), (INNER,)])
async def test_without_an_authorization_server_nobody_is_sent_to_one(
    files_world: World, http: aiohttp.ClientSession, issuers: tuple[JwtIssuer, ...]
) -> None:
    files_world.issuers = issuers
    async with serving(files_world) as url:
        wire = Wire(http, url)
        reply = await wire.send(verb="GET", path=WELL_KNOWN)
        said = await challenge(wire)

    assert reply.status == 404
    assert said == "Bearer"


async def test_an_issuer_without_scopes_asks_for_none(
    files_world: World, http: aiohttp.ClientSession
) -> None:
    files_world.issuers = (replace(IDP, scopes=()),)
    async with serving(files_world) as url:
        document = await metadata(Wire(http, url), "/mcp")
        said = await challenge(Wire(http, url))

    assert "scopes_supported" not in document
    assert "scope=" not in said


@pytest.mark.parametrize(
    ("path", "endpoint"), [("/mcp", "/mcp"), ("/mcp/files", "/mcp/files"), ("/mcp/x/", "/mcp/x")]
)
async def test_a_refusal_points_to_the_metadata_of_its_endpoint(
    files_world: World, http: aiohttp.ClientSession, path: str, endpoint: str
) -> None:
    files_world.issuers, files_world.http = (IDP,), PUBLIC
    pointer = f'resource_metadata="https://remit.example.test{WELL_KNOWN}{endpoint}"'
    async with serving(files_world) as url:
        missing = await challenge(Wire(http, url), path)
        wrong = await challenge(Wire(http, url), path, Authorization="Bearer a.b.c")

    assert missing == f'Bearer {pointer}, scope="openid"'
    assert wrong == f'Bearer error="invalid_token", {pointer}, scope="openid"'


async def test_a_token_that_lacks_a_scope_is_told_all_that_it_needs(
    files_world: World, http: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lacking(_: str | None) -> Principal:
        raise InsufficientScope(("read", "write"))

    files_world.issuers, files_world.http = (IDP,), PUBLIC
    monkeypatch.setattr(files_world, "authenticate", lacking)
    async with serving(files_world) as url:
        wire = Wire(http, url)
        reply = await wire.send(initialize())
        ready = await wire.send(verb="GET", path="/readyz")

    assert reply.status == 403
    assert reply.headers["www-authenticate"] == (
        'Bearer error="insufficient_scope", '
        f'resource_metadata="https://remit.example.test{WELL_KNOWN}/mcp", scope="read write"'
    )
    assert "read write" in reply.error["message"]
    assert "servers" not in ready.json


async def test_two_credentials_are_an_invalid_request(
    files_world: World, http: aiohttp.ClientSession
) -> None:
    async with serving(files_world) as url:
        reply = await Wire(http, url).send(initialize(), headers={"X-API-Key": "editor-key"})

    assert reply.status == 400
    assert reply.headers["www-authenticate"] == 'Bearer error="invalid_request"'


async def test_a_token_in_the_address_is_no_credential(wire: Wire) -> None:
    reply = await wire.send(
        initialize(), path="/mcp?access_token=reader-key", headers={"Authorization": None}
    )

    assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize(
    "value",
    ["Bearer", "Bearer ", "bearer\t", "Basic cmVhZGVyOmtleQ==", "Bearer reader-key x", "=", ",",
     "Bearer =", "Bearer é", "Bearer Bearer reader-key", "reader-key,reader-key", "Negotiate"],
)  # fmt: skip
async def test_a_malformed_header_is_answered_like_a_wrong_key(wire: Wire, value: str) -> None:
    wrong = await wire.send(initialize(), headers={"Authorization": "Bearer rmt_x_y"})

    reply = await wire.send(initialize(), headers={"Authorization": value})

    assert (reply.status, reply.body) == (401, wrong.body)


async def test_a_token_for_one_endpoint_opens_no_other(
    files_world: World, http: aiohttp.ClientSession
) -> None:
    principal = Principal(
        kind=PrincipalKind.USER,
        name="ann",
        roles=("editor",),
        admin=True,
        endpoints=("/mcp/files",),
    )
    files_world.keys["confined"] = principal
    async with serving(files_world) as url:
        wire = Wire(http, url, key="confined")
        here = await wire.call("read", path="/mcp/files")
        aliases = [
            await wire.call(name, path="/mcp/files")
            for name in ("notes__add", "mcp__notes__add", "notes/add")
        ]
        elsewhere = [
            await wire.modern("tools/list", path=path)
            for path in ("/mcp", "/mcp/notes", "/mcp/no_such_server")
        ]
        refused = await wire.send(message("ping"), headers={"Authorization": "Bearer wrong"})
        ready = await wire.send(verb="GET", path="/readyz")

    assert here.result["content"][0]["text"] == "done"
    assert {reply.error["code"] for reply in aliases} == {-32602}
    assert files_world.fleet.ran == {"files/read": 1}
    assert {reply.status for reply in elsewhere} == {401}
    assert {reply.body for reply in elsewhere} == {refused.body}
    assert "servers" not in ready.json


async def test_a_gateway_wide_token_of_an_administrator_sees_the_servers(
    files_world: World, http: aiohttp.ClientSession
) -> None:
    files_world.keys["wide"] = Principal(kind=PrincipalKind.USER, name="ann", admin=True)
    async with serving(files_world) as url:
        ready = await Wire(http, url, key="wide").send(verb="GET", path="/readyz")

    assert [status["name"] for status in ready.json["servers"]] == ["files", "notes"]


FORWARDED: Mapping[str, str] = {
    "X-Forwarded-Host": "proxy.example.test",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-For": "203.0.113.7",
}


@pytest.mark.parametrize(
    ("settings", "headers", "base"),
    [
        ({}, {}, "own"),
        ({}, FORWARDED, "own"),
        ({}, {"Host": "localhost:1"}, "localhost"),
        ({"public_url": "https://remit.example.test/"}, FORWARDED, "https://remit.example.test"),
        ({"public_url": "https://example.test/tools"}, {}, "https://example.test/tools"),
        ({"trusted_proxies": ("10.0.0.0/8",)}, FORWARDED, "own"),
        ({"trusted_proxies": ("127.0.0.1",)}, FORWARDED, "https://proxy.example.test"),
        ({"trusted_proxies": ("127.0.0.1",)}, {"X-Forwarded-Host": 'a"b'}, "own"),
        (
            {"trusted_proxies": ("127.0.0.0/8",)},
            {"Forwarded": 'for=192.0.2.1;host="proxy.example.test:8443";proto=https'},
            "https://proxy.example.test:8443",
        ),
    ],
)
async def test_our_own_address_is_not_for_callers_to_choose(
    files_world: World,
    http: aiohttp.ClientSession,
    settings: dict[str, str],
    headers: dict[str, str],
    base: str,
) -> None:
    files_world.issuers, files_world.http = (IDP,), HttpSettings(**settings)  # pyright: ignore[reportArgumentType] - texts or tuples of them
    async with serving(files_world) as url:
        wire = Wire(http, url)
        document = await metadata(wire, "/mcp/files", **headers)
        said = await challenge(wire, "/mcp/files", **headers)

    wanted = {"own": url, "localhost": url.replace("127.0.0.1", "localhost")}.get(base, base)
    assert document["resource"] == f"{wanted}/mcp/files"
    assert f'resource_metadata="{wanted}{WELL_KNOWN}/mcp/files"' in said


async def test_metadata_is_found_below_the_path_of_the_public_url_too(
    files_world: World, http: aiohttp.ClientSession
) -> None:
    files_world.issuers = (IDP,)
    files_world.http = HttpSettings(public_url="https://example.test/tools/")
    async with serving(files_world) as url:
        document = await metadata(Wire(http, url), "/tools/mcp/files")

    assert document["resource"] == "https://example.test/tools/mcp/files"


async def test_a_forged_host_enters_neither_our_urls_nor_the_log(
    files_world: World, http: aiohttp.ClientSession
) -> None:
    # T19
    files_world.issuers = (IDP,)
    headers = {"Host": "evil.example.test", "X-Forwarded-Host": "evil.example.test"}
    with structlog.testing.capture_logs() as logged:
        async with serving(files_world) as url:
            there = await Wire(http, url).send(initialize(), headers=headers)
        files_world.is_loopback = False
        async with serving(files_world) as url:
            said = await challenge(Wire(http, url), **headers)
            document = await metadata(Wire(http, url), "/mcp", **headers)

    assert there.status == 421
    assert "evil" not in there.body.decode() + said + str(document) + repr(logged)
    assert document["resource"] == f"{url}/mcp"


async def test_the_log_says_from_where_a_refused_caller_came(
    files_world: World, http: aiohttp.ClientSession
) -> None:
    files_world.http = HttpSettings(trusted_proxies=("127.0.0.1",))
    with structlog.testing.capture_logs() as logged:
        async with serving(files_world) as url:
            await challenge(Wire(http, url), Authorization="Bearer wrong", **FORWARDED)

    [entry] = [entry for entry in logged if entry["event"] == "not admitted"]
    assert (entry["peer"], entry["status"], entry["log_level"]) == ("203.0.113.7", 401, "debug")
    assert "wrong" not in repr(entry)


async def test_a_changed_section_counts_without_a_restart(
    files_world: World, http: aiohttp.ClientSession
) -> None:
    files_world.issuers = (IDP,)
    page = {"Origin": "https://app.example.test"}
    async with serving(files_world) as url:
        wire = Wire(http, url)
        before = await wire.send(initialize(), headers=page)
        files_world.http = HttpSettings(
            public_url="https://remit.example.test", allowed_origins=("https://app.example.test",)
        )
        after = await wire.send(initialize(), headers=page)
        document = await metadata(wire, "/mcp", Host="remit.example.test")

    assert (before.status, after.status) == (403, 200)
    assert document["resource"] == "https://remit.example.test/mcp"


async def test_a_session_is_bound_to_issuer_and_subject(
    files_world: World, http: aiohttp.ClientSession
) -> None:
    def user(issuer: str, name: str = "ann") -> Principal:
        return Principal(kind=PrincipalKind.USER, name=name, roles=("reader",), issuer=issuer)

    files_world.keys |= {
        "ann": user("https://one.example.test"),
        "ann's next token": user("https://one.example.test"),
        "ann of another issuer": user("https://two.example.test"),
        "bob": user("https://one.example.test", "bob"),
        "ann's agent": replace(user(""), kind=PrincipalKind.AGENT),
        "rotated": caller("r", "reader"),
    }
    async with serving(files_world) as url:
        session_id = await Wire(http, url, key="ann").begin()
        of_key = await Wire(http, url).begin()

        async def status(key: str, session_id: str, verb: str = "POST") -> int:
            headers = {"Mcp-Session-Id": session_id}
            sent = message("ping") if verb == "POST" else b""
            return (await Wire(http, url, key=key).send(sent, verb=verb, headers=headers)).status

        others = ("ann of another issuer", "bob", "ann's agent")
        unknown = await status("ann", session_id[:-4] + "AAAA")
        assert {await status(key, session_id) for key in others} == {unknown} == {404}
        assert {await status(key, session_id, "DELETE") for key in others} == {404}
        assert {await status(key, session_id, "GET") for key in others} == {404}
        assert await status("ann's next token", session_id) == 200
        assert await status("rotated", of_key) == 200  # another key of the same name
