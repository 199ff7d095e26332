"""Toolsets: which of the 49 tools of the `data` server each kind of caller has (S2.2-S2.9).

The table is data, in the one canonical order. A tool's loadout decides who has it; what the console
shows as its group has no say (S2.10).
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType

from remit.model.decisions import Layer, LayerVerdict, Verdict
from remit.model.grants import ToolsetOptions
from remit.model.principals import Principal, UserRole


class Loadout(StrEnum):
    """What is opened together; the letters of the table below."""

    DEFAULT = "D"
    DEVELOPER_CORE = "C"
    QUERY = "Q"
    LIMITED_QUERY = "L"
    ONTOLOGY_MAINTENANCE = "M"
    ONTOLOGY_QUESTIONS = "O"


class Audience(StrEnum):
    """The three kinds of caller (S2.2), by the key of `toolsets` that opens their tools."""

    USER = "user"
    DEVELOPER = "developer"
    SERVICE = "agent_tools"


_TABLE = """
    health D                    echo C                        execute C
    validate Q                  query Q                       explain_query Q
    list_approved_queries QL    execute_approved_query QL     suggest_approved_query Q
    suggest_query_update Q      list_query_suggestions M      approve_query_suggestion M
    reject_query_suggestion M   create_approved_query M       update_approved_query M
    delete_approved_query M     search_schema Q               get_schema Q
    get_context Q               get_entity Q                  get_glossary_sql Q
    get_ontology Q              get_query_history Q           list_glossary Q
    probe_column Q              probe_columns Q               probe_relationship Q
    sample Q                    list_ontology_questions O     dismiss_ontology_question O
    escalate_ontology_question O   resolve_ontology_question O   skip_ontology_question O
    update_column M             update_entity M               update_glossary_term M
    update_project_knowledge M  update_relationship M         delete_column_metadata M
    delete_entity M             delete_glossary_term M        delete_project_knowledge M
    delete_relationship M       refresh_schema M              scan_data_changes M
    list_pending_changes M      approve_change M              reject_change M
    approve_all_changes M
"""
_WORDS = _TABLE.split()

LOADOUTS: Mapping[str, frozenset[Loadout]] = MappingProxyType(
    {
        name: frozenset(Loadout(letter) for letter in letters)
        for name, letters in zip(_WORDS[::2], _WORDS[1::2], strict=True)
    }
)
"""Tool to its loadouts, in canonical order."""

PLACES: Mapping[str, int] = MappingProxyType({name: at for at, name in enumerate(LOADOUTS)})
"""Tool to its place in the canonical order, in which lists name them (S2.9)."""

ALWAYS = ""
"""In place of an option: opened without one."""

OPENED_BY: Mapping[Audience, Mapping[Loadout, str]] = {
    Audience.USER: {
        Loadout.DEFAULT: ALWAYS,
        Loadout.QUERY: ALWAYS,
        Loadout.ONTOLOGY_MAINTENANCE: "allowOntologyMaintenance",
    },
    Audience.DEVELOPER: {
        Loadout.DEFAULT: ALWAYS,
        Loadout.DEVELOPER_CORE: ALWAYS,
        Loadout.QUERY: "addQueryTools",
        Loadout.ONTOLOGY_MAINTENANCE: "addOntologyMaintenance",
        Loadout.ONTOLOGY_QUESTIONS: "addOntologyMaintenance",
    },
    Audience.SERVICE: {Loadout.DEFAULT: ALWAYS, Loadout.LIMITED_QUERY: ALWAYS},
}
"""Who has which loadout, and the option that can switch it off (S2.5, S2.9)."""

Toolset = Mapping[str, LayerVerdict]
"""Tool to what the ceiling says; a tool that is absent does not belong to the audience at all."""


def audience_of(user_roles: tuple[UserRole, ...], *, service: bool) -> Audience | None:
    """Return what a caller is to the `data` server, or None for nothing.

    A service key is one by how it authenticated, whatever its name (R6). Of several user roles the
    most privileged counts (S2.3); without any there is no toolset (R11).
    """
    if service:
        return Audience.SERVICE
    if any(role is not UserRole.USER for role in user_roles):
        return Audience.DEVELOPER
    return Audience.USER if user_roles else None


def compile_toolsets(options: ToolsetOptions) -> Mapping[Audience, Toolset]:
    """Return what the ceiling says of every tool that an audience has, or has switched off."""
    return MappingProxyType(
        {audience: MappingProxyType(dict(_verdicts(audience, options))) for audience in Audience}
    )


def toolset_of(principal: Principal, options: ToolsetOptions) -> tuple[str, ...]:
    """Return the tools of the `data` server within the ceiling of *principal*, in canonical order.

    One ceiling only: whether it may call them is what `decide()` says.
    """
    audience = audience_of(principal.user_roles, service=principal.service)
    if audience is None:
        return ()
    toolset = compile_toolsets(options)[audience]
    return tuple(name for name, said in toolset.items() if said.verdict is Verdict.ALLOW)


def _verdicts(audience: Audience, options: ToolsetOptions) -> Iterator[tuple[str, LayerVerdict]]:
    switches = {
        ALWAYS: True,
        "allowOntologyMaintenance": options.allow_ontology_maintenance,
        "addQueryTools": options.add_query_tools,
        "addOntologyMaintenance": options.add_ontology_maintenance,
    }
    opened = OPENED_BY[audience]
    for name, loadouts in LOADOUTS.items():
        for loadout in sorted(loadouts & opened.keys()):
            yield name, _verdict(audience, opened[loadout], is_on=switches[opened[loadout]])


def _verdict(audience: Audience, option: str, *, is_on: bool) -> LayerVerdict:
    path = f"toolsets.{audience.value}"
    if is_on:
        return LayerVerdict(
            layer=Layer.CEILING,
            verdict=Verdict.ALLOW,
            rule=f"{path}.{option}" if option else path,
            reason=f"toolset {audience.value!r} holds the tool",
        )
    return LayerVerdict(
        layer=Layer.CEILING,
        verdict=Verdict.DENY,
        rule=f"{path}.{option}",
        reason=f"toolset {audience.value!r} holds the tool only with {option}, which is off",
    )
