"""T21: prompts, resources, templates and completion, granted or not, over every way there is."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from tests.doors.worlds import JsonObject
from tests.protocol.wikis import PAGE, SHARED, TEMPLATE, WIKI, Asker, Wikis, asking, open_wikis

from remit.model.servers import Session
from remit.testing.upstream import executed

ERAS = ("modern", "legacy")
ASKED: list[tuple[str, JsonObject]] = [
    ("prompts/get", {"name": "wiki__greet", "arguments": {"who": "Ada"}}),
    ("resources/read", {"uri": PAGE}),
    ("resources/read", {"uri": "wiki://page/17"}),
    (
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "wiki__greet"},
            "argument": {"name": "who", "value": "A"},
        },
    ),
    (
        "completion/complete",
        {
            "ref": {"type": "ref/resource", "uri": TEMPLATE},
            "argument": {"name": "id", "value": "1"},
        },
    ),
]
UNKNOWN: list[tuple[str, JsonObject]] = [
    ("prompts/get", {"name": "wiki__nothing", "arguments": {"who": "Ada"}}),
    ("resources/read", {"uri": "nowhere://1"}),
    ("resources/read", {"uri": "nowhere://17"}),
    (
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "wiki__nothing"},
            "argument": {"name": "who", "value": "A"},
        },
    ),
    (
        "completion/complete",
        {
            "ref": {"type": "ref/resource", "uri": "nowhere://{id}"},
            "argument": {"name": "id", "value": "1"},
        },
    ),
]
"""The same, of what does not exist."""


async def lists(caller: Asker) -> dict[str, list[str]]:
    """Return what each list names."""
    found: dict[str, list[str]] = {}
    for method, member, name in (
        ("prompts/list", "prompts", "name"),
        ("resources/list", "resources", "uri"),
        ("resources/templates/list", "resourceTemplates", "uriTemplate"),
    ):
        answer = await caller.ask(method)
        found[member] = [entry[name] for entry in answer["result"][member]]
    return found


async def capabilities(caller: Asker, era: str) -> Any:
    if era == "modern":
        return (await caller.ask("server/discover"))["result"]["capabilities"]
    info = {"name": "t", "version": "1"}
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    return (await caller.ask("initialize", opening))["result"]["capabilities"]


@pytest.mark.parametrize("way", ["http", "stdio"])
@pytest.mark.parametrize("era", ERAS)
async def test_t21_a_role_without_grants_gets_nothing_in_the_words_for_unknown(
    tmp_path: Path, http: ClientSession, era: str, way: str
) -> None:
    async with (
        open_wikis(tmp_path) as wikis,
        asking(wikis, http, "nothing", era=era, way=way) as caller,
    ):
        announced = await capabilities(caller, era) if way == "http" else None
        listed = await lists(caller)
        refused = [(await caller.ask(*asked))["error"] for asked in ASKED]
        unknown = [(await caller.ask(*asked))["error"] for asked in UNKNOWN]

    assert listed == {"prompts": [], "resources": [], "resourceTemplates": []}
    assert announced is None or announced.keys() <= {"tools", "logging"}
    for one, other in zip(refused, unknown, strict=True):
        assert (one["code"], one["message"]) == (-32602, other["message"])
        assert other["code"] == -32602
        assert one["data"].keys() == other["data"].keys() == {"requestId"}
    assert executed(wikis.counts["wiki"]) == []
    assert [event.outcome for event in wikis.world.audit.events] == ["none"] * 10
    assert wikis.world.audit.events[0].tool == "prompt:greet"
    assert wikis.world.audit.events[1].tool == f"resource:{PAGE}"


@pytest.mark.parametrize(
    ("upstream", "era", "way"),
    [
        ("stdio legacy", "modern", "http"),
        ("stdio modern", "legacy", "http"),
        ("http modern", "modern", "http"),
        ("http legacy", "modern", "stdio"),
        ("http modern", "legacy", "stdio"),
        ("http legacy", "legacy", "http"),
        ("sse legacy", "modern", "http"),
        ("sse legacy", "legacy", "http"),
    ],
)
async def test_t21_with_a_grant_all_of_it_works(
    tmp_path: Path, http: ClientSession, upstream: str, era: str, way: str
) -> None:
    transport, _, theirs = upstream.partition(" ")
    async with (
        open_wikis(tmp_path, transport=transport, era=theirs) as wikis,
        asking(wikis, http, "wiki", era=era, way=way) as caller,
    ):
        listed = await lists(caller)
        prompt, page, made, named, numbered = [await caller.ask(*asked) for asked in ASKED]

    assert listed == {
        "prompts": ["wiki__greet", "wiki__sum_up_fbed7a039d"],
        "resources": [PAGE, f"remit://wiki/{SHARED}"],
        "resourceTemplates": [TEMPLATE],
    }
    said = prompt["result"]["messages"][0]["content"]["text"]
    assert said == 'greet {"who": "Ada"}'
    assert page["result"]["contents"][0]["text"] == f"{PAGE} of wiki"
    assert made["result"]["contents"][0]["text"] == "made by wiki"
    assert named["result"]["completion"]["values"] == ["greet:A1", "greet:A2"]
    assert numbered["result"]["completion"]["values"] == [f"{TEMPLATE}:11", f"{TEMPLATE}:12"]
    if era == "modern":
        assert prompt["result"]["resultType"] == "complete"
        assert (page["result"]["ttlMs"], page["result"]["cacheScope"]) == (0, "private")
    else:
        assert page["result"].keys() == {"contents"}
    recorded = [(e.server, e.tool, e.outcome) for e in wikis.world.audit.events]
    assert recorded[:4] == [
        ("wiki", "prompt:greet", "unknown"),
        ("wiki", "prompt:greet", "ok"),
        ("wiki", f"resource:{PAGE}", "unknown"),
        ("wiki", f"resource:{PAGE}", "ok"),
    ]
    assert [call.name for call in executed(wikis.counts["wiki"])][:3] == [
        "greet",
        PAGE,
        "wiki://page/17",
    ]


@pytest.mark.parametrize("era", ERAS)
async def test_t21_the_same_uri_of_two_servers_is_routed_to_the_right_one(
    tmp_path: Path, http: ClientSession, era: str
) -> None:
    async with (
        open_wikis(tmp_path) as wikis,
        asking(wikis, http, "both", era=era) as everywhere,
        asking(wikis, http, "both", era=era, path="/mcp/mirror") as at_mirror,
        asking(wikis, http, "wiki", era=era) as at_one,
    ):
        listed = (await lists(everywhere))["resources"]
        texts = [
            (await everywhere.ask("resources/read", {"uri": uri}))["result"]["contents"][0]["text"]
            for uri in listed
        ]
        ambiguous = await everywhere.ask("resources/read", {"uri": SHARED})
        own = await lists(at_mirror)
        read = await at_mirror.ask("resources/read", {"uri": SHARED})
        only = await at_one.ask("resources/read", {"uri": SHARED})

    assert listed == [
        f"remit://mirror/{SHARED}",
        "mirror://only",
        PAGE,
        f"remit://wiki/{SHARED}",
    ]
    assert texts == [
        f"{SHARED} of mirror",
        "mirror://only of mirror",
        f"{PAGE} of wiki",
        f"{SHARED} of wiki",
    ]
    assert ambiguous["error"]["code"] == -32602
    assert f"remit://mirror/{SHARED}, remit://wiki/{SHARED}" in ambiguous["error"]["message"]
    assert own["resources"] == [SHARED, "mirror://only"]
    assert [name.partition("_")[0] for name in own["prompts"]] == ["greet", "sum"]
    assert read["result"]["contents"][0]["text"] == f"{SHARED} of mirror"
    assert only["result"]["contents"][0]["text"] == f"{SHARED} of wiki"


@pytest.mark.parametrize(
    ("role", "told"),
    [
        ("prompts", ((2, 0, 0), {"tools", "prompts", "completions"})),
        ("pages", ((0, 1, 0), {"tools", "resources", "completions"})),
        ("tools", ((0, 0, 0), {"tools"})),
        ("greeter", ((1, 0, 0), {"tools", "prompts", "completions"})),
        ("wiki", ((2, 2, 1), {"tools", "prompts", "resources", "completions"})),
    ],
)
@pytest.mark.parametrize("era", ERAS)
async def test_t21_what_is_announced_and_listed_is_what_the_role_may_use(
    tmp_path: Path,
    http: ClientSession,
    era: str,
    role: str,
    told: tuple[tuple[int, int, int], set[str]],
) -> None:
    async with (
        open_wikis(tmp_path, offers={"wiki": WIKI}) as wikis,
        asking(wikis, http, role, era=era) as caller,
    ):
        announced = await capabilities(caller, era)
        listed = await lists(caller)

    assert (tuple(map(len, listed.values())), announced.keys() - {"logging"}) == told


async def test_t21_a_page_made_from_a_template_is_decided_on_itself(
    tmp_path: Path, http: ClientSession
) -> None:
    async with (
        open_wikis(tmp_path) as wikis,
        asking(wikis, http, "pages", era="modern") as caller,
    ):
        within = await caller.ask("resources/read", {"uri": "wiki://page/12"})
        outside = await caller.ask("resources/read", {"uri": "wiki://page/2"})

    assert within["result"]["contents"][0]["text"] == "made by wiki"
    assert outside["error"]["message"] == "Resource not found"


async def test_t21_a_prompt_without_a_required_argument_never_reaches_its_server(
    tmp_path: Path, http: ClientSession
) -> None:
    async with open_wikis(tmp_path) as wikis, asking(wikis, http, "wiki", era="modern") as caller:
        lacking = await caller.ask("prompts/get", {"name": "wiki__greet", "arguments": {}})
        odd = await caller.ask("prompts/get", {"name": "wiki__greet", "arguments": {"who": 1}})

    assert lacking["error"]["code"] == odd["error"]["code"] == -32602
    assert "'who'" in lacking["error"]["message"]
    assert executed(wikis.counts["wiki"]) == []


async def test_t21_a_role_whose_denials_are_explained_learns_the_rule(
    tmp_path: Path, http: ClientSession
) -> None:
    async with open_wikis(tmp_path) as wikis, asking(wikis, http, "told", era="modern") as caller:
        known = await caller.ask("prompts/get", {"name": "wiki__greet", "arguments": {"who": "A"}})
        unknown = await caller.ask("prompts/get", {"name": "wiki__nothing"})

    assert known["error"]["data"]["layer"] == "ceiling"
    assert unknown["error"]["data"].keys() == {"requestId"}


@pytest.mark.parametrize("session", list(Session))
async def test_t21_entries_of_lists_pass_as_they_came_but_for_the_published_name(
    tmp_path: Path, http: ClientSession, session: Session
) -> None:
    async with (
        open_wikis(tmp_path, session=session) as wikis,
        asking(wikis, http, "wiki", era="modern") as caller,
    ):
        (greet, _) = (await caller.ask("prompts/list"))["result"]["prompts"]

    direct = WIKI["prompts"][0]
    assert greet == direct | {"name": "wiki__greet"}


async def test_t21_a_completion_of_a_server_that_completes_nothing_never_reaches_it(
    tmp_path: Path, http: ClientSession
) -> None:
    offers: JsonObject = {"wiki": WIKI, "mirror": {**WIKI, "completes": []}}
    async with (
        open_wikis(tmp_path, offers=offers) as wikis,
        asking(wikis, http, "both", era="modern") as caller,
    ):
        params = {
            "ref": {"type": "ref/prompt", "name": "mirror__greet"},
            "argument": {"name": "who", "value": "A"},
        }
        refused = await caller.ask("completion/complete", params)

    assert refused["error"]["code"] == -32602
    assert refused["error"]["message"] == "server 'mirror' completes no arguments"
    assert executed(wikis.counts["mirror"]) == []


async def test_t21_what_a_server_calls_public_is_private_to_the_caller(
    tmp_path: Path, http: ClientSession
) -> None:
    result: JsonObject = {
        "contents": [],
        "ttlMs": 5,
        "cacheScope": "public",
        "resultType": "complete",
        "x": 1,
    }
    page: JsonObject = {"uri": PAGE, "name": "p", "x-fixture": {"result": result}}
    offers = {"wiki": {"resources": [page]}}
    async with open_wikis(tmp_path, offers=offers) as wikis:
        async with asking(wikis, http, "wiki", era="modern") as caller:
            modern = await caller.ask("resources/read", {"uri": PAGE})
        async with asking(wikis, http, "wiki", era="legacy") as caller:
            legacy = await caller.ask("resources/read", {"uri": PAGE})

    assert modern["result"] == result | {"cacheScope": "private"}
    assert legacy["result"] == {"contents": [], "x": 1}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("prompts/get", {}),
        ("prompts/get", {"name": 7}),
        ("prompts/list", {"cursor": "x"}),
        ("resources/list", {"cursor": ""}),
        ("completion/complete", {}),
        ("completion/complete", {"ref": {"type": "ref/other", "name": "x"}}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "uri": "x"}}),
        ("completion/complete", {"ref": [1]}),
    ],
)
async def test_t21_misshapen_requests_are_the_caller_s_fault(
    wikis_alone: Wikis, http: ClientSession, era: str, method: str, params: JsonObject
) -> None:
    async with asking(wikis_alone, http, "wiki", era=era) as caller:
        answer = await caller.ask(method, params)

    assert answer["error"]["code"] in (-32602, -32020)
    assert not wikis_alone.world.audit.events


@pytest.fixture
async def wikis_alone(tmp_path: Path) -> AsyncGenerator[Wikis]:
    async with open_wikis(tmp_path, offers={}) as wikis:
        yield wikis
