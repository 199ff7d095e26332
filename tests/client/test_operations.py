"""The HTTP API through the client: every operation of the document, each on a real gateway."""

import re
from collections.abc import Generator
from datetime import datetime
from typing import Any, cast, get_args, get_origin

import msgspec
import pytest
from tests.api.data_operations import change, question, suggested
from tests.api.worlds import DATA_SERVER, DOCUMENT, ELSEWHERE, ROLE, Api, open_api
from tests.client.data_operations import PROVIDED
from tests.client.either import Either, open_either
from tests.client.operations import EXAMPLES, fresh

from remit.client import AsyncClient, Client, Operation, audit, declaration, grants, keys, me, roles
from remit.errors import ClientError, CredentialRefused, ProblemDetails
from remit.testing.gateway import fixture_entry

Json = dict[str, Any]

NOT_SENT = {"tenant", "reveal"}
"""Of the client as a whole; and what is always refused."""


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Generator[Api]:
    folder = tmp_path_factory.mktemp("api")
    entry = fixture_entry(["work", "rest"], folder / "ran", session="shared")
    with open_api(folder, DOCUMENT | {"mcp_servers": {"tools": entry, **DATA_SERVER}}) as api:
        PROVIDED["suggestion"] = lambda: suggested(api)
        PROVIDED["question"] = lambda: question(api)
        PROVIDED["change"] = lambda: change(api)
        yield api


@pytest.fixture(scope="module")
def document(api: Api) -> Json:
    return api.send("GET", "/api/openapi.json").json()


@pytest.fixture(scope="module")
def client(api: Api) -> Generator[Client]:
    with Client(api.base, key=api.credentials["administrator"]) as client:
        yield client


def declared(document: Json) -> dict[str, tuple[str, str, Json]]:
    """Return method, path and declaration of each operation, by its id."""
    return {
        operation["operationId"]: (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def test_every_operation_of_the_document_has_a_function_and_none_is_made_up(
    document: Json,
) -> None:
    assert set(EXAMPLES) == set(declared(document))


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_operation_is_what_the_document_says_and_is_answered_as_its_type_says(
    name: str, document: Json, client: Client
) -> None:
    method, path, told = declared(document)[name]

    operation = EXAMPLES[name](client)
    answer = client.ask(operation)

    assert (operation.id, operation.method) == (name, method)
    assert re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), operation.path)
    asked = {p["name"] for p in told.get("parameters", ()) if p["in"] == "query"}
    assert set(operation.query) == asked - NOT_SENT
    assert operation.is_of_tenant == ("tenant" in asked)
    guarded = any(p["name"] == "If-Match" for p in told.get("parameters", ()))
    assert bool(operation.if_match) == guarded
    assert (operation.body is not None) == ("requestBody" in told)
    assert isinstance(answer, get_origin(operation.answer) or operation.answer)


def test_the_fields_of_every_struct_are_those_of_its_schema(document: Json, client: Client) -> None:
    seen: set[str] = set()

    for name, (_, _, told) in declared(document).items():
        operation = EXAMPLES[name](client)
        (status,) = (status for status in told["responses"] if status.startswith("2"))
        schema = told["responses"][status]["content"].get("application/json", {}).get("schema")
        if schema is not None and operation.is_wrapped:
            schema = resolved(schema, document)["properties"]["data"]
        if schema is not None and operation.answer is not str:
            compare(operation.answer, schema, document, name, seen)

    assert len(seen) > 30


def test_bodies_have_the_members_of_their_schemas(document: Json, client: Client) -> None:
    schemas = document["components"]["schemas"]
    for name in ("keys.create", "agents.create", "tenants.create"):
        _, _, told = declared(document)[name]
        reference = told["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        body = EXAMPLES[name](client).body
        assert body is not None
        assert set(body) == set(schemas[reference.rpartition("/")[2]]["properties"])


def resolved(schema: Json, document: Json) -> Json:
    """Return what *schema* refers to, or itself."""
    if "$ref" not in schema:
        return schema
    return document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]


def compare(kind: Any, schema: Json, document: Json, where: str, seen: set[str]) -> None:
    """Check that values of *schema* are read as *kind*, field by field."""
    if kind is Any:
        return
    schema = resolved(schema, document)
    origin, inner = get_origin(kind), get_args(kind)
    if "anyOf" in schema:
        kinds = [one for one in schema["anyOf"] if one.get("type") != "null"]
        assert (type(None) in inner) == (len(kinds) < len(schema["anyOf"])), where
        (known,) = [one for one in inner if one is not type(None)]
        (told,) = kinds
        compare(known, told, document, where, seen)
    elif origin is tuple:
        assert schema["type"] == "array", where
        compare(inner[0], schema["items"], document, f"{where}[]", seen)
    elif origin is dict:
        assert schema["type"] == "object", where
        if inner[1] is not Any:
            compare(inner[1], schema["additionalProperties"], document, f"{where}.*", seen)
    elif isinstance(origin or kind, type) and issubclass(origin or kind, msgspec.Struct):
        fields = msgspec.structs.fields(kind)
        assert {one.encode_name for one in fields} == set(schema["properties"]), where
        seen.add((origin or kind).__qualname__)
        for one in fields:
            inside = f"{where}.{one.name}"
            optional = one.encode_name not in schema.get("required", ())
            assert one.required or optional, inside
            compare(one.type, schema["properties"][one.encode_name], document, inside, seen)
    else:
        known = {str: "string", bool: "boolean", int: "integer", float: "number"}
        expected = known.get(cast("type", kind), "string")
        assert schema.get("type", "string" if "enum" in schema else "boolean") == expected, where
        assert (kind is datetime) == (schema.get("format") == "date-time"), where


@pytest.fixture(params=["asynchronous", "synchronous"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


async def entries(either: Either, operation: Operation[Any]) -> list[Any]:
    """Read a list to its end with either client."""
    if isinstance(either.client, AsyncClient):
        return [entry async for entry in either.client.pages(operation)]
    return list(either.client.pages(operation))


async def text(either: Either, operation: Operation[str]) -> str:
    """Read a stream to its end with either client."""
    if isinstance(either.client, AsyncClient):
        async with either.client.stream(operation) as parts:
            return "".join([part async for part in parts])
    with either.client.stream(operation) as parts:
        return "".join(parts)


async def test_lists_are_read_to_their_end_page_by_page(api: Api, kind: str) -> None:
    async with open_either(kind, api.base, key=api.credentials["administrator"]) as either:
        names = {fresh("page") for _ in range(5)}
        for name in names:
            await either.run("ask", keys.create(name, role=ROLE))

        found = await entries(either, keys.list_all(limit=2))

    listed = [key.name for key in found]
    assert names <= set(listed)
    assert len(listed) == len({key.id for key in found})


async def test_a_change_that_saw_an_older_state_is_refused(api: Api, kind: str) -> None:
    async with open_either(kind, api.base, key=api.credentials["administrator"]) as either:
        old = (await either.run("ask_tagged", declaration.get())).etag
        name = fresh("r")
        made = await either.run("ask", roles.create(name, {"allow": ["tools/*"]}, reason="try"))
        with pytest.raises(ProblemDetails) as outdated:
            await either.run("ask", roles.remove(name, if_match=old))
        removed = await either.run("ask", roles.remove(name, if_match=f'"r{made.revision}"'))

    assert made.authority[0].subject == f"role:{name}"
    assert (outdated.value.status, outdated.value.code) == (412, "INVALID_INPUT")
    assert removed.written


async def test_refusals_say_everything_that_is_wrong(api: Api, kind: str) -> None:
    async with open_either(kind, api.base, key=api.credentials["administrator"]) as either:
        with pytest.raises(ProblemDetails) as wrong:
            await either.run("ask", roles.create(fresh("r"), {"tools": {"nowhere": ["x"]}, "n": 1}))
        with pytest.raises(ProblemDetails) as away:
            await either.run("ask", grants.get("no-such-grant"))
    async with open_either(kind, api.base, key=api.credentials["role key"]) as either:
        with pytest.raises(ProblemDetails) as forbidden:
            await either.run("ask", keys.list_all())
    async with open_either(kind, api.base, key=api.credentials["wrong key"]) as either:
        with pytest.raises(CredentialRefused):
            await either.run("ask", me.get())

    assert wrong.value.problems
    assert str(wrong.value) == "\n".join(wrong.value.problems)
    assert (away.value.status, away.value.code) == (404, "RESOURCE_NOT_FOUND")
    assert forbidden.value.status == 403
    assert forbidden.value.detail == "only an administrator of the tenant may do this"


async def test_another_tenant_is_asked_about_by_the_client_as_a_whole(api: Api, kind: str) -> None:
    key = api.credentials["administrator"]
    async with open_either(kind, api.base, key=key, tenant=ELSEWHERE) as elsewhere:
        name = fresh("k")
        await elsewhere.run("ask", keys.create(name, admin=True))
        assert (await elsewhere.run("ask", keys.get(name))).admin
        assert (await elsewhere.run("ask", me.get())).tenant == "default"
    async with open_either(kind, api.base, key=key) as here:
        with pytest.raises(ProblemDetails):
            await here.run("ask", keys.get(name))


async def test_the_record_is_streamed_however_long_it_is(api: Api, kind: str) -> None:
    async with open_either(kind, api.base, key=api.credentials["administrator"]) as either:
        name = fresh("k")
        await either.run("ask", keys.create(name, role=ROLE))
        whole = await text(either, audit.export(audit.Filter(tool="keys.create", text=name)))
        with pytest.raises(ProblemDetails):
            await text(either, audit.export(form="no-such-form"))
        assert (await text(either, declaration.text())).startswith("version:")

    (line,) = whole.splitlines()
    row = msgspec.json.decode(line, type=audit.Row)
    assert (row.tool, row.decision) == ("keys.create", "allow")


def test_names_that_look_like_paths_stay_names(client: Client) -> None:
    for name in ("..", ".", "a/b", "a?b#c", "%2e%2e", "ü"):
        with pytest.raises(ClientError, match="there is no key"):
            client.ask(keys.get(name))


def test_secrets_are_in_no_repr(client: Client) -> None:
    made = client.ask(keys.create(fresh("k"), role=ROLE))

    assert made.key.startswith("rmt_")
    assert made.key not in repr(made)
    assert made.key not in str(made)
