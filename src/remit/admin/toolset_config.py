"""The configuration of the `data` server's toolsets, in the shapes of S2.13-S2.16.

    {serverUrl, toolGroups, userTools, developerTools, agentTools, enabledTools}

The three options and the three lists are those of `policy/toolsets.py`; a change is an edit of the
declaration like any other. What is not sent is not `false` (S2.13), and groups are always on: an
`enabled` of one is read and ignored (S2.4).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from remit.admin.data_tools import DESCRIPTIONS
from remit.admin.edits import TOOLSET_OPTIONS
from remit.admin.spelling import nearest
from remit.errors import BadCall, UnknownToolGroup
from remit.model.declaration import Declaration
from remit.model.grants import ToolsetOptions
from remit.model.principals import Principal, PrincipalKind, UserRole
from remit.policy.snapshot import DATA, Domain, domain_of
from remit.policy.toolsets import LOADOUTS, Audience, toolset_of

_SAMPLES: Final[Mapping[Audience, Principal]] = {
    Audience.USER: Principal(
        kind=PrincipalKind.USER_ROLE, name="user", user_roles=(UserRole.USER,)
    ),
    Audience.DEVELOPER: Principal(
        kind=PrincipalKind.USER_ROLE, name="developer", user_roles=(UserRole.DEVELOPER,)
    ),
    Audience.SERVICE: Principal(kind=PrincipalKind.KEY, name="agent", service=True),
}
"""A caller of each kind: all others of the kind have the same (S2.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInfo:
    """A tool as it is listed."""

    name: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsetConfig:
    """What is set, and what that opens to whom; every list in the canonical order (S2.9).

    Attributes:
        groups: Group to its options.
        enabled: What is open to anybody; deprecated, kept for clients that read it (S2.14).
    """

    groups: Mapping[str, Mapping[str, bool]]
    user: Sequence[ToolInfo]
    developer: Sequence[ToolInfo]
    agent: Sequence[ToolInfo]
    enabled: Sequence[ToolInfo]


def toolset_config(options: ToolsetOptions) -> ToolsetConfig:
    """Return what *options* say and open."""
    opened = {audience: _opened_to(audience, options) for audience in Audience}
    anybody = {name for names in opened.values() for name in names}
    values = {
        "allowOntologyMaintenance": options.allow_ontology_maintenance,
        "addQueryTools": options.add_query_tools,
        "addOntologyMaintenance": options.add_ontology_maintenance,
    }
    return ToolsetConfig(
        groups={
            audience.value: {
                option: values[option]
                for option, group in TOOLSET_OPTIONS.items()
                if group is audience
            }
            for audience in Audience
        },
        user=_infos(opened[Audience.USER]),
        developer=_infos(opened[Audience.DEVELOPER]),
        agent=_infos(opened[Audience.SERVICE]),
        enabled=_infos(name for name in LOADOUTS if name in anybody),
    )


def options_sent(
    flat: Mapping[str, bool | None], groups: Mapping[str, Mapping[str, bool | None]]
) -> Mapping[str, bool]:
    """Return the options that a PATCH names; None is "not sent".

    Args:
        flat: Option to value.
        groups: The same by group, as older clients send it.

    Raises:
        UnknownToolGroup: A group is none.
        BadCall: An option is not of its group, or is given two values.
    """
    sent = {option: value for option, value in flat.items() if value is not None}
    known = tuple(audience.value for audience in Audience)
    for group, options in groups.items():
        if group not in known:
            meant = nearest(group, known)
            hint = f"did you mean {meant!r}?" if meant else f"groups: {', '.join(known)}"
            raise UnknownToolGroup(f"there is no tool group {group[:80]!r}; {hint}")
        for option, value in options.items():
            if value is None:
                continue
            if TOOLSET_OPTIONS[option].value != group:
                raise BadCall(f"{option} is an option of {TOOLSET_OPTIONS[option].value!r} alone")
            if sent.setdefault(option, value) != value:
                raise BadCall(f"{option} is given two values")
    return sent


def data_server_of(declaration: Declaration) -> str:
    """Return the name of the server that toolsets govern; what it would be called if none is."""
    for name, config in declaration.servers.items():
        if domain_of(name, config.builtin) is Domain.TOOLSETS:
            return name
    return DATA


def _opened_to(audience: Audience, options: ToolsetOptions) -> tuple[str, ...]:
    return toolset_of(_SAMPLES[audience], options)


def _infos(names: Iterable[str]) -> tuple[ToolInfo, ...]:
    return tuple(ToolInfo(name=name, description=DESCRIPTIONS[name]) for name in names)
