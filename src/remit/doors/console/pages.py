"""Every page of the console, in the order of its navigation: the one registry."""

from typing import Final

from remit.doors.console import (
    access,
    agents,
    alerts,
    audit,
    home,
    inbox,
    keys,
    mcp_server,
    me,
    ontology,
    queries,
    revisions,
    roles,
    servers,
    users,
)
from remit.doors.console.page import Page

PAGES: Final[tuple[Page, ...]] = (
    home.PAGE,
    alerts.PAGE,
    access.PAGE,
    roles.PAGE,
    mcp_server.PAGE,
    revisions.PAGE,
    servers.PAGE,
    keys.PAGE,
    users.PAGE,
    agents.PAGE,
    inbox.PAGE,
    audit.PAGE,
    queries.PAGE,
    ontology.PAGE,
    me.PAGE,
)
"""A page that is not here is not served; tests walk through all of them."""
