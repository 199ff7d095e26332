"""What tools are and what they take, for whoever administers them and may call none of them."""

import json
from collections.abc import Generator
from typing import Any

import pytest
from tests.api.worlds import DOCUMENT, ROLE, Api, open_api

from remit.cli.remote_values import answer_of
from remit.client import Client, authority, servers
from remit.doors.api.authority import LONGEST_ARGUMENTS
from remit.errors import CallRefused
from remit.testing.gateway import fixture_entry

pytestmark = pytest.mark.timeout(120)


def nested(levels: int) -> str:
    return '{"items":' * levels + "{}" + "}" * levels


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS: list[str | dict[str, Any]] = [
    {
        "name": "work",
        "title": "Work",
        "description": "Does the work.",
        "inputSchema": SCHEMA,
        "annotations": {"readOnlyHint": True, "destructiveHint": False, "title": "older"},
    },
    {"name": "rest", "inputSchema": {"type": "object"}, "annotations": {"title": "Rest a while"}},
    {"name": "odd/name", "inputSchema": {"type": "object"}},
    {"name": "wrong", "inputSchema": {"type": "object", "minProperties": "one"}},
    {"name": "deep", "x-fixture": {"raw": f'{{"name":"deep","inputSchema":{nested(300)}}}'}},
    {
        "name": "lone",
        "x-fixture": {
            "raw": r'{"name":"lone","title":"a\ud800b","description":"c\ud800d",'
            r'"inputSchema":{"type":"object","title":"\ud800"}}'
        },
    },
    {
        "name": "large",
        "x-fixture": {
            "raw": '{"name":"large","inputSchema":{"type":"object",'
            '"maxProperties":9007199254740993}}'
        },
    },
]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Generator[Api]:
    folder = tmp_path_factory.mktemp("schemas")
    document = DOCUMENT | {
        "mcp_servers": {
            "tools": fixture_entry(TOOLS, folder / "ran", session="shared"),
            "off": {"command": "no-such-program", "enabled": False},
        },
        "limits": [{"calls": 5, "per": "minute", "tool": "tools/*"}],
    }
    with open_api(folder, document) as api:
        yield api


@pytest.fixture(scope="module")
def offered(api: Api) -> dict[str, Any]:
    return {tool["tool"]: tool for tool in api.get("/servers/tools/tools")["items"]}


def explained(api: Api, tool: str, arguments: str | None = None, who: str = ROLE) -> Any:
    query = {"as": f"role:{who}", "tool": tool}
    return api.get(
        "/explain", params=query if arguments is None else query | {"arguments": arguments}
    )


def test_every_tool_that_a_server_offers_is_shown_to_who_may_call_none(
    api: Api, offered: dict[str, Any]
) -> None:
    # R12: administering grants no use
    assert api.get("/me/tools")["items"] == []

    assert list(offered) == sorted(["work", "rest", "odd/name", "wrong", "deep", "lone", "large"])
    assert offered["work"] == {
        "tool": "work",
        "name": "tools__work",
        "title": "Work",
        "description": "Does the work.",
        "input_schema": SCHEMA,
        "hints": {
            "read_only": True,
            "destructive": False,
            "idempotent": None,
            "open_world": None,
        },
        "roles": 1,
        "tokens": offered["work"]["tokens"],
    }
    assert offered["odd/name"]["name"].startswith("tools__odd_name_")


def test_it_says_how_many_roles_alone_may_call_each(api: Api, offered: dict[str, Any]) -> None:
    for name, tool in offered.items():
        able = api.get("/who-can", params={"tool": f"tools/{name}"})["roles"]
        assert tool["roles"] == len(able)
    assert {tool["roles"] for tool in offered.values()} == {0, 1}


def test_it_costs_a_model_what_the_list_of_a_caller_says(api: Api, offered: dict[str, Any]) -> None:
    (seen,) = api.get("/tools", params={"as": f"role:{ROLE}"})["items"]

    assert (seen["name"], seen["tokens"]) == ("tools__work", offered["work"]["tokens"])


def test_what_a_server_writes_oddly_hides_none_of_its_tools(offered: dict[str, Any]) -> None:
    assert offered["rest"]["title"] == "Rest a while"
    assert offered["deep"]["input_schema"] is None
    assert offered["lone"]["input_schema"] is None
    assert (offered["lone"]["title"], offered["lone"]["description"]) == ("a?b", "c?d")
    assert offered["large"]["input_schema"] == {"type": "object", "maxProperties": 2**53 + 1}
    assert offered["odd/name"]["title"] == ""


def test_a_server_that_is_not_connected_offers_nothing_and_an_unknown_one_is_not_found(
    api: Api,
) -> None:
    assert api.get("/servers/off/tools") == {"items": [], "next": None}
    assert api.send("GET", "/servers/none/tools").status_code == 404


def test_tools_come_in_pages(api: Api, offered: dict[str, Any]) -> None:
    with Client(api.base, key=api.credentials["administrator"]) as client:
        pages = client.pages(servers.tools("tools", limit=2))
        assert [tool.tool for tool in pages] == list(offered)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ('{"n": 1}', None),
        ('{"n": "one"}', 'n: the value is not of type "integer"'),
        ("{}", '"n" is a required property'),
        ("[]", "arguments must be a JSON object"),
        ('{"n": 1, "n": 2}', "arguments name 'n' twice; send it once"),
        ("", "arguments are not JSON that can be read"),
        (
            '{"n": \ud800}'.encode(errors="replace").decode(),
            "arguments are not JSON that can be read",
        ),
    ],
)
def test_arguments_are_checked_as_those_of_a_call(
    api: Api, arguments: str, problem: str | None
) -> None:
    answer = explained(api, "tools/work", arguments)

    assert answer["arguments"] == {
        "checked": True,
        "valid": problem is None,
        "problem": problem,
    }
    assert answer["allowed"]  # which is another question


def test_what_a_call_is_refused_with_is_what_was_explained(api: Api) -> None:
    arguments = {"n": "one"}
    said = explained(api, "tools/work", json.dumps(arguments))["arguments"]["problem"]

    with (
        Client(api.base, key=api.credentials["role key"]) as client,
        pytest.raises(CallRefused) as refused,
    ):
        client.call_tool("tools__work", arguments)

    assert refused.value.reason == said


def test_arguments_of_a_call_that_is_refused_are_checked_too(api: Api) -> None:
    answer = explained(api, "tools/work", '{"n": "one"}', who="idle")

    assert not answer["allowed"]
    assert not answer["arguments"]["valid"]


def test_by_a_schema_that_cannot_be_used_only_an_object_is_asked_for(api: Api) -> None:
    assert explained(api, "tools/wrong", '{"any": 1}')["arguments"] == {
        "checked": False,
        "valid": True,
        "problem": None,
    }
    assert explained(api, "tools/wrong", "[]")["arguments"]["valid"] is False


def test_the_longest_arguments_fit_into_a_url_whatever_they_are_written_with(api: Api) -> None:
    longest = f'{{"n": "{"𝄞" * (LONGEST_ARGUMENTS - 9)}"}}'
    assert len(longest) == LONGEST_ARGUMENTS

    assert explained(api, "tools/work", longest)["arguments"]["valid"] is False
    query = {"as": f"role:{ROLE}", "tool": "tools/work", "arguments": f"{longest} "}
    assert api.send("GET", "/explain", params=query).status_code == 422


@pytest.mark.parametrize("tool", ["off/any", "no-such-name", "tools/gone"])
def test_of_a_tool_that_is_not_on_offer_nothing_is_said_of_arguments(api: Api, tool: str) -> None:
    assert explained(api, tool, "{}")["arguments"] is None


def test_without_arguments_nothing_is_said_of_them(api: Api) -> None:
    assert explained(api, "tools/work")["arguments"] is None


def test_limits_are_those_that_an_allowed_call_counts_against(api: Api) -> None:
    assert explained(api, "tools/work")["limits"] == [
        {"rule": "limits[0]", "calls": 5, "seconds": 60, "used": 0}
    ]
    assert explained(api, "tools/work", who="idle")["limits"] == []


def test_the_client_sends_values_or_a_text(api: Api) -> None:
    with Client(api.base, key=api.credentials["administrator"]) as client:
        for arguments in ({"n": 1}, '{"n": 1}'):
            asked = authority.explain(f"role:{ROLE}", "tools/work", arguments=arguments)
            answer = client.ask(asked)
            assert answer.arguments is not None
            assert answer.arguments.valid
            assert [limit.rate for limit in answer_of(answer).limits] == ["5 calls per minute"]
