"""A search that no index leads through is read a stretch at a time, and goes on where it ended."""

import re
from html import unescape

import pytest
from tests.api.operations import new_key, new_role
from tests.api.worlds import Api
from tests.console.visits import CONSOLE, sign_in

from remit.client import Client, audit
from remit.client.audit import Filter
from remit.doors.api import audit as routes
from remit.storage import events

STRETCH = 3


@pytest.fixture
def hurried(api: Api, monkeypatch: pytest.MonkeyPatch) -> Api:
    """Give an API with a record, of which one answer looks at three rows."""
    for _ in range(4):
        new_key(api)
        new_role(api)
    monkeypatch.setattr(events, "STRETCH", STRETCH)
    monkeypatch.setattr(routes, "LONGEST", 0.0)
    return api


def test_a_page_says_how_far_it_looked_and_the_next_ones_look_at_the_rest(
    hurried: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {"text": "keys.create", "limit": "2"}

    pages = [hurried.get("/audit", params=wanted)]
    while pages[-1]["next"] is not None:
        pages.append(hurried.get("/audit", params={**wanted, "cursor": pages[-1]["next"]}))

    ids = [row["id"] for page in pages for row in page["items"]]
    monkeypatch.undo()
    whole = hurried.get("/audit", params={"tool": "keys.create", "limit": "1000"})["items"]
    assert ids == [row["id"] for row in whole]
    assert any(page["searched_to"] is not None for page in pages[:-1])
    assert all(page["searched_to"] for page in pages[:-1] if len(page["items"]) < 2)
    assert pages[-1]["searched_to"] is None


def test_a_client_reads_to_the_end_over_pages_that_are_empty(hurried: Api) -> None:
    first = hurried.get("/audit", params={"text": "nowhere to be found"})

    with Client(hurried.base, key=hurried.credentials["administrator"]) as client:
        found = list(client.pages(audit.search(Filter(text="nowhere to be found"))))
        denied = list(client.pages(audit.search(Filter(decision="deny"), limit=5)))

    assert (first["items"], first["next"] is None) == ([], False)
    assert found == []
    assert {row.decision for row in denied} <= {"deny"}


def test_what_an_index_leads_to_is_found_however_old_it_is(hurried: Api) -> None:
    oldest = hurried.get("/audit", params={"tool": "keys.create", "limit": "1000"})

    assert oldest["items"]
    assert (oldest["next"], oldest["searched_to"]) == (None, None)


def test_an_export_has_all_of_it_all_the_same(hurried: Api) -> None:
    reply = hurried.send("GET", "/audit/export", params={"text": "keys.create"})

    whole = hurried.get("/audit", params={"tool": "keys.create", "limit": "1000"})["items"]
    assert len(reply.text.splitlines()) == len(whole)


def test_the_console_leads_on_to_older_rows(hurried: Api) -> None:
    key = hurried.credentials["administrator"]
    assert key is not None
    with sign_in(hurried.base, key) as visit:
        page = visit.page("/audit", text="nowhere to be found")
        assert "Nothing so far is like that" in page
        for _ in range(200):
            onward = re.search(r'<a class="button" href="([^"]*)">Go on with older rows', page)
            if onward is None:
                break
            page = visit.page(unescape(onward[1]).removeprefix(CONSOLE))

    assert "Nothing on record is like that" in page
