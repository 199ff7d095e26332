"""The configuration API of a project: options of its toolsets, its service key (S2.13-S2.26, R33).

A project is a tenant; a path names it by UUID or name.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from remit.admin.edits import TOOLSET_OPTIONS, set_toolset_options
from remit.admin.project_key import (
    PROJECT_KEY,
    find_project_key,
    masked_key,
    renew_project_key,
    revoke_project_key,
)
from remit.admin.toolset_config import ToolInfo, data_server_of, options_sent, toolset_config
from remit.doors.api.access import Administrator, ByProjectAdministrator, Reason
from remit.doors.api.envelope import PROJECTS, Envelope
from remit.errors import KeyNotRecoverable
from remit.model.keys import Key

router = APIRouter(prefix=f"{PROJECTS}/{{tenant}}/mcp", tags=["projects"])

Reveal = Annotated[
    bool, Query(description="Refused: a key is shown when it is made, and never again.")
]


class _CamelShape(BaseModel):
    """Fields in the spelling of this API."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class ListedTool(BaseModel):
    """A tool in words."""

    name: str
    description: str


class ConfigShape(_CamelShape):
    """The options, and what they open to whom; every list in the one canonical order."""

    server_url: str = Field(description="The MCP endpoint of the server that toolsets govern.")
    tool_groups: dict[str, dict[str, bool]] = Field(description="Group to its options.")
    user_tools: list[ListedTool] = Field(description="For the user role `user`.")
    developer_tools: list[ListedTool] = Field(
        description="For the user roles `admin`, `data` and `developer`."
    )
    agent_tools: list[ListedTool] = Field(description="For service keys.")
    enabled_tools: list[ListedTool] = Field(
        description="Deprecated: whatever is in one of the three lists."
    )

    @classmethod
    def of(cls, by: Administrator) -> "ConfigShape":
        """Show what is in force."""
        config = toolset_config(by.tenant.policy.declaration.toolsets)
        return cls(
            server_url=_server_url(by),
            tool_groups={group: dict(options) for group, options in config.groups.items()},
            user_tools=_listed(config.user),
            developer_tools=_listed(config.developer),
            agent_tools=_listed(config.agent),
            enabled_tools=_listed(config.enabled),
        )


class _PatchShape(BaseModel):
    """The three options; what is not sent, or null, stays as it is (S2.13)."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", strict=True
    )

    allow_ontology_maintenance: bool | None = Field(
        default=None, description="For `user`: the tools that improve the ontology."
    )
    add_query_tools: bool | None = Field(
        default=None, description="For `developer`: exploring the schema and running queries."
    )
    add_ontology_maintenance: bool | None = Field(
        default=None, description="For `developer`: managing and refining the ontology."
    )

    def options(self) -> dict[str, bool | None]:
        """Return option to value, None for what is not sent."""
        values = self.model_dump(by_alias=True)
        return {option: values[option] for option in TOOLSET_OPTIONS}


class GroupPatch(_PatchShape):
    """The options of one group, as older clients send them."""

    enabled: bool | None = Field(default=None, description="Ignored: groups are always on.")
    custom_tools: list[str] | None = Field(default=None, description="Ignored.")


class ConfigPatch(_PatchShape):
    """What to change."""

    tool_groups: dict[str, GroupPatch] = Field(
        default={}, description="The same by group, as older clients send it."
    )


class AgentKeyShape(_CamelShape):
    """The project's service key."""

    key: str | None = Field(description="Its public part and `****`; null where there is none.")
    masked: bool
    name: str = Field(description="As `/api/v1/keys` shows it.")
    created: datetime | None = None
    expires: datetime | None = None
    last_used: datetime | None = Field(default=None, description="To the minute.")
    server_url: str = Field(description="Where the key is used.")

    @classmethod
    def of(cls, by: Administrator, key: Key | None, text: str | None = None) -> "AgentKeyShape":
        """Show a key; with its *text* only when it has just been made."""
        where = _server_url(by)
        if key is None:
            return cls(key=None, masked=True, name=PROJECT_KEY, server_url=where)
        return cls(
            key=text or masked_key(key),
            masked=text is None,
            name=key.name,
            created=key.created,
            expires=key.expires,
            last_used=key.last_used,
            server_url=where,
        )


@router.get("/config", operation_id="projects.config")
async def get_config(by: ByProjectAdministrator) -> Envelope[ConfigShape]:
    """Show the options of the toolsets, and the tools that they open to each kind of caller."""
    return Envelope(data=ConfigShape.of(by))


@router.patch("/config", operation_id="projects.configure")
async def change_config(
    by: ByProjectAdministrator, patch: ConfigPatch, reason: Reason = ""
) -> Envelope[ConfigShape]:
    """Change options; in force at once, for lists and calls, as a revision of the declaration."""
    sent = options_sent(
        patch.options(), {name: group.options() for name, group in patch.tool_groups.items()}
    )
    if sent:
        why = reason or _in_words(sent)
        async with by.making(why, **sent) as progress:
            edited = await by.services.editor.write(
                by.tenant.key, set_toolset_options(sent), author=by.principal.subject, reason=why
            )
            progress.revision = edited.number
    return Envelope(data=ConfigShape.of(by))


@router.get("/agent-key", operation_id="projects.agent_key")
async def get_agent_key(
    by: ByProjectAdministrator, reveal: Reveal = False
) -> Envelope[AgentKeyShape]:
    """Show which service key the project has, without its secret; looking makes none."""
    if reveal:
        raise KeyNotRecoverable(
            "only a hash of the key is kept, so that nobody can show it again;"
            " POST …/agent-key/regenerate makes another one"
        )
    key = await find_project_key(by.services.keys, by.tenant.key, by.services.now())
    return Envelope(data=AgentKeyShape.of(by, key))


@router.post("/agent-key/regenerate", operation_id="projects.regenerate_agent_key")
async def regenerate_agent_key(
    by: ByProjectAdministrator, reason: Reason = ""
) -> Envelope[AgentKeyShape]:
    """Make the project's service key and show it, once; the one before ends at once."""
    async with by.making(reason, name=PROJECT_KEY):
        made = await renew_project_key(by.services.keys, by.tenant.key, by.services.now())
        by.services.forget()
    return Envelope(data=AgentKeyShape.of(by, made.key, made.text))


@router.delete("/agent-key", operation_id="projects.revoke_agent_key")
async def revoke_agent_key(
    by: ByProjectAdministrator, reason: Reason = ""
) -> Envelope[AgentKeyShape]:
    """End the project's service key; refused everywhere within 2 seconds."""
    async with by.making(reason, name=PROJECT_KEY):
        await revoke_project_key(by.services.keys, by.tenant.key, by.services.now())
        by.services.forget()
    return Envelope(data=AgentKeyShape.of(by, None))


def _server_url(by: Administrator) -> str:
    """Return the MCP endpoint of the tenant's `data` server, where the toolsets count (R33)."""
    return f"{by.base}/mcp/{by.tenant.id}/{data_server_of(by.tenant.policy.declaration)}"


def _listed(tools: Iterable[ToolInfo]) -> list[ListedTool]:
    return [ListedTool(name=tool.name, description=tool.description) for tool in tools]


def _in_words(sent: Mapping[str, bool]) -> str:
    told = ", ".join(f"{option} {'on' if value else 'off'}" for option, value in sent.items())
    return f"toolsets: {told}"
