"""Who can call what: the matrix says what `explain` says, and every question is answered (R10)."""

import csv
import io
import json
import re
from collections.abc import Generator, Iterator
from html import unescape
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.console.browsing import Windows, axe_violations, look_at
from tests.console.office import Office
from tests.console.reading import Reading

from remit.client import authority, roles
from remit.doors.console.access_who_can import groups_of

ROLES = ("administrator", "auditor")
"""Whoever sees the page."""

HOSTILE = "\"><img src=x onerror=alert(1)> & 'Ann'"
"""A role that somebody named to break the page."""

_CELL = re.compile(
    r'<td class="(yes|no)(?: closed)?"><a href="([^"]*)" title="([^"]*)">(.)'
    r"<small>([A-Z]\d+)</small>"
)
_SIGNS = {"yes": "\N{CHECK MARK}", "no": "\N{MULTIPLICATION X}"}


class Cell(NamedTuple):
    """What one cell of the page says."""

    subject: str
    tool: str
    allowed: bool
    told: str
    code: str


def cells(page: str) -> Iterator[Cell]:
    """Read the matrix of a page; each cell's sign says what its colour says."""
    for tone, link, told, sign, code in _CELL.findall(page):
        assert sign == _SIGNS[tone]
        query = parse_qs(urlsplit(unescape(link)).query)
        yield Cell(query["as"][0], query["tool"][0], tone == "yes", unescape(told), code)


def texts(page: str) -> str:
    """Return what a reader reads of a page."""
    without = re.sub(r"<[^>]*>", " ", page.replace("<code>", "").replace("</code>", ""))
    return " ".join(unescape(without).split())


@pytest.fixture(scope="module")
def hostile(office: Office) -> Generator[str]:
    """Give a role with a hostile name, for as long as this module runs."""
    administrator = office.client()
    administrator.ask(roles.create(HOSTILE, {"allow": ["git/git_log"]}))
    yield HOSTILE
    administrator.ask(roles.remove(HOSTILE, if_match="*"))


@pytest.mark.parametrize(
    ("kind", "server"), [("role", "git"), ("role", "deploy"), ("agent_type", "agent")]
)
def test_every_cell_says_what_explain_says(office: Office, kind: str, server: str) -> None:
    client = office.client()

    shown = list(cells(office.visit("auditor").page("/access", kind=kind, server=server)))

    matrix = client.ask(authority.matrix(authority.Wanted(server=server), kind=kind))
    asked = [(c.subject, t.tool) for c in matrix.callers for t in matrix.tools]
    assert [(cell.subject, cell.tool) for cell in shown] == asked
    for cell in shown:
        answer = client.ask(authority.explain(cell.subject, cell.tool))
        assert cell.allowed == answer.allowed, cell
        verdict = "allow" if answer.allowed else "deny"
        assert cell.told == f"{verdict}: {answer.rule or answer.reason}"
        assert cell.code[0] == {"ceiling": "C", "deny": "D"}[answer.layer]
    if kind == "role":
        assert len({cell.subject for cell in shown}) >= 9  # the nine of the origin


def test_cells_of_one_rule_have_one_code_that_the_page_explains(office: Office) -> None:
    page = office.visit("auditor").page("/access", kind="key", server="data")

    shown = list(cells(page))

    by_code: dict[str, set[tuple[bool, str]]] = {}
    for cell in shown:
        without_names = re.sub("'[^']*'", "''", cell.told)
        by_code.setdefault(cell.code, set()).add((cell.allowed, without_names))
    assert len(by_code) > 3  # or the test shows nothing
    assert [code for code, told in by_code.items() if len(told) > 1] == []
    legend = texts(page.partition("What the codes stand for")[2])
    counted = {code: sum(1 for cell in shown if cell.code == code) for code in by_code}
    explained = re.findall(r"\b([A-Z]\d+) (allow|deny) ceiling (.*?) (\d+)(?= [A-Z]\d+ |$)", legend)
    assert {code: int(many) for code, _, _, many in explained} == counted


def test_filters_leave_what_fits_and_stay_in_the_form(office: Office) -> None:
    visit = office.visit("administrator")

    page = visit.page("/access", server="git", tool="LOG", caller="guest", decision="allow")

    (cell,) = cells(page)
    assert (cell.subject, cell.tool, cell.allowed) == ("role:guest", "git/git_log", True)
    for kept in ('value="LOG"', 'value="guest"', 'value="allow" selected', 'value="git" selected'):
        assert kept in page
    nothing = visit.page("/access", tool="no tool has such a name")
    assert list(cells(nothing)) == []
    assert "Nothing fits" in nothing


def test_what_is_no_filter_and_no_page_is_left_out(office: Office) -> None:
    odd = {"kind": "wizard", "decision": "maybe", "rows": "-1", "columns": "9" * 30}

    page = office.visit("administrator").page("/access", **odd)

    assert page.count('class="matrix-tool') == 50
    assert re.search("Callers 1.[0-9]+ of", texts(page))


def test_pages_follow_one_another_in_both_directions(office: Office) -> None:
    visit, client = office.visit("administrator"), office.client()
    whole = client.ask(authority.matrix(kind="user_role", tools_limit=100)).tools
    path, page, seen, pages = "/access?kind=user_role", "", list[str](), 0

    while path:
        page = visit.page(path)
        pages += 1
        seen += dict.fromkeys(cell.tool for cell in cells(page))
        onward = re.search(r'href="/console([^"]*)" aria-label="Tools after"', page)
        path = unescape(onward[1]) if onward else ""

    total = client.ask(authority.matrix(kind="user_role")).tools_total
    assert len(seen) == len(set(seen)) == total > 100
    assert seen[:100] == [tool.tool for tool in whole]
    assert pages == -(-total // 50)
    assert 'aria-label="Tools before"' in page
    beyond = visit.page("/access", kind="user_role", rows="2")
    callers = client.ask(authority.matrix(kind="user_role")).callers
    assert {cell.subject for cell in cells(beyond)} == {each.subject for each in callers[2:]}
    assert 'aria-label="Callers before"' in beyond


def test_the_csv_is_the_page(office: Office) -> None:
    visit = office.visit("auditor")
    asked = {"kind": "user_role", "server": "data", "decision": "deny"}
    page = visit.page("/access", **asked)

    link = re.search(r'href="/console(/access/export[^"]*)"', page)
    assert link is not None
    reply = visit.get(unescape(link[1]))

    assert reply.headers["content-type"] == "text/csv; charset=utf-8"
    assert reply.headers["content-disposition"] == 'attachment; filename="matrix-user-role.csv"'
    lines = list(csv.DictReader(io.StringIO(reply.text)))
    assert [
        (line["caller"], line["tool"], f"{line['decision']}: {line['rule'] or line['reason']}")
        for line in lines
    ] == [(cell.subject, cell.tool, cell.told) for cell in cells(page)]
    assert len(lines) > 4


def test_hostile_names_are_text(office: Office, hostile: str) -> None:
    visit = office.visit("administrator")
    asked = {"as": f"role:{hostile}", "tool": f"git/{hostile}"}

    matrix = visit.page("/access", server="git", caller=hostile)
    answered = visit.page("/access/what-if", **asked)
    found = visit.page("/access/who-can", tool="git/git_log")

    (log,) = (cell for cell in cells(matrix) if cell.tool == "git/git_log")
    assert (log.subject, log.allowed) == (f"role:{hostile}", True)
    for page in (matrix, answered, found):
        assert "<img" not in page
        assert hostile in texts(page)


def test_who_can_names_everybody_and_explains_pairs(office: Office) -> None:
    client = office.client()

    page = texts(office.visit("auditor").page("/access/who-can", tool="git__git_log"))

    found = client.ask(authority.who_can("git/git_log"))
    assert f"Roles ({len(found.roles)})" in page
    assert f"Keys ({len(found.keys)})" in page
    assert [name for name in (*found.roles, *found.keys, *found.agents) if name not in page] == []
    assert "remit who-can git__git_log" in page
    assert "No server has offered" not in page


def test_whoever_can_only_by_two_hats_stands_there_as_a_pair_alone() -> None:
    found = authority.WhoCan(
        roles=("reader",), keys=("ci", "reports"), users=("ann", "bob"), agents=(),
        user_roles=(), agent_types=(), service_keys=("reports",), hats=("user:ann + role:reader",),
        available=True,
    )  # fmt: skip

    groups = {group.title: group for group in groups_of(found)}

    assert {title: list(group.names) for title, group in groups.items()} == {
        "Roles": [("reader", "role:reader")],
        "Users": [("bob", "user:bob")],
        "Keys": [("ci", "key:ci")],
        "Service keys": [("reports", "key:reports")],
        "Only both together": [("user:ann + role:reader", "")],
    }
    assert "whoever is only one of it cannot" in groups["Only both together"].note


def test_nobody_is_an_answer(office: Office) -> None:
    page = texts(office.visit("auditor").page("/access/who-can", tool="archive/nothing"))

    assert "Nobody can call archive/nothing" in page
    assert "No server has offered this tool so far." in page


def test_what_if_tells_the_story_of_an_allowed_call(office: Office) -> None:
    asked = {
        "as": "key:builder-1",
        "tool": "deploy__deploy_service",
        "arguments": json.dumps({"service": "shop", "version": "v1"}),
    }

    page = texts(office.visit("auditor").page("/access/what-if", **asked))

    answer = office.client().ask(
        authority.explain(asked["as"], asked["tool"], arguments=asked["arguments"])
    )
    assert answer.allowed
    assert f"Allowed key:builder-1 may call deploy/deploy_service: {answer.reason}." in page
    told = [f"{one.layer} " for one in answer.layers]
    story = page.partition("What every layer says")[2]
    places = [story.index(f" {layer}", story.index("Rule")) for layer in told]
    assert places == sorted(places)
    assert story.count(" decided ") == 1
    assert [one.reason for one in answer.layers if one.reason not in story] == []
    assert "Arguments fit" in page
    (limit,) = answer.limits
    counted = f"{limit.used} of {limit.calls}"  # T23: the counter is shown
    assert f"{limit.calls} calls {limit.seconds} s {counted} {limit.rule}" in page
    assert "remit explain --as key:builder-1 deploy__deploy_service" in page


def test_what_if_tells_why_a_call_is_refused_and_that_its_arguments_do_not_fit(
    office: Office,
) -> None:
    asked = {"as": "user:eve", "tool": "deploy/deploy_service", "arguments": '{"version": "v1"}'}

    page = texts(office.visit("auditor").page("/access/what-if", **asked))

    assert "Refused user:eve may not call deploy/deploy_service" in page
    assert "Decided by layer deny Rule grants[0]" in page
    assert 'do not fit "service" is a required property' in page
    assert "a refused call counts against no limit" in page


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"as": "role:guest", "tool": "git/no_such"}, "no server is known to offer it now"),
        ({"as": "role:guest", "tool": "nowhere/x"}, "server 'nowhere' is not declared"),
        ({"as": "role:guest", "tool": "nothing", "arguments": "{}"}, "not checked"),
        ({"as": "role:guest", "tool": "git/git_log", "arguments": "{"}, "do not fit"),
    ],
)
def test_what_if_about_what_is_not_there_says_so(
    office: Office, asked: dict[str, str], said: str
) -> None:
    assert said in texts(office.visit("auditor").page("/access/what-if", **asked))


def test_what_if_of_a_user_says_that_it_is_asked_without_a_token(office: Office) -> None:
    """docs/callers.md: whom the record shows in a role may be refused here without it."""
    said = "without the roles and groups that its token gives"
    pages = {
        subject: texts(
            office.visit("auditor").page(
                "/access/what-if", **{"as": subject, "tool": "deploy/list_services"}
            )
        )
        for subject in ("user:omar", "role:devops_engineer")
    }

    assert "no role allows it" in pages["user:omar"]
    assert [subject for subject, page in pages.items() if said in page] == ["user:omar"]


def test_an_answer_leads_to_the_role_and_the_server_that_there_are(office: Office) -> None:
    visit = office.visit("auditor")
    known = {"as": "role:guest", "tool": "archive/search"}  # a server that is switched off
    unknown = {"as": "user:eve", "tool": "nowhere/x"}

    links = Reading(visit.page("/access/what-if", **known)).links

    led = [link for link in links if link.startswith(("/console/roles/", "/console/servers/"))]
    assert led == ["/console/roles/role?name=guest", "/console/servers/archive"]
    assert [visit.http.get(link).status_code for link in led] == [200, 200]
    assert "/servers/nowhere" not in visit.page("/access/what-if", **unknown)


@pytest.mark.parametrize(
    ("subject", "status", "said"),
    [("guest", 422, "'guest' is no subject"), ("role:ghost", 404, "no role 'ghost' is declared")],
)
def test_a_caller_that_is_none_keeps_what_was_typed(
    office: Office, subject: str, status: int, said: str
) -> None:
    asked = {"as": subject, "tool": "git/git_log", "arguments": '{"kept": true}'}

    reply = office.visit("auditor").get("/access/what-if", **asked)

    assert (reply.status_code, said in texts(reply.text)) == (status, True)
    for typed in asked.values():
        assert typed in unescape(reply.text)


def test_questions_suggest_callers_and_tools_as_they_are_written(office: Office) -> None:
    page = office.visit("auditor").page("/access/what-if")

    suggested = set(map(unescape, re.findall(r'<option value="([^"]*:[^"]*|[^"]*/[^"]*)">', page)))
    wanted = {"role:guest", "key:ci", "agent:builder", "user-role:data", "agent-type:WORKER"}
    assert wanted | {"git/git_log", "deploy/deploy_service"} <= suggested


def test_who_may_edit_is_led_to_what_an_edit_would_change(office: Office) -> None:
    edit = 'href="/console/revisions/edit"'
    paths = ("/access", "/access/who-can", "/access/what-if")

    led = {who: [edit in office.visit(who).page(path) for path in paths] for who in ROLES}

    assert led == {"administrator": [True] * 3, "auditor": [False] * 3}


def test_by_keyboard_from_a_denied_cell_to_its_explanation(new_page: Windows) -> None:
    tab = new_page("auditor", "/access?server=git&caller=guest")
    first = tab.locator("table.matrix td a").first
    tab.get_by_role("button", name="Show").focus()
    while not first.evaluate("link => link === document.activeElement"):
        tab.keyboard.press("Tab")  # the fixture's time limit ends it

    denied = tab.locator("table.matrix tbody td a").filter(has_text=_SIGNS["no"]).last
    for _ in range(50):
        if denied.evaluate("link => link === document.activeElement"):
            break
        tab.keyboard.press("ArrowRight")
    tool = denied.get_attribute("href")
    tab.keyboard.press("Enter")

    tab.get_by_role("heading", name="Refused").wait_for()
    assert tool is not None
    assert tab.url.endswith(tool)
    look_at(tab)
    tab.get_by_role("link", name="Who else can call it?").click()
    tab.get_by_role("heading", name="Roles (").wait_for()
    assert axe_violations(tab) == []
