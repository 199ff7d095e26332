"""The page of grants where there are more of them than anybody reads."""

import re
from collections.abc import Generator
from html import unescape
from uuid import uuid4

import pytest
from tests.console.declaring import rows
from tests.console.office import Office
from tests.console.visits import Visit

from remit.client import Client, declaration, tenants
from remit.doors.console.grants import ROWS

USERS = [f"user{number:03}" for number in range(ROWS + 20)]


@pytest.fixture
def visit(office: Office) -> Generator[Visit]:
    """Give an administrator who looks at a tenant that keeps many users out."""
    name = f"strict-{uuid4().hex[:6]}"
    office.client().ask(tenants.create(name))
    grants = [{"user": user, "effect": "deny", "server": "data"} for user in USERS]
    declared = {"mcp_servers": {"data": {"builtin": "data"}}, "grants": grants}
    with Client(office.base, key=office.keys["administrator"], tenant=name) as client:
        client.ask(declaration.apply(declared, if_match="*"))
    visit = office.visit("administrator")
    visit.do("/tenant", {"tenant": name})
    yield visit
    visit.do("/tenant", {"tenant": "default"})


def whom(page: str) -> list[str]:
    return re.findall(r"user:(user\d+) \|", "\n".join(rows(page)))


def test_grants_come_in_pages_and_are_looked_for_by_words(visit: Visit) -> None:
    first = visit.page("/roles/grants")
    (further,) = re.findall(r'href="([^"]*)">Next page', first)
    second = visit.http.get(unescape(further)).text

    assert len(whom(first)) == ROWS
    assert sorted([*whom(first), *whom(second)]) == USERS
    assert f"{ROWS + 1} to {len(USERS)} of {len(USERS)}" in second
    found = whom(visit.page("/roles/grants", q="USER11"))
    assert sorted(found) == [user for user in USERS if user.startswith("user11")]
    assert "No grant is like that" in visit.page("/roles/grants", q="nobody")
