"""Who gains or loses which tool by a change of grants and groups, of those whom these name.

What a role, a user role or an agent type may alone is compared in `changes.py`. A grant is mostly
about somebody: a key or an agent, which are known, or a user or a group, whose roles are in tokens
that nobody has here. So those are asked about alone, and with each role beside.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import anyio.to_thread

from remit.admin.changes import AuthorityChange, compare
from remit.admin.subjects import Subjects
from remit.errors import BadCall, NotFound, Refused
from remit.model.decisions import Decision
from remit.model.declaration import Declaration
from remit.model.principals import Principal, PrincipalKind, UserRole
from remit.model.tools import ToolId
from remit.policy.engine import decide
from remit.policy.snapshot import PolicySnapshot

MOST_NAMED: Final = 20
"""Callers that one change is compared for; of a longer list the first, by their spelling."""

_GROUP: Final = "group:"
_KINDS: Final = ("agent:", _GROUP, "key:", "user:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Somebody whom a change of grants or groups is about.

    Attributes:
        subject: SUBJECT spelling, or `group:NAME`.
        is_whole: Whether the principal is all that it is: else a token says more.
    """

    subject: str
    principal: Principal
    is_whole: bool


async def shifts_between(
    old: Declaration, new: Declaration, seen: Collection[ToolId], subjects: Subjects
) -> tuple[AuthorityChange, ...]:
    """Return who would gain or lose which tool if *new* took the place of *old*.

    First roles, user roles and agent types, then those whom a change of grants or groups names.

    Args:
        old: Where one starts from.
        new: Where one gets to.
        seen: Tools that servers ever offered; those that are declared are asked about anyway.
        subjects: Finds the latter; tenant and time are its own.
    """
    named = await find_named(subjects, named_by(old, new))

    def all_shifts() -> tuple[AuthorityChange, ...]:
        rules = compare(old, new, seen, tenant=subjects.tenant, now=subjects.now)
        return (*rules.shifts(), *named_changes(rules.old, rules.new, rules.tools, named))

    # Thousands of rules take a while: in a thread, so that calls go on meanwhile.
    return await anyio.to_thread.run_sync(all_shifts)


def named_by(old: Declaration, new: Declaration) -> tuple[str, ...]:
    """Return whom the grants and groups are about that two declarations differ in, in order."""
    changed = {grant.subject for grant in set(old.grants) ^ set(new.grants)}
    found = {subject for subject in changed if subject.startswith(_KINDS)}
    for name in {*old.groups, *new.groups}:
        before, after = set(old.groups.get(name, ())), set(new.groups.get(name, ()))
        found |= before | after if f"{_GROUP}{name}" in changed else before ^ after
    return tuple(sorted(found)[:MOST_NAMED])


async def find_named(subjects: Subjects, names: Iterable[str]) -> tuple[Named, ...]:
    """Return those of them who may come in."""
    found: list[Named] = []
    for name in names:
        if name.startswith(_GROUP):
            group = name.removeprefix(_GROUP)
            somebody = Principal(
                kind=PrincipalKind.USER, name="", tenant=subjects.tenant, groups=(group,)
            )
            found.append(Named(subject=name, principal=somebody, is_whole=False))
            continue
        try:
            principal = await subjects.find(name)
        except (BadCall, NotFound, Refused):  # nobody yet, or not any more
            continue
        is_whole = principal.kind is not PrincipalKind.USER
        found.append(Named(subject=name, principal=principal, is_whole=is_whole))
    return tuple(found)


def named_changes(
    old: PolicySnapshot, new: PolicySnapshot, tools: Iterable[ToolId], named: Collection[Named]
) -> tuple[AuthorityChange, ...]:
    """Return which of *tools* each of them gains or loses, by the `decide()` of every call (R10).

    What somebody of whom a token says more gains or loses with a role beside is told of both
    together, such as `user:ann + role:reader`, unless it or the role does so alone.
    """
    known = sorted(set(tools))
    hats = () if all(one.is_whole for one in named) else tuple(_hats(old, new))
    found: list[AuthorityChange] = []
    for one in named:
        alone = [
            _change(one.subject, after)
            for tool in known
            if (after := _shifted(old, new, one.principal, tool))
        ]
        found += alone
        if one.is_whole:
            continue
        told = {change.tool for change in alone}
        found += (
            _change(f"{one.subject} + {hat.subject}", after)
            for hat in hats
            for tool in known
            if tool not in told
            and (after := _shifted(old, new, _both(one.principal, hat), tool))
            and _shifted(old, new, hat, tool) is None
        )
    return tuple(found)


def _shifted(
    old: PolicySnapshot, new: PolicySnapshot, caller: Principal, tool: ToolId
) -> tuple[ToolId, Decision] | None:
    """Return what the new rules decide, where the old ones decide otherwise."""
    after = decide(new, caller, tool)
    return None if after.allowed == decide(old, caller, tool).allowed else (tool, after)


def _change(subject: str, shifted: tuple[ToolId, Decision]) -> AuthorityChange:
    tool, after = shifted
    return AuthorityChange(
        subject=subject, tool=tool, gains=after.allowed, rule=after.rule, reason=after.reason
    )


def _hats(old: PolicySnapshot, new: PolicySnapshot) -> Iterator[Principal]:
    """Give whoever has one role alone, which a token may name."""
    tenant = new.tenant
    for name in dict.fromkeys((*old.roles, *new.roles)):
        yield Principal(kind=PrincipalKind.ROLE, name=name, tenant=tenant, roles=(name,))
    for role in UserRole:
        yield Principal(
            kind=PrincipalKind.USER_ROLE, name=role.value, tenant=tenant, user_roles=(role,)
        )


def _both(one: Principal, hat: Principal) -> Principal:
    return replace(one, roles=hat.roles, user_roles=hat.user_roles)
