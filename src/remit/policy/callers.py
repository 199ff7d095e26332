"""Which standing a principal has under one snapshot."""

from remit.model.decisions import Layer, LayerVerdict, Verdict
from remit.model.principals import Principal
from remit.policy.grants import EVERYBODY, ROLE
from remit.policy.snapshot import PolicySnapshot
from remit.policy.standing import Hats, Standing
from remit.policy.toolsets import audience_of


def standing_of(snapshot: PolicySnapshot, principal: Principal) -> Standing:
    """Return the standing of *principal* under the rules of *snapshot*."""
    recognised = snapshot.recognised.find(id(principal))
    if recognised is not None:
        return recognised[1]
    hats = _hats_of(snapshot, principal)
    standing = snapshot.standings.find(hats)
    if standing is None:
        standing = _look_up(snapshot, hats)
        snapshot.standings.keep(hats, standing)
    snapshot.recognised.keep(id(principal), (principal, standing))
    return standing


def _hats_of(snapshot: PolicySnapshot, principal: Principal) -> Hats:
    return Hats(
        tenant=principal.tenant,
        roles=principal.roles,
        audience=audience_of(principal.user_roles, service=principal.service),
        agent_type=principal.agent_type,
        service=principal.service,
        servers=principal.servers,
        subjects=_subjects(snapshot, principal),
    )


def _subjects(snapshot: PolicySnapshot, principal: Principal) -> tuple[str, ...]:
    """Return the subjects that it is and that a grant is about.

    A group counts whether the token names it or the declaration lists the caller in it. A role
    counts as held: one that is not declared can still be denied something.
    """
    own = principal.subject
    candidates = (
        own,
        *(f"{ROLE}{name}" for name in principal.roles),
        *(f"group:{name}" for name in principal.groups),
        *snapshot.memberships.get(own, ()),
        EVERYBODY,
    )
    return tuple(dict.fromkeys(name for name in candidates if name in snapshot.grants))


def _look_up(snapshot: PolicySnapshot, hats: Hats) -> Standing:
    roles = tuple(snapshot.roles[name] for name in hats.roles if name in snapshot.roles)
    granted = [(subject, snapshot.grants[subject]) for subject in hats.subjects]
    return Standing(
        hats=hats,
        bypasses=snapshot.admin_bypass and hats.servers is not None and hats.servers.admin,
        roles=roles,
        role_denies=tuple(role.deny for role in roles if not role.deny.is_empty),
        no_role=LayerVerdict(
            layer=Layer.CEILING,
            verdict=Verdict.DENY,
            rule=_nearest_role(snapshot, hats),
            reason=_why_no_role(snapshot, hats),
        ),
        type_rules=None if hats.agent_type is None else snapshot.agent_types[hats.agent_type],
        denies=tuple(grants.deny for _, grants in granted if not grants.deny.is_empty),
        allows=tuple(grants.allow for _, grants in granted if not grants.allow.is_empty),
        own_allows=tuple(
            grants.allow
            for subject, grants in granted
            if not (subject.startswith(ROLE) or grants.allow.is_empty)
        ),
    )


def _nearest_role(snapshot: PolicySnapshot, hats: Hats) -> str:
    """Return where a grant would have to stand: the caller's first role that is declared."""
    held = (f"roles.{name}" for name in hats.roles if name in snapshot.roles)
    return next(held, "")


def _why_no_role(snapshot: PolicySnapshot, hats: Hats) -> str:
    if not hats.roles:
        return "no role allows it: the caller has none"
    held = ", ".join(
        repr(name) if name in snapshot.roles else f"{name!r} (not declared)" for name in hats.roles
    )
    return f"no role allows it: the caller has {held}"
