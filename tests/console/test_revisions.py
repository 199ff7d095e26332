"""The page of revisions over a real gateway: history, going back, and the declaration as text."""

from html import unescape
from uuid import uuid4

import pytest
from tests.console.declaring import changing, entered, hidden, number, rows
from tests.console.office import Office

from remit.client import declaration, revisions, roles
from remit.doors.console.declared_text import read_declaration
from remit.errors import ProblemDetails

EDIT = "/revisions/edit"


def added_role(office: Office, **entry: object) -> tuple[str, int]:
    """Declare a role; return its name and the revision that it made."""
    name = f"r{uuid4().hex[:8]}"
    edited = office.client().ask(
        roles.create(name, {"tools": {"git": ["git_log"]}, **entry}, reason=f"adds {name}")
    )
    return name, edited.revision


def text_of(page: str) -> str:
    return entered(page)["text"][0]


def test_a_revision_shows_what_it_changed_and_who_gained_by_it(office: Office) -> None:
    name, made = added_role(office)

    listed = office.visit("auditor").page("/revisions")
    page = office.visit("auditor").page(f"/revisions/{made}")
    same = office.visit("auditor").page(f"/revisions/{made}", against=made)

    row = next(row for row in rows(listed) if row.startswith(f"Revision {made} "))
    assert "in force" in row
    assert "API or console" in row
    assert f"adds {name}" in row
    assert any(row.startswith(f"role:{name} | gains | git/git_log") for row in rows(page))
    assert f"It says the same as revision {made}." in same


def test_of_the_first_revision_all_that_it_opened_is_told_when_asked_for(office: Office) -> None:
    first = office.visit("auditor").page("/revisions/1")
    whole = office.visit("auditor").page("/revisions/1", against=0)

    assert "It is the first revision" in first
    assert any(row.startswith("role:designer | gains | github/") for row in rows(whole))


def test_a_revision_is_exported_as_the_text_that_it_is(office: Office) -> None:
    _, made = added_role(office)

    reply = office.visit("auditor").get(f"/revisions/{made}/export")

    assert reply.text == office.client().ask(declaration.text(revision=made))
    assert reply.headers["content-disposition"] == (
        f'attachment; filename="remit-revision-{made}.yaml"'
    )


def test_going_back_is_seen_first_and_then_a_revision_of_its_own(office: Office) -> None:
    visit = office.visit("administrator")
    name, made = added_role(office)

    preview = visit.post(f"/revisions/{made - 1}/rollback")
    assert any(row.startswith(f"role:{name} | loses | git/git_log") for row in rows(preview.text))
    assert number(office) == made
    visit.do(f"/revisions/{made - 1}/rollback", hidden(preview.text), reason="too early")

    newest = office.client().ask(revisions.list_all(limit=1)).items[0]
    assert (newest.number, newest.reason) == (made + 1, "too early")
    assert name not in office.client().ask(declaration.get())["roles"]


def test_the_text_in_force_is_changed_after_it_was_seen_and_no_secret_is_lost(
    office: Office,
) -> None:
    """The declaration holds values that are shown as a mask: they are what they were."""
    visit, before = office.visit("administrator"), number(office)
    page = visit.page(EDIT)
    assert "[redacted]" in text_of(page)
    name = f"r{uuid4().hex[:8]}"
    text = text_of(page).replace(
        "\nroles:\n", f"\nroles:\n  {name}: {{tools: {{git: [git_log]}}}}\n"
    )

    preview = visit.post(EDIT, {"text": text, "etag": entered(page)["etag"]})
    assert any(row.startswith(f"role:{name} | gains | git/git_log") for row in rows(preview.text))
    assert number(office) == before
    visit.do(EDIT, hidden(preview.text), reason="by hand")

    difference = office.client().ask(revisions.diff(before + 1))
    assert [change.path for change in difference.changes] == [f"roles.{name}"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("roles:\n  a: {tools: [\n", "line 3: is not valid YAML at column 1"),
        ("roles: {}\nroles: {}\n", "line 2: "),
        ("version: '1.0'\nroles:\n  a:\n    allow:\n    - nonsense\n", "line 5: bad-pattern: "),
        ("version: '1.0'\nroles:\n  a:\n    alow: []\n", "did you mean 'allow'?"),
    ],
    ids=["no YAML", "a key twice", "no pattern", "unknown key"],
)
def test_a_text_that_does_not_do_is_told_line_by_line_and_kept(
    office: Office, text: str, told: str
) -> None:
    visit, before = office.visit("administrator"), number(office)
    etag = entered(visit.page(EDIT))["etag"]

    refused = visit.post(EDIT, {"text": text, "etag": etag})

    assert refused.status_code == 422
    assert told in unescape(refused.text)
    assert text_of(refused.text).strip() == text.strip()
    assert number(office) == before


def test_a_text_that_is_too_late_is_kept_beside_what_is_there_now(office: Office) -> None:
    visit = office.visit("administrator")
    page = visit.page(EDIT)
    mine = f"{text_of(page)}\n# mine"
    theirs, _ = added_role(office)

    late = visit.post(EDIT, {"text": mine, "etag": entered(page)["etag"]})

    assert late.status_code == 412
    assert text_of(late.text) == mine
    assert "What is there now" in late.text
    assert theirs in late.text
    assert theirs not in text_of(late.text)


@pytest.mark.parametrize("path", ["/revisions", "/revisions/1"])
def test_an_auditor_sees_history_and_no_form_that_changes(office: Office, path: str) -> None:
    page = office.visit("auditor").page(path)

    assert changing(page) == []
    assert EDIT not in page
    assert office.visit("auditor").get(EDIT).status_code == 403


@pytest.mark.parametrize("wanted", ["0", "99999", "x", "1e3"])
def test_a_revision_that_is_none_is_no_page(office: Office, wanted: str) -> None:
    assert office.visit("administrator").get(f"/revisions/{wanted}").status_code in (404, 422)


async def test_a_complaint_finds_its_line_under_another_spelling_of_its_key() -> None:
    read = await read_declaration("mcpServers:\n  s:\n    command: c\n    args: 1\n")

    told = read.with_lines(
        ProblemDetails("d", status=422, code="c", problems=["'mcp_servers.s.args' is odd", "all"])
    )

    assert told.problems == ("line 4: 'mcp_servers.s.args' is odd", "all")
