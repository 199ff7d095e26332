"""Every page of the console, for everybody: who sees it, and what it is made of (must-show 3)."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from html import unescape
from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.routing import compile_path
from tests.console.office import VISITORS, Office
from tests.console.reading import Reading
from tests.console.visits import CONSOLE, SIGN_IN, Visit

from remit.client import audit, keys, me
from remit.client.transport import TRUSTS_NOBODY
from remit.doors.console import examination
from remit.doors.console.page import Action, Page, Role
from remit.doors.console.pages import PAGES
from remit.errors import ProblemDetails, Refused

ROLES: Mapping[str, frozenset[Role]] = {
    "administrator": frozenset({Role.ADMINISTRATOR, Role.ANYBODY}),
    "auditor": frozenset({Role.AUDITOR, Role.ANYBODY}),
    "reviewer": frozenset({Role.REVIEWER, Role.ANYBODY}),
    "user": frozenset({Role.USER, Role.ANYBODY}),
    "role": frozenset({Role.ANYBODY}),
    "service": frozenset({Role.ANYBODY}),
    "agent": frozenset({Role.ANYBODY}),
}
"""What each visitor is to the console."""

SEEN_BY: Mapping[str, str] = {
    "home": "administrator auditor",
    "alerts": "administrator auditor",
    "access": "administrator auditor",
    "audit": "administrator auditor",
    "mcp-server": "administrator auditor",
    "servers": "administrator auditor",
    "roles": "administrator auditor",
    "revisions": "administrator auditor",
    "keys": "administrator auditor",
    "users": "administrator auditor",
    "agents": "administrator auditor",
    "inbox": "administrator auditor",
    "queries": "administrator auditor reviewer user",
    "ontology": "administrator auditor reviewer",
    "me": "administrator auditor reviewer user role service agent",
}
"""Key of a page to whoever sees it: who lets in others has to say so here, too."""

POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}
MOST_LINKS = 60
"""Links of one page that are followed."""


def actions(method: str) -> Iterator[tuple[Page, Action]]:
    return ((page, a) for page in PAGES for a in page.actions if a.method == method)


def pages_of(who: str) -> list[Page]:
    return [page for page in PAGES if page.who & ROLES[who]]


def typed(path: str) -> str:
    """Return a path of an action as somebody could type it."""
    return compile_path(path)[1].replace("{", "").replace("}", "")


def test_every_page_is_for_whom_it_is_meant() -> None:
    assert {
        page.key: " ".join(who for who in VISITORS if page in pages_of(who)) for page in PAGES
    } == SEEN_BY


@pytest.mark.parametrize("who", VISITORS)
def test_everybody_gets_exactly_their_pages(office: Office, who: str) -> None:
    visit = office.visit(who)
    seen = pages_of(who)

    statuses = {page.key: visit.get(page.path).status_code for page in PAGES}

    assert statuses == {page.key: 200 if page in seen else 403 for page in PAGES}
    menu = Reading(visit.page("/me")).menu
    assert menu == [f"{CONSOLE}{page.path}" for page in seen]


@pytest.mark.parametrize("who", VISITORS)
def test_what_belongs_to_a_page_of_others_is_refused(office: Office, who: str) -> None:
    """Also what no page offers: a path that somebody typed, a form that somebody made."""
    visit = office.visit(who)
    others = [
        (action.method, typed(action.path))
        for page in PAGES
        for action in page.actions
        if not action.who & ROLES[who]
    ]

    answers = {
        (method, path): (visit.post(path) if method == "POST" else visit.get(path)).status_code
        for method, path in others
    }

    assert answers == dict.fromkeys(others, 403)


def test_an_auditor_changes_nothing(office: Office) -> None:
    """Whatever is sent is refused, and no page that only administrators change shows a form."""
    visit = office.visit("auditor")

    answers = {
        action.path: visit.post(typed(action.path)).status_code for _, action in actions("POST")
    }

    assert answers == dict.fromkeys(answers, 403)


@pytest.mark.parametrize("who", ["auditor", "user"])
def test_what_is_refused_is_on_record_as_the_api_refuses_it(office: Office, who: str) -> None:
    """docs/api.md: an attempt at a change by somebody who may not is on record."""
    visit, administrator = office.visit(who), office.client()
    principal = office.client(who).ask(me.get()).subject
    others = [action for _, action in actions("POST") if not action.who & ROLES[who]]
    tried = Counter[str]()
    for action in others:
        if isinstance(action.makes, str) and action.makes:
            tried[action.makes] += 1
    more = {"entities.put": "stated/entity", "facts.remove": "stated/fact/delete",
            "questions.escalate": "questions/q/aside"}  # fmt: skip
    wanted = audit.Filter(principal=principal, server="/admin", decision="deny")
    before = Counter(row.tool for row in administrator.pages(audit.search(wanted)))

    for action in others:
        visit.post(typed(action.path))
    for path in more.values():
        assert visit.post(f"/ontology/shop/{path}", move="escalate").status_code == 403
    with pytest.raises(ProblemDetails) as refused:
        office.client(who).ask(keys.create("x"))

    rows = list(administrator.pages(audit.search(wanted)))
    new = Counter(row.tool for row in rows)
    new.subtract(before)
    # of `/aside`, the form says which
    assert +new == tried + Counter([*more, "questions.skip", "keys.create"])
    by_api, by_console = [row for row in rows if row.tool == "keys.create"][:2]
    assert by_api.code == by_console.code == Refused.code
    errors = [administrator.ask(audit.get(row.id)).events[0].error for row in (by_api, by_console)]
    assert errors == [str(refused.value)] * 2
    assert f"{refused.value}, and you are signed in as {principal}" in unescape(
        visit.post("/keys/-new").text
    )


def test_every_form_that_changes_something_says_what_the_api_calls_that(office: Office) -> None:
    """Or else a refused attempt at it left no trace."""
    described = httpx2.get(f"{office.base}/api/openapi.json", timeout=60, verify=TRUSTS_NOBODY)
    changes: set[str] = {
        operation["operationId"]
        for methods in described.json()["paths"].values()
        for method, operation in methods.items()
        if method != "get" and isinstance(operation, dict) and "operationId" in operation
    }

    said = {action.path: action.makes for _, action in actions("POST")}

    assert [path for path, makes in said.items() if not makes] == [examination.AT]
    assert {makes for makes in said.values() if isinstance(makes, str) and makes} <= changes


def test_a_stranger_is_led_to_the_sign_in_from_everywhere(office: Office) -> None:
    paths = [page.path for page in PAGES] + [action.path for _, action in actions("GET")]
    with httpx2.Client(base_url=office.base, timeout=60, verify=TRUSTS_NOBODY) as stranger:
        for path in ["/", *paths]:
            reply = stranger.get(f"{CONSOLE}{typed(path)}")
            assert reply.status_code == 303, path
            assert urlsplit(reply.headers["location"]).path == SIGN_IN
        for _, action in actions("POST"):
            reply = stranger.post(f"{CONSOLE}{action.path}", data={"csrf": "x"})
            assert (reply.status_code, reply.headers["location"]) == (303, SIGN_IN)


def test_a_form_without_the_token_of_its_session_changes_nothing(office: Office) -> None:
    visit, other = office.visit("administrator"), office.visit("user")
    paths = [typed(action.path) for _, action in actions("POST")]

    forged = {path: visit.post(path, csrf="").status_code for path in paths}
    borrowed = {path: visit.post(path, csrf=other.csrf).status_code for path in paths}

    assert forged == borrowed == dict.fromkeys(paths, 403)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.key)
def test_a_page_holds_nothing_that_the_policy_forbids(office: Office, page: Page) -> None:
    reply = office.visit("administrator").get(page.path)
    read = Reading(reply.text)

    told = reply.headers["content-security-policy"].split("; ")
    assert {part.split(" ", 1)[0]: part.split(" ", 1)[1] for part in told} == POLICY
    assert reply.headers["cache-control"] == "no-store"
    assert read.inline == []
    assert [source for source in read.sources if not is_ours(source)] == []
    assert (read.headings, read.doubled) == (1, [])
    assert [f for f in read.forms if f.method == "post" and "csrf" not in f.fields] == []


def is_ours(source: str) -> bool:
    return source.startswith((f"{CONSOLE}/static/", "data:image/"))


@pytest.mark.parametrize(
    "path",
    [*(page.path for page in PAGES), "/queries?tab=pending", "/roles/role?name=tech_lead"],
)
def test_a_row_that_leads_to_what_it_is_about_has_its_name_as_head(
    office: Office, path: str
) -> None:
    """So that a screen reader says it with every other cell of the row."""
    shown = office.visit("administrator").page(path)

    rows = [row.strip() for row in re.findall(r"<tr[^>]*>(.*?)</tr>", shown, re.DOTALL)]

    assert [row[:80] for row in rows if re.match(r"<td[^>]*>\s*<(a|code)\b", row)] == []


@pytest.mark.parametrize("who", VISITORS)
def test_no_link_leads_nowhere_and_no_page_tells_a_secret(office: Office, who: str) -> None:
    """Every page, and what its links lead to: each is there for whoever is shown it."""
    visit = office.visit(who)
    pages = dict(walk(visit, [page.path for page in pages_of(who)]))

    there = {at: reply.status_code for at, reply in pages.items() if at != "/"}
    assert there == dict.fromkeys(there, 200)
    telling = [
        at for at, reply in pages.items() for secret in office.secrets if secret in reply.text
    ]
    assert telling == []


def walk(visit: Visit, paths: list[str]) -> Iterator[tuple[str, httpx2.Response]]:
    """Follow the links of pages, one step far, and give every answer once."""
    replies = {path: visit.get(path) for path in paths}
    yield from replies.items()
    found: dict[str, None] = {}
    for reply in replies.values():
        links = [link for link in Reading(reply.text).links if link.startswith(f"{CONSOLE}/")]
        found |= dict.fromkeys(dict.fromkeys(links[:MOST_LINKS]))
    for link in found:
        path = link.removeprefix(CONSOLE)
        if path not in replies:
            yield path, visit.get(path)
