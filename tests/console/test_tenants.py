"""Whoever may look at every tenant chooses one on the page "Me", and every other page follows."""

import re
from uuid import uuid4

import pytest
from tests.console.office import Office

from remit.client import tenants


def test_an_administrator_makes_a_tenant_and_looks_at_it_and_back(office: Office) -> None:
    visit, name = office.visit("administrator"), f"acme-{uuid4().hex[:6]}"

    made = visit.do("/tenants", {"name": name}).text
    assert f"The tenant {name} is there." in made
    assert name in {one.name for one in office.client().ask(tenants.list_all(limit=1000)).items}
    there = visit.do("/tenant", {"tenant": name}).text

    try:
        assert f"<strong>{name}</strong>" in there
        assert "backend_developer" not in visit.page("/roles")
    finally:
        visit.do("/tenant", {"tenant": "default"})
    assert "backend_developer" in visit.page("/roles")


def test_a_form_of_a_page_about_another_tenant_than_is_looked_at_changes_nothing(
    office: Office,
) -> None:
    # two windows of one browser share the choice of a tenant
    visit, name = office.visit("administrator"), f"acme-{uuid4().hex[:6]}"
    office.client().ask(tenants.create(name))
    first_window = visit.page("/roles/new")
    visit.do("/tenant", {"tenant": name})  # in another window
    fields = {"of_tenant": tenant_of(first_window), "name": "meant-elsewhere", "step": "save"}

    try:
        refused = visit.post("/roles/new", fields)
        assert refused.status_code == 409
        assert "another tenant since this page was loaded" in refused.text
        assert "meant-elsewhere" not in visit.page("/roles")
        assert tenant_of(visit.page("/roles/new")) == name
        assert visit.post("/theme", fields | {"theme": ""}).status_code == 303
        assert visit.post("/roles/new", fields | {"of_tenant": name}).status_code == 303
    finally:
        visit.do("/tenant", {"tenant": "default"})
    assert "meant-elsewhere" not in visit.page("/roles")


def tenant_of(page: str) -> str:
    """Return the tenant in the forms of a page."""
    found = re.search(r'name="of_tenant" value="([^"]*)"', page)
    assert found is not None
    return found[1]


def test_a_tenant_that_cannot_be_made_is_told_with_what_was_typed(office: Office) -> None:
    refused = office.visit("administrator").post("/tenants", {"name": "no such / name"})

    assert refused.status_code == 422
    assert 'value="no such / name"' in refused.text
    assert 'role="alert"' in refused.text


@pytest.mark.parametrize("who", ["reviewer", "user", "role"])
def test_others_see_their_own_tenant_alone(office: Office, who: str) -> None:
    visit = office.visit(who)

    assert "Look at" not in visit.page("/me")
    assert visit.post("/tenant", {"tenant": "default"}).status_code == 403
    assert visit.post("/tenants", {"name": "mine"}).status_code == 403


def test_an_auditor_looks_at_every_tenant_and_makes_none(office: Office) -> None:
    name = f"acme-{uuid4().hex[:6]}"
    office.client().ask(tenants.create(name))
    visit = office.visit("auditor")

    assert f"Look at {name}" in visit.page("/me")
    assert "New tenant" not in visit.page("/me")
    there = visit.do("/tenant", {"tenant": name}).text
    try:
        assert f"<strong>{name}</strong>" in there
        assert "backend_developer" not in visit.page("/roles")
    finally:
        visit.do("/tenant", {"tenant": "default"})
