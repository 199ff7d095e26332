"""The page "Keys": a secret is in one answer and nowhere else, and what a key is for is seen."""

import re
from html import unescape
from typing import Any
from uuid import uuid4

import pytest
from tests.console.office import AGENT, Office
from tests.console.reading import Reading
from tests.console.visits import Visit

from remit.client import Client, keys
from remit.client.audit import Filter, search
from remit.errors import CredentialRefused

NEW = "/keys/-new"
ROLE = "backend_developer"
QUERY = "01a2251b-dda5-79c0-817b-0b7c51feb48b"
_SECRET = re.compile(r"rmt_[a-z2-7]{12}_[\w-]{20,}")


@pytest.fixture
def visit(office: Office) -> Visit:
    return office.visit("administrator")


def fresh() -> str:
    return f"test-{uuid4().hex[:12]}"


def make(visit: Visit, name: str, **fields: Any) -> str:
    """Make a key by the form, and return its text."""
    given = {"name": name, "kind": "role", "role": ROLE, "expires": "30d"} | fields
    shown = visit.post(NEW, given)
    assert shown.status_code == 200, shown.text
    return secret_in(shown.text)


def secret_in(page: str) -> str:
    (text,) = set(_SECRET.findall(page))
    return text


def at(visit: Visit, name: str) -> str:
    """Return where the page of the newest key of that name is, by the list."""
    found = re.findall(r'href="/console(/keys/[a-z2-7]+)"', visit.page("/keys", text=name))
    return found[-1]


def test_a_new_key_works_and_its_secret_is_in_one_answer_and_nowhere_else(
    office: Office, visit: Visit
) -> None:
    """Not in an address, a cookie, the log, the record, or a page that is shown later."""
    name = fresh()
    shown = visit.post(NEW, name=name, kind="role", role=ROLE, expires="30d", reason="a test")
    text = secret_in(shown.text)
    secret = text.split("_", 2)[2]

    with Client(office.base, key=text) as caller:
        assert not caller.call_tool("git__git_status").is_error

    assert "This is shown once." in shown.text
    assert shown.headers["cache-control"] == "no-store"
    told = [shown.headers, shown.history, dict(visit.http.cookies), office.running.log.read_text()]
    record = office.client().ask(search(Filter(text=name))).items
    assert [row.tool for row in record if row.server == "/admin"] == ["keys.create"]
    later = [visit.page(path) for path in ("/keys", at(visit, name), "/me", NEW)]
    assert [str(each) for each in (*told, record, *later) if secret in str(each)] == []


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"role": ROLE, "with_user_role": "data"}, "role backend_developer, user role data"),
        ({"kind": "user_role", "user_role": "user"}, "user role user"),
        ({"kind": "service", "queries": f"{QUERY}\r\n{QUERY[:-1]}c"}, "service, 2 queries"),
        ({"kind": "agent", "agent": AGENT}, "agent builder"),
        ({"kind": "admin"}, "administrator"),
        ({"kind": "auditor"}, "auditor"),
        ({"act_for": [AGENT, "planner"]}, "role backend_developer acts for builder, planner"),
    ],
)
def test_a_key_is_for_what_was_chosen(
    office: Office, visit: Visit, fields: dict[str, Any], told: str
) -> None:
    """What stands in the boxes of other kinds counts for nothing: without scripts all are there."""
    name = fresh()

    make(visit, name, **fields)

    row = visit.page("/keys", text=name).partition("<tbody>")[2].partition("</td>")[0]
    words = unescape(re.sub(r"<[^>]+>", "", row)).split()
    assert words == [name, *told.split()]
    office.client().ask(keys.revoke(name))


def test_what_was_called_with_a_key_of_an_agent_is_found_from_its_page(visit: Visit) -> None:
    """On record an agent is the agent, whichever of its keys it came with."""
    page = visit.page(at(visit, "builder-1"))

    (link,) = re.findall(r'<a href="(/console/audit[?][^"]*)">What the agent called', page)
    found = visit.http.get(f"{unescape(link)}&tool=list_services").text

    assert "deploy/list_services" in found
    assert f"agent:{AGENT}" in found
    assert "What it called" not in page


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"role": ""}, "choose the role"),
        ({"kind": "agent", "agent": ""}, "choose the agent"),
        ({"kind": "nothing"}, "choose what the key is for"),
        ({"role": "no_such_role"}, "no role 'no_such_role' is declared"),
        ({"expires": "other", "until": "soon"}, "is no time"),
        ({"expires": "other", "until": ""}, "say when the key ends"),
        ({"name": "ci"}, "a key named 'ci' is in use"),
    ],
)
def test_what_does_not_do_is_said_and_nothing_that_was_entered_is_lost(
    visit: Visit, fields: dict[str, str], told: str
) -> None:
    given = {"name": fresh(), "kind": "role", "role": ROLE, "expires": "30d", "reason": "a <test>"}

    refused = visit.post(NEW, {**given, **fields})

    assert refused.status_code in {400, 404, 409, 422}
    assert told in unescape(refused.text)
    assert 'value="a &lt;test&gt;"' in refused.text
    assert f'value="{(given | fields)["name"]}"' in refused.text
    assert _SECRET.findall(refused.text) == []


def test_a_rotated_key_gets_a_secret_once_and_the_old_one_holds_as_long_as_was_chosen(
    office: Office, visit: Visit
) -> None:
    name = fresh()
    old = make(visit, name)
    where = at(visit, name)

    shown = visit.post(f"{where}/rotate", overlap="600")
    new = secret_in(shown.text)

    assert new != old
    for text in (old, new):
        with Client(office.base, key=text) as caller:
            assert not caller.call_tool("git__git_status").is_error
    before = visit.page(where)
    assert '<span class="badge warn">ending</span>' in before
    assert "Another key has the name" in before
    assert [f.action for f in Reading(before).forms if "/keys/" in f.action] == []
    assert new.split("_", 2)[2] not in before + visit.page(at(visit, name))


@pytest.mark.parametrize("what", ["rotate", "revoke"])
def test_a_page_that_was_loaded_before_somebody_rotated_ends_nothing(
    office: Office, visit: Visit, what: str
) -> None:
    """Such as the answer to a rotation, which is loaded again."""
    name = fresh()
    make(visit, name)
    where = at(visit, name)
    new = office.client().ask(keys.rotate(name)).key

    refused = visit.post(f"{where}/{what}", overlap="0")

    assert refused.status_code == 409
    assert "This key was replaced since the page was loaded" in refused.text
    assert _SECRET.findall(refused.text) == []
    with Client(office.base, key=new) as caller:
        assert not caller.call_tool("git__git_status").is_error


def test_an_overlap_that_was_not_to_be_chosen_is_refused(visit: Visit) -> None:
    name = fresh()
    make(visit, name)

    refused = visit.post(f"{at(visit, name)}/rotate", overlap="nan")

    assert refused.status_code == 400
    assert "choose how long" in refused.text


def test_a_revoked_key_is_refused_and_its_page_offers_nothing(office: Office, visit: Visit) -> None:
    name = fresh()
    text = make(visit, name)
    where = at(visit, name)

    page = visit.do(f"{where}/revoke", reason="lost").text

    assert f"The key {name} is revoked" in page
    assert "Nothing: it holds no longer." in page
    assert [f.action for f in Reading(page).forms if "/keys/" in f.action] == []
    with Client(office.base, key=text) as caller, pytest.raises(CredentialRefused):
        caller.list_tools()
    assert visit.post(f"{where}/revoke").status_code == 404


def test_whoever_revokes_an_administrators_key_is_told_how_another_is_made(visit: Visit) -> None:
    names = {"admin": fresh(), "role": fresh()}
    for kind, name in names.items():
        make(visit, name, kind=kind)

    pages = {kind: unescape(visit.page(at(visit, name))) for kind, name in names.items()}

    told = "only `remit keys create NAME --admin` on the gateway's machine makes one."
    assert (told in pages["admin"], told in pages["role"]) == (True, False)


def test_keys_are_found_by_name_purpose_and_state(visit: Visit) -> None:
    name = fresh()
    make(visit, f"{name}-One")
    make(visit, f"{name}-two", kind="auditor")
    visit.do(f"{at(visit, f'{name}-two')}/revoke")

    def found(**wanted: str) -> list[str]:
        page = visit.page("/keys", **{"text": name.upper(), **wanted})
        return re.findall(rf">({name}-\w+)</a>", page)

    assert found() == [f"{name}-One", f"{name}-two"]
    assert found(purpose="role") == [f"{name}-One"]
    assert found(purpose="auditor") == [f"{name}-two"]
    assert found(state="revoked") == [f"{name}-two"]
    assert found(state="holds") == [f"{name}-One"]
    assert "No key is like that" in visit.page("/keys", text=name, purpose="agent")


def test_a_key_shows_the_tools_that_its_bearer_sees(office: Office, visit: Visit) -> None:
    page = visit.page(at(visit, "builder-1"))

    seen = office.client("agent").list_tools()
    assert seen
    for tool in seen:
        assert f"<code>{tool.name}</code>" in page


def test_an_auditor_sees_keys_and_no_form(office: Office) -> None:
    auditor = office.visit("auditor")
    for path in ("/keys", at(auditor, "ci")):
        main = auditor.page(path).partition("<main")[2]
        assert 'method="post"' not in main
        assert NEW not in main
    assert auditor.post(NEW, name="x", kind="admin").status_code == 403


def test_a_name_with_markup_is_a_text(visit: Visit) -> None:
    name = f"<b onclick=x>{uuid4().hex[:8]}"
    make(visit, name)

    where = re.findall(r'href="/console(/keys/[a-z2-7]+)"', visit.page("/keys", text=name[-8:]))[0]
    pages = [visit.page("/keys", text=name[-8:]), visit.page(where)]
    pages.append(visit.do(f"{where}/revoke").text)

    assert [page for page in pages if "<b onclick" in page] == []
    assert [Reading(page).inline for page in pages] == [[], [], []]
