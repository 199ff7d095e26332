"""What is granted and what is offered, compared whenever a server connects (R16)."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol

import structlog
from anyio import to_thread

from remit.model.declaration import Declaration
from remit.model.tools import ToolId
from remit.policy.findings import Finding, Severity
from remit.policy.lint import lint
from remit.upstreams.catalogue import Catalogue

log = structlog.get_logger(__name__)

_ABOUT_OFFERS = frozenset(
    {"unknown-tool", "unserved-name", "pattern-matches-nothing", "granted-to-nobody"}
)


class Catalogues(Protocol):
    """What is on offer, now and from now on."""

    @property
    def catalogue(self) -> Catalogue:
        """The tools on offer now."""
        ...

    async def changed(self, version: int) -> Catalogue:
        """Wait for a catalogue newer than *version*, and return it."""
        ...


class Policies(Protocol):
    """What is declared."""

    @property
    def declaration(self) -> Declaration:
        """The declaration in force."""
        ...


def compare_offers(
    declaration: Declaration, offered: Mapping[str, Sequence[str]]
) -> tuple[Finding, ...]:
    """Give what is granted and not *offered*, and what of that nobody may use.

    Args:
        declaration: What is declared.
        offered: Server to its tools, prompts and resources, as policy names them; of servers that
            are not in it nothing is told.
    """
    found = lint(declaration, {server: frozenset(names) for server, names in offered.items()})
    return tuple(
        finding for finding in found if finding.code in _ABOUT_OFFERS and finding.server in offered
    )


async def report_offers(catalogues: Catalogues, policies: Policies, tenant: str) -> None:
    """Log, once whenever a server connects or changes its list, how grants and offer differ.

    What is granted and not offered is a warning; what is granted to nobody is often meant so, and
    is told at level info.
    """
    told: Mapping[str, tuple[ToolId, ...]] = {}
    catalogue = catalogues.catalogue
    while True:
        # Servers that came together are compared together: each time the whole policy is read.
        offered = {
            server: [tool.name for tool in ids]
            for server, ids in catalogue.offered.items()
            if told.get(server) != ids
        }
        if offered:
            compare = partial(compare_offers, policies.declaration, offered)
            # It takes a while, in which calls go on.
            for finding in await to_thread.run_sync(compare):
                is_meant = finding.severity is Severity.INFO
                log.log(
                    logging.INFO if is_meant else logging.WARNING,
                    "grants and offer differ",
                    tenant=tenant,
                    server=finding.server,
                    code=finding.code,
                    rule=finding.path,
                    problem=finding.message,
                )
        told = catalogue.offered
        catalogue = await catalogues.changed(catalogue.version)
