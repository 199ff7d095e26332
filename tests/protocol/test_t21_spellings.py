"""T21: a rule about a resource is not passed by another spelling of its URI (R14, R15)."""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from tests.doors.worlds import JsonObject
from tests.protocol.wikis import OverHttp, asking, contents, open_wikis

from remit.testing.upstream import executed

ERAS = ("modern", "legacy")
PATHS = ("/mcp", "/mcp/wiki")
LISTED = "FILE:///docs/../As it likes.txt"

FILES: dict[str, Any] = {
    "wiki": contents("wiki", LISTED, template="file:///{+path}"),
    "mirror": contents("mirror", "mirror://only", template="mirror://page/{id}"),
}

BEYOND_DOCS = [
    "file:///docs/../secret.txt",
    "file:///docs/%2e%2e/secret.txt",
    "file:///docs/%2E%2E/secret.txt",
    "file:///docs/..%2Fsecret.txt",
    "file:///docs/..;a/secret.txt",
    "file:///docs/a?/../../secret.txt",
    "remit://wiki/file:///docs/../secret.txt",
]
SECRETS = [
    "file:///./secret.txt",
    "file:///docs/../secret.txt",
    "file:///%73ecret.txt",
    "file:////secret.txt",
    "file:///docs//../secret.txt",
    "file:/secret.txt",
    "file://localhost/secret.txt",
    "file://somewhere/secret.txt",
    "FILE:///secret.txt",
    "file:///\\secret.txt",
    "file:///%5Csecret.txt",
    "file:///%00secret.txt",
    "remit://wiki/FILE:///secret.txt",
    "remit://wiki/file:////secret.txt",
]


def told(answer: JsonObject) -> JsonObject:
    """Return an answer without what differs from request to request."""
    answer["error"]["data"].pop("requestId")
    answer.pop("id", None)
    return answer


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("role", ["docs", "no secrets"])
async def test_t21_another_spelling_is_a_resource_that_does_not_exist(
    tmp_path: Path, http: ClientSession, era: str, role: str, path: str
) -> None:
    uris = BEYOND_DOCS if role == "docs" else SECRETS
    async with (
        open_wikis(tmp_path, offers=FILES) as wikis,
        asking(wikis, http, role, era=era, path=path) as caller,
    ):
        answers = [told(await caller.ask("resources/read", {"uri": uri})) for uri in uris]
        refused = told(await caller.ask("resources/read", {"uri": "file:///secret.txt"}))
        recorded = [event for event in wikis.world.audit.events if event.decision == "deny"]

    assert refused["error"] == {"code": -32602, "message": "Resource not found", "data": {}}
    assert answers == [refused] * len(uris)
    assert executed(wikis.counts["wiki"]) == []
    assert [bool(event.rule) for event in recorded] == [False] * len(uris) + [True]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("era", ERAS)
async def test_t21_normal_uris_and_what_is_listed_go_on(
    tmp_path: Path, http: ClientSession, era: str, path: str
) -> None:
    async with (
        open_wikis(tmp_path, offers=FILES) as wikis,
        asking(wikis, http, "docs", era=era, path=path) as docs,
        asking(wikis, http, "no secrets", era=era, path=path) as most,
    ):
        read = [
            await docs.ask("resources/read", {"uri": "file:///docs/a%20b.txt"}),
            await most.ask("resources/read", {"uri": "file:///docs/deep/a.txt"}),
            await most.ask("resources/read", {"uri": LISTED}),
        ]
        completed = await most.ask(
            "completion/complete",
            {
                "ref": {"type": "ref/resource", "uri": "file:///{+path}"},
                "argument": {"name": "path", "value": "d"},
            },
        )

    assert [answer["result"]["contents"][0]["uri"] for answer in read] == [
        "file:///docs/a%20b.txt",
        "file:///docs/deep/a.txt",
        LISTED,
    ]
    assert completed["result"]["completion"]["values"]


async def test_t21_nothing_is_completed_or_followed_by_another_spelling(
    tmp_path: Path, http: ClientSession
) -> None:
    uri = "file:///docs/../secret.txt"
    async with (
        open_wikis(tmp_path, offers=FILES) as wikis,
        asking(wikis, http, "no secrets", era="legacy") as caller,
    ):
        assert isinstance(caller, OverHttp)
        completed = await caller.ask(
            "completion/complete",
            {
                "ref": {"type": "ref/resource", "uri": uri},
                "argument": {"name": "path", "value": "d"},
            },
        )
        subscribed = await caller.ask("resources/subscribe", {"uri": uri})
        refused = await caller.ask("resources/subscribe", {"uri": "file:///secret.txt"})

    assert told(completed) == told(subscribed) == told(refused)
    assert executed(wikis.counts["wiki"]) == []
