"""Rules about resources that only a listed URI can fit: unlisted ones have one spelling alone.

    deny: ["fs/resource:file:///my notes/*"]    nobody is kept from file:///my%20notes/a

A template's text (`wiki://page/{id}`) is no URI, and is listed wherever it means anything.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from remit.admin.complaints import Complaints
from remit.errors import Problem
from remit.model.contents import Kind
from remit.model.declaration import Declaration
from remit.model.tools import ToolId
from remit.policy.patterns import Pattern
from remit.upstreams.normal_form import why_not_normal, why_not_plain

_BEFORE_PATH = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://[^/?#*]*/|/?[^/*])")
"""As much of a pattern as says what scheme and host the URIs have."""

_RUN: Final = "x"
"""What a star can stand for."""


def resource_pattern_problems(
    declaration: Declaration, complaints: Complaints, offered: Mapping[str, frozenset[str]]
) -> Iterator[Problem]:
    """Give the patterns about resources that fit no URI in its normal form, nor one on offer.

    Args:
        declaration: What is declared.
        complaints: About its document.
        offered: Server to what it offers, for those that were asked.
    """
    known = [ToolId(server, name) for server, names in offered.items() for name in names]
    for path, text in _patterns(declaration):
        pattern = Pattern.parse(text)
        why = _why_in_vain(pattern)
        if why is not None and not any(pattern.matches(item) for item in known):
            yield Problem(
                code="odd-resource",
                message=f"{path!r}: {text!r} fits no resource but one listed in just this spelling:"
                f" {why}",
                file=complaints.file,
                line=complaints.line_of_path(path),
                remedy="write the URI in its normal form, as RFC 3986 has it",
            )


def _patterns(declaration: Declaration) -> Iterator[tuple[str, str]]:
    """Give every pattern with its path."""
    sections = [(f"roles.{name}", rules) for name, rules in declaration.roles.items()]
    types = [(f"agent_types.{rule.type.value}", rule) for rule in declaration.agent_types]
    for path, rules in (*sections, *types):
        for key, patterns in (("allow", rules.allow), ("deny", rules.deny)):
            yield from ((f"{path}.{key}[{at}]", text) for at, text in enumerate(patterns))
    for at, grant in enumerate(declaration.grants):
        if grant.tool:
            yield f"grants[{at}].tool", grant.tool
    for at, limit in enumerate(declaration.limits):
        if limit.tool:
            yield f"limits[{at}].tool", limit.tool


def _why_in_vain(pattern: Pattern) -> str | None:
    _, found, uri = pattern.text.partition(f"{Kind.RESOURCE.value}:")
    if pattern.kind is not Kind.RESOURCE or not found or "{" in uri:
        return None
    begins = _BEFORE_PATH.match(uri)
    made = uri.replace("*", _RUN)
    if begins is None and "*" in uri:
        return why_not_plain(made)
    # What a template may put in the place of a host is the server's to spell.
    return why_not_normal(made, frozenset({begins[1]} if begins is not None else ()))
