"""The page of roles and grants over a real gateway: nothing is saved before it was seen."""

from collections.abc import Iterator
from html import unescape
from uuid import uuid4

import httpx2
import pytest
from tests.console.declaring import changing, entered, hidden, number, rows
from tests.console.office import Office
from tests.console.reading import Reading
from tests.console.visits import CONSOLE

from remit.client import grants, revisions, roles

GIT = {"description": "Reads and pushes", "tools": {"git": ["git_log", "git_push", "not_offered"]}}


@pytest.fixture
def role(office: Office) -> Iterator[str]:
    """Declare a role that nobody else looks at."""
    name = f"role {uuid4().hex[:6]}/x"
    administrator = office.client("administrator")
    administrator.ask(roles.create(name, GIT))
    yield name
    administrator.ask(roles.remove(name, if_match="*"))


def test_the_list_tells_what_each_role_sees_and_what_is_odd(office: Office, role: str) -> None:
    page = office.visit("administrator").page("/roles", q=role)

    (row,) = [row for row in rows(page) if role in row]
    assert "| git | 2 |" in row
    assert "git/not_offered, which server git does not offer" in row


def test_a_role_that_allows_nothing_says_so_loudly(office: Office) -> None:
    administrator, name = office.client(), f"nothing-{uuid4().hex[:6]}"
    administrator.ask(roles.create(name, {"deny": ["*/*"]}))

    listed = office.visit("administrator").page("/roles", q=name)
    page = office.visit("administrator").page("/roles/role", name=name)

    administrator.ask(roles.remove(name, if_match="*"))
    assert "allows nothing" in next(row for row in rows(listed) if name in row)
    assert "It allows nothing: it has neither tools nor allow" in page


def test_a_role_shows_the_tools_that_it_opens_with_the_rule(office: Office, role: str) -> None:
    page = office.visit("auditor").page("/roles/role", name=role)

    assert any(
        row.startswith("git/git_push | ") and f"roles.{role}.tools.git[1]" in row
        for row in rows(page)
    )
    assert any(row.startswith("git/git_merge | ceiling") for row in rows(page))


def test_a_deny_is_shown_with_who_loses_before_it_is_saved(office: Office, role: str) -> None:
    visit, before = office.visit("administrator"), number(office)

    preview = visit.post("/roles/deny", {"name": role, "tool": "git/git_push"})

    assert preview.status_code == 200
    assert any(row.startswith(f"role:{role} | loses | git/git_push") for row in rows(preview.text))
    assert number(office) == before
    assert office.client().ask(roles.get(role)).deny == ()

    done = visit.do("/roles/deny", hidden(preview.text), reason="pushes go through a review")

    assert "git/git_push is denied for role" in done.text
    assert office.client().ask(roles.get(role)).deny == ("git/git_push",)
    newest = office.client().ask(revisions.list_all(limit=1)).items[0]
    assert (newest.number, newest.reason) == (before + 1, "pushes go through a review")


def test_a_deny_is_taken_back_by_one_click_as_well(office: Office, role: str) -> None:
    visit, administrator = office.visit("administrator"), office.client()
    administrator.ask(roles.change(role, {"deny": ["git/git_push", "*/x"]}, if_match="*"))
    assert "the deny of git/git_push" in visit.page("/roles/role", name=role)

    preview = visit.post("/roles/deny", {"name": role, "tool": "git/git_push", "undo": "on"})
    assert any(row.startswith(f"role:{role} | gains | git/git_push") for row in rows(preview.text))
    visit.do("/roles/deny", hidden(preview.text))

    assert administrator.ask(roles.get(role)).deny == ("*/x",)


def test_a_deny_that_is_too_late_is_shown_anew(office: Office, role: str) -> None:
    visit, administrator = office.visit("administrator"), office.client()
    preview = visit.post("/roles/deny", {"name": role, "tool": "git/git_push"})
    administrator.ask(roles.change(role, {"deny": ["git/git_add"]}, if_match="*"))

    late = visit.post("/roles/deny", hidden(preview.text), reason="late")

    assert late.status_code == 412
    assert "Somebody changed it since" in late.text
    assert 'value="late"' in late.text
    assert administrator.ask(roles.get(role)).deny == ("git/git_add",)

    visit.do("/roles/deny", hidden(late.text), reason="late")

    assert administrator.ask(roles.get(role)).deny == ("git/git_add", "git/git_push")


def test_an_edit_keeps_what_nobody_touched_and_shows_who_gains(office: Office, role: str) -> None:
    visit = office.visit("administrator")
    form = entered(visit.page("/roles/edit", name=role))
    assert "git/not_offered" in form["tool"]
    form["tool"] += ["git/git_merge"]
    form["deny"] = ["git/git_push"]

    preview = visit.post("/roles/edit", form)

    changed = [row.rsplit(" | ", 1)[0] for row in rows(preview.text) if row.startswith("role:")]
    assert changed == [
        f"role:{role} | gains | git/git_merge",
        f"role:{role} | loses | git/git_push",
    ]
    visit.do("/roles/edit", hidden(preview.text), reason="reviews")
    after = office.client().ask(roles.get(role))
    assert after.tools == {"git": ("git_log", "git_push", "not_offered", "git_merge")}
    assert (after.description, after.deny) == (GIT["description"], ("git/git_push",))


def test_an_edit_that_is_too_late_keeps_what_was_entered(office: Office, role: str) -> None:
    visit, administrator = office.visit("administrator"), office.client()
    form = entered(visit.page("/roles/edit", name=role))
    form["description"] = ["What I typed"]
    administrator.ask(roles.change(role, {"description": "What they saved"}, if_match="*"))

    late = visit.post("/roles/edit", form)

    assert late.status_code == 412
    assert entered(late.text)["description"] == ["What I typed"]
    assert "What is there now" in late.text
    assert "What they saved" in late.text
    assert visit.post("/roles/edit", entered(late.text)).status_code == 200


def test_a_form_that_is_shown_again_still_knows_what_was_seen(office: Office, role: str) -> None:
    """Whatever the reason: what somebody else saved meanwhile is never overwritten unseen."""
    visit, administrator = office.visit("administrator"), office.client()
    form = {**entered(visit.page("/roles/edit", name=role)), "description": ["Mine"]}
    administrator.ask(roles.change(role, {"deny": ["git/git_add"]}, if_match="*"))

    further = visit.post("/roles/edit", form, step="again")

    assert further.status_code == 200
    assert entered(further.text) == form
    assert visit.post("/roles/edit", entered(further.text)).status_code == 412


def test_what_does_not_do_is_told_beside_what_was_entered(office: Office) -> None:
    visit = office.visit("administrator")

    refused = visit.post(
        "/roles/new", {"name": "bad", "allow": "no pattern", "description": "Kept"}
    )

    assert refused.status_code == 422
    assert "bad-pattern: " in unescape(refused.text)
    assert entered(refused.text)["allow"] == ["no pattern"]
    assert entered(refused.text)["description"] == ["Kept"]


def test_a_role_is_made_and_removed(office: Office) -> None:
    visit, administrator, name = office.visit("administrator"), office.client(), uuid4().hex[:8]

    preview = visit.post("/roles/new", {"name": name, "tool": ["git/git_log"], "whole": ["deploy"]})
    assert any(row.startswith(f"role:{name} | gains | git/git_log") for row in rows(preview.text))
    visit.do("/roles/new", hidden(preview.text))
    made = administrator.ask(roles.get(name))
    preview = visit.post("/roles/remove", {"name": name})
    assert any(row.startswith(f"role:{name} | loses | git/git_log") for row in rows(preview.text))
    visit.do("/roles/remove", hidden(preview.text), reason="not needed")

    assert (made.tools, made.allow) == ({"git": ("git_log",)}, ("deploy/*",))
    assert name not in [one.name for one in administrator.pages(roles.list_all())]


def test_a_grant_is_made_changed_and_removed(office: Office, role: str) -> None:
    visit, administrator = office.visit("administrator"), office.client()

    def declared() -> list[grants.Grant]:
        found = administrator.pages(grants.list_all())
        return [one for one in found if one.subject == f"role:{role}"]

    form = {
        "kind": "role",
        "subject": role,
        "effect": "deny",
        "tool": "git/git_log",
        "enabled": "on",
    }
    preview = visit.post("/roles/grants/new", form)
    assert any(row.startswith(f"role:{role} | loses | git/git_log") for row in rows(preview.text))
    assert declared() == []
    visit.do("/roles/grants/new", hidden(preview.text))
    (made,) = declared()
    shown = visit.page("/roles/grants/edit", id=made.id)
    preview = visit.post(
        "/roles/grants/edit",
        {**form, "id": made.id, "until": "2031-01-31T18:00:00Z", "etag": entered(shown)["etag"]},
    )
    visit.do("/roles/grants/edit", hidden(preview.text))
    (changed,) = declared()
    visit.do(
        "/roles/grants/remove",
        hidden(visit.post("/roles/grants/remove", {"id": changed.id}).text),
    )

    assert made.until is None
    assert changed.until is not None
    assert declared() == []


def test_a_grant_for_a_key_shows_what_it_loses_before_it_is_saved(office: Office) -> None:
    form = {"kind": "key", "subject": "ci", "effect": "deny", "tool": "git/git_log"}

    preview = office.visit("administrator").post("/roles/grants/new", {**form, "enabled": "on"})

    told = [row for row in rows(preview.text) if " | loses | " in row]
    assert [row.partition(" | loses | ")[0] for row in told] == ["key:ci"]
    assert told[0].startswith("key:ci | loses | git/git_log")


def test_a_tag_that_is_none_is_refused_and_what_was_entered_is_kept(office: Office) -> None:
    (grant, *_) = office.client().pages(grants.list_all())
    form = {"id": grant.id, "kind": "user", "subject": "kept", "effect": "deny", "server": "git"}

    for tag in ("\N{RIGHTWARDS ARROW}", "r1", "a\x00b"):
        refused = office.visit("administrator").post("/roles/grants/edit", {**form, "etag": tag})

        assert refused.status_code in {400, 422}
        assert 'value="kept"' in refused.text


def test_a_grant_that_does_not_do_keeps_what_was_entered(office: Office) -> None:
    refused = office.visit("administrator").post(
        "/roles/grants/new", {"kind": "user", "subject": "ann", "effect": "deny", "until": "soon"}
    )

    assert refused.status_code == 422
    assert 'value="soon"' in refused.text
    assert "says nothing of what it opens or closes" in unescape(refused.text)


@pytest.mark.parametrize("path", ["/roles", "/roles/role?name=guest", "/roles/grants"])
def test_an_auditor_sees_all_of_it_and_no_form_that_changes(office: Office, path: str) -> None:
    page = office.visit("auditor").page(path)

    assert f"{CONSOLE}/roles" in Reading(page).menu
    assert changing(page) == []
    assert "/roles/edit" not in page
    assert "/roles/new" not in page


def test_a_role_that_is_not_declared_is_no_page(office: Office) -> None:
    reply: httpx2.Response = office.visit("administrator").get("/roles/role?name=nobody")

    assert reply.status_code == 404
    assert "no role 'nobody' is declared" in unescape(reply.text)
