"""Grants, by the subject that they are about (S4.16, R8, R11).

A grant has an end, and policy has no clock: grants are compiled for a moment, and what comes of it
says until when it is good. Without a moment nothing that ends is counted on: an allow that ends is
left out, a deny that ends stays.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from remit.model.decisions import Layer, LayerVerdict, Verdict
from remit.model.grants import Grant
from remit.model.tools import ToolId
from remit.policy.patterns import Pattern
from remit.policy.rules import PatternRule, PatternRules

EVERYBODY = "*"
"""The subject of a grant to the whole tenant."""

ROLE = "role:"
"""How the subject of a grant to a role begins."""


class Found(NamedTuple):
    """A grant that fits, by its place in the declaration."""

    position: int
    verdict: LayerVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantList:
    """The grants of one effect to one subject."""

    servers: Mapping[str, Found]
    tools: PatternRules

    @property
    def is_empty(self) -> bool:
        """Whether there is none."""
        return not self.servers and self.tools.is_empty

    def of_server(self, server: str) -> Found | None:
        """Return the first grant of the whole server, or None."""
        return self.servers.get(server)

    def of_tool(self, tool: ToolId) -> Found | None:
        """Return the first grant by a tool pattern that fits, or None."""
        rule = self.tools.find_rule(tool)
        return None if rule is None else Found(rule.position, rule.verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectGrants:
    """What is granted and denied to one subject."""

    allow: GrantList
    deny: GrantList


@dataclass(frozen=True, slots=True, kw_only=True)
class Grants:
    """Every grant that counts at one moment.

    Attributes:
        good_until: When the next of them begins or ceases to count, or None.
    """

    by_subject: Mapping[str, SubjectGrants]
    good_until: datetime | None


def compile_grants(declared: Iterable[Grant], now: datetime | None) -> Grants:
    """Index the grants that count at *now*.

    Raises:
        DeclarationError: A pattern cannot be one.
    """
    grants = tuple(declared)
    by_subject: dict[str, list[tuple[int, Grant]]] = {}
    for position, grant in enumerate(grants):
        if _counts(grant, now):
            by_subject.setdefault(grant.subject, []).append((position, grant))
    ends = [grant.until for grant in grants if grant.until is not None]
    return Grants(
        by_subject=MappingProxyType(
            {subject: _subject_grants(listed) for subject, listed in by_subject.items()}
        ),
        good_until=min((end for end in ends if now is not None and end > now), default=None),
    )


def _counts(grant: Grant, now: datetime | None) -> bool:
    if not grant.enabled or grant.until is None:
        return grant.enabled
    return grant.effect == "deny" if now is None else now < grant.until


def _subject_grants(listed: list[tuple[int, Grant]]) -> SubjectGrants:
    allows = [(position, grant) for position, grant in listed if grant.effect == "allow"]
    denies = [(position, grant) for position, grant in listed if grant.effect == "deny"]
    return SubjectGrants(
        allow=_grant_list(allows, Layer.ACCESS, Verdict.ALLOW),
        deny=_grant_list(denies, Layer.DENY, Verdict.DENY),
    )


def _grant_list(listed: list[tuple[int, Grant]], layer: Layer, verdict: Verdict) -> GrantList:
    servers: dict[str, Found] = {}
    for position, grant in listed:
        if grant.server:
            found = Found(position, _verdict(position, grant, layer, verdict))
            servers.setdefault(grant.server, found)
    return GrantList(
        servers=MappingProxyType(servers),
        tools=PatternRules.index(_tool_rules(listed, layer, verdict)),
    )


def _tool_rules(
    listed: list[tuple[int, Grant]], layer: Layer, verdict: Verdict
) -> Iterator[PatternRule]:
    for position, grant in listed:
        if grant.tool:
            yield PatternRule(
                pattern=Pattern.parse(grant.tool),
                position=position,
                verdict=_verdict(position, grant, layer, verdict),
            )


def _verdict(position: int, grant: Grant, layer: Layer, verdict: Verdict) -> LayerVerdict:
    target = f"server {grant.server!r}" if grant.server else repr(grant.tool)
    subject = "everybody" if grant.subject == EVERYBODY else grant.subject
    return LayerVerdict(
        layer=layer,
        verdict=verdict,
        rule=f"grants[{position}]",
        reason=f"{target} is {'granted' if verdict is Verdict.ALLOW else 'denied'} to {subject}",
    )
