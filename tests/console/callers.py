"""Whoever calls what a test has made, with a role of its own."""

from collections.abc import Generator
from contextlib import contextmanager

from tests.console.office import Office

from remit.client import Client, keys, roles

NAME = "passer-by"


@contextmanager
def reaching(office: Office, *tools: str) -> Generator[Client]:
    """Give somebody who may call these tools, as `server/tool`, once their servers were tried."""
    administrator = office.client()
    administrator.ask(roles.create(NAME, {"allow": list(tools)}))
    key = administrator.ask(keys.create(NAME, role=NAME)).key
    office.running.settle()
    with Client(office.base, key=key, timeout=60) as caller:
        yield caller
    administrator.ask(keys.revoke(NAME))
    administrator.ask(roles.remove(NAME, if_match="*"))
