"""Lists and questions about thousands: a page reads no more rows than it shows.

What the stores give for each is compared with all that they have in `tests/storage`.
"""

import re
from collections.abc import Mapping

import pytest
from tests.api.worlds import AGENT, Api
from tests.storage.statements import statements

LISTS = {
    "/agents": "agents",
    "/crew": "agents",
    "/users": "disabled_users",
    "/keys": "api_keys",
}


def sent_about(api: Api, path: str, query: Mapping[str, str], table: str) -> list[str]:
    """Return the statements that the answer takes, of those that read a whole table or a page."""
    with statements() as sent:
        assert api.send("GET", path, params=dict(query)).status_code in (200, 404)
    about = [statement for statement, _ in sent if re.search(rf"FROM {table}\b", statement)]
    return [one for one in about if not re.search(rf"\b{table}\.(id|name) = \?", one)]


@pytest.mark.parametrize(("path", "table"), LISTS.items(), ids=LISTS.keys())
def test_a_page_reads_no_more_than_it_shows(api: Api, path: str, table: str) -> None:
    for name in ("out1", "out2", "out3"):
        api.send("POST", f"/users/{name}/disable")

    found = sent_about(api, path, {"limit": "1"}, table)

    assert found
    assert [one for one in found if "LIMIT" not in one] == []


def id_of(item: Mapping[str, str]) -> str:
    return item.get("id") or item["name"]


def test_a_part_after_another_is_the_rest_of_the_list(api: Api) -> None:
    for name in ("out1", "Out2", "out3"):
        api.send("POST", f"/users/{name}/disable")

    for path in LISTS:
        whole = api.get(path, params={"limit": "1000"})
        pages = [api.get(path, params={"limit": "1"})]
        while pages[-1]["next"] is not None:
            pages.append(api.get(path, params={"limit": "1", "cursor": pages[-1]["next"]}))
        assert [id_of(item) for page in pages for item in page["items"]] == [
            id_of(item) for item in whole["items"]
        ]
        assert len(pages) == len(whole["items"]) > 0


@pytest.mark.parametrize("name", ["nobody", "no%20agent"])
def test_who_asks_for_no_agent_is_told_of_some_and_not_all_are_read(api: Api, name: str) -> None:
    found = sent_about(api, f"/agents/{name}", {}, "agents")

    assert [one for one in found if "LIMIT" not in one and "count(" not in one] == []
    assert AGENT in api.send("GET", f"/agents/{name}").text


def test_whether_a_user_is_kept_out_reads_one_row(api: Api) -> None:
    assert sent_about(api, "/users/ann", {}, "disabled_users") == []


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/who-can", {"tool": "tools/work"}),
        ("/matrix", {"kind": "key"}),
        ("/matrix", {"kind": "key", "decision": "allow"}),
        ("/matrix", {"kind": "agent"}),
        ("/matrix/export", {"kind": "key"}),
        ("/explain", {"as": "key:nobody", "tool": "tools/work"}),
    ],
)
def test_of_callers_only_what_decides_is_read(
    api: Api, path: str, query: Mapping[str, str]
) -> None:
    keys = sent_about(api, path, query, "api_keys")
    agents = sent_about(api, path, query, "agents")

    assert keys or agents
    assert [one for one in keys if "secret_hash" in one] == []
    assert [one for one in agents if "crew_agents" in one] == []
