"""What a new declaration would change, and who gains or loses which tool by it."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast

from remit.admin.known_servers import offered_by
from remit.admin.masking import masked, masked_server
from remit.admin.yaml_source import path_of
from remit.calls.directory import declared_tools
from remit.calls.redact import REDACTED, redacted
from remit.model.declaration import Declaration
from remit.model.principals import AgentType, Principal, PrincipalKind, UserRole
from remit.model.tools import ToolId
from remit.policy.engine import decide
from remit.policy.snapshot import PolicySnapshot, compile_snapshot

LONGEST_VALUE = 60
"""Characters of a value that a line shows."""

_PRIVATE = frozenset({"env", "headers"})
"""Sections whose values are nobody's business but the server's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChange:
    """One place at which two documents differ.

    Attributes:
        path: Such as `roles.designer.tools.git`.
        value: What was added or removed there, or `old → new`; without secrets.
    """

    path: str
    kind: Literal["added", "removed", "changed"]
    value: str

    def __str__(self) -> str:
        """Return one line, such as `+ roles.designer.tools.git: "git_log"`."""
        sign = {"added": "+", "removed": "-", "changed": "~"}[self.kind]
        return f"{sign} {self.path}: {self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorityChange:
    """A caller that may use a tool under one policy and not under the other.

    Attributes:
        subject: SUBJECT spelling, as `role:designer`.
        gains: Whether it may from now on; otherwise it no longer may.
        rule: The rule that decides so under the new policy; empty when nothing matched.
    """

    subject: str
    tool: ToolId
    gains: bool
    rule: str
    reason: str

    def __str__(self) -> str:
        """Return one line for people."""
        verb, why = ("gains", self.rule) if self.gains else ("loses", self.reason)
        return f"{self.subject} {verb} {self.tool}: {why}"


def document_changes(
    old: Mapping[str, object], new: Mapping[str, object]
) -> tuple[DocumentChange, ...]:
    """Return where *new* differs from *old*, in the order of the documents."""
    return tuple(_differences(old, new, ()))


def authority_changes(
    old: PolicySnapshot,
    new: PolicySnapshot,
    tools: Iterable[ToolId],
    *,
    roles: Collection[str] | None = None,
) -> tuple[AuthorityChange, ...]:
    """Return who gains or loses which of *tools*, by the `decide()` of every call (R10).

    Asked are every declared role, every user role and every agent type, each alone; where *roles*
    are given, only those.
    """
    known = sorted(set(tools))
    return tuple(
        AuthorityChange(
            subject=caller.subject,
            tool=tool,
            gains=after.allowed,
            rule=after.rule,
            reason=after.reason,
        )
        for caller in _callers(old, new)
        if roles is None or (caller.kind is PrincipalKind.ROLE and caller.name in roles)
        for tool in known
        if (after := decide(new, caller, tool)).allowed != decide(old, caller, tool).allowed
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The rules of two declarations, and the tools that either is asked about.

    Attributes:
        roles: Those that differ, where nothing but roles does; else None.
    """

    old: PolicySnapshot
    new: PolicySnapshot
    tools: Collection[ToolId]
    roles: Collection[str] | None

    def shifts(self) -> tuple[AuthorityChange, ...]:
        """Return which role, user role or agent type gains or loses which tool."""
        return authority_changes(self.old, self.new, self.tools, roles=self.roles)


def compare(
    old: Declaration, new: Declaration, seen: Iterable[ToolId], *, tenant: str, now: datetime
) -> Compared:
    """Return what compares who may use which tool under *old* and under *new*.

    Asked is about every tool that either declares or is known to offer, and about those *seen*.
    """
    before, after = (
        compile_snapshot(declaration, tenant=tenant, revision=number, now=now)
        for number, declaration in enumerate((old, new))
    )
    return Compared(
        old=before,
        new=after,
        tools={*seen, *known_tools(old), *known_tools(new)},
        roles=_roles_alone(old, new),
    )


def known_tools(declaration: Declaration) -> frozenset[ToolId]:
    """Return every tool that *declaration* names or whose server is known to publish it."""
    return declared_tools(declaration) | published_tools(declaration)


def published_tools(declaration: Declaration) -> frozenset[ToolId]:
    """Return every tool that a server of *declaration* is known to publish."""
    return frozenset(
        ToolId(server, tool)
        for server, config in declaration.servers.items()
        for tool in offered_by(config) or ()
    )


def _roles_alone(old: Declaration, new: Declaration) -> Collection[str] | None:
    """Return the roles that differ where nothing else does, else None.

    A caller of one role is decided on by that role and by what is no role: with hundreds of roles
    most of the work is asking about those that nobody touched.
    """
    rest, rest_now = (
        {section: value for section, value in one.document.items() if section != "roles"}
        for one in (old, new)
    )
    if rest != rest_now:
        return None
    return {name for name in (*old.roles, *new.roles) if old.roles.get(name) != new.roles.get(name)}


def _callers(old: PolicySnapshot, new: PolicySnapshot) -> Iterator[Principal]:
    tenant = new.tenant
    for role in dict.fromkeys((*old.roles, *new.roles)):
        yield Principal(kind=PrincipalKind.ROLE, name=role, tenant=tenant, roles=(role,))
    for user_role in UserRole:
        yield Principal(
            kind=PrincipalKind.USER_ROLE, name=user_role, tenant=tenant, user_roles=(user_role,)
        )
    for agent_type in AgentType:
        yield Principal(
            kind=PrincipalKind.AGENT_TYPE, name=agent_type, tenant=tenant, agent_type=agent_type
        )


def _differences(old: object, new: object, at: tuple[str | int, ...]) -> Iterator[DocumentChange]:
    before, after = _mapping(old), _mapping(new)
    if before is not None and after is not None:
        for key in dict.fromkeys((*before, *after)):
            if key not in after:
                yield _change("removed", (*at, key), before[key])
            elif key not in before:
                yield _change("added", (*at, key), after[key])
            else:
                yield from _differences(before[key], after[key], (*at, key))
        return
    was, is_now = _list(old), _list(new)
    if was is not None and is_now is not None:
        shown, shown_now = _list(_masked(was, at)) or [], _list(_masked(is_now, at)) or []
        yield from _list_differences(shown, shown_now, at)
        if _json(shown) == _json(shown_now) and _json(was) != _json(is_now):  # a secret alone
            yield DocumentChange(path=_path(at), kind="changed", value=f"{REDACTED} → {REDACTED}")
    elif _json(old) != _json(new):
        yield DocumentChange(
            path=_path(at), kind="changed", value=f"{_shown(old, at)} → {_shown(new, at)}"
        )


def _mapping(value: object) -> Mapping[str, object] | None:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else None


def _list(value: object) -> list[object] | None:
    return cast("list[object]", value) if isinstance(value, list) else None


def _list_differences(
    old: list[object], new: list[object], at: tuple[str | int, ...]
) -> Iterator[DocumentChange]:
    before, after = [_json(item) for item in old], [_json(item) for item in new]
    gone = [item for item, text in zip(old, before, strict=True) if text not in set(after)]
    come = [item for item, text in zip(new, after, strict=True) if text not in set(before)]
    for item in gone:
        yield _change("removed", at, item)
    for item in come:
        yield _change("added", at, item)
    if not gone and not come and before != after:
        yield DocumentChange(path=_path(at), kind="changed", value="other order or repetitions")


def _change(
    kind: Literal["added", "removed"], at: tuple[str | int, ...], value: object
) -> DocumentChange:
    return DocumentChange(path=_path(at), kind=kind, value=_shown(value, at))


def _shown(value: object, at: tuple[str | int, ...]) -> str:
    if _PRIVATE.intersection(at):
        return REDACTED
    key = str(at[-1]) if at else ""
    safe = cast("dict[str, object]", redacted({key: _without_private(_masked(value, at))}))
    text = _json(next(iter(safe.values())))
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def _masked(value: object, at: tuple[str | int, ...]) -> object:
    """Return what stands at a place of the document as `masking.py` shows it."""
    match at:
        case (str(section),):
            return masked({section: value})[section]
        case ("mcp_servers", _):
            return masked_server(_mapping(value) or {})
        case ("mcp_servers", _, str(key)):
            return masked_server({key: value})[key]
        case _:
            return value


def _without_private(value: object) -> object:
    members, items = _mapping(value), _list(value)
    if members is not None:
        return {
            key: REDACTED if key in _PRIVATE else _without_private(member)
            for key, member in members.items()
        }
    return value if items is None else [_without_private(item) for item in items]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _path(at: tuple[str | int, ...]) -> str:
    return path_of(at) or "the document"
