"""Which servers a program connects to, as Pydantic models (S1.1-S1.5, R19, R20)."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, Self, TypeGuard, cast

import structlog
from pydantic import BaseModel, ConfigDict, Field, model_validator

from remit.library.log import log_through_logging
from remit.model.servers import LONGEST_TIMEOUT, ServerConfig, Transport, name_problem

log = structlog.get_logger(__name__)

_WHOLE_VALUE = re.compile(r"\$\{([^}]+)\}")
_REACHED_BY: Final = {"stdio": "command", "http": "url", "sse": "url", "builtin": "builtin"}
"""The field without which a server of that transport cannot be reached (S4.9)."""

_SPELLED_OTHERWISE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "envPassthrough": "env_passthrough",
        "headersFromEnv": "headers_from_env",
        "bearerTokenEnvVar": "bearer_token_env_var",
        "defaultAccess": "default_access",
        "endpoint": "url",
    }
)
_WORDS: Final = ("transport", "default_access", "defaultAccess")


class MCPServerConfig(BaseModel):
    """How one server is reached; the fields of the gateway's entry of the same names.

    Attributes:
        env: The child's variables; a value that is wholly `${NAME}` is that variable of ours.
        env_inherit: `all` lets a child have our environment, but for remit's own secrets;
            `minimal` only PATH, HOME and their like. None is `all` for `MCPConnection`, and
            `minimal` wherever the gateway's engine starts the server (R21).
        builtin: The name of a server that remit brings along, for `transport: builtin`.
        allow_unclaimed: Start a command even if nobody has claimed its package's name (R30).
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    name: str
    command: str = ""
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    description: str | None = None
    enabled: bool = True
    transport: Literal["stdio", "http", "sse", "builtin"] = "stdio"
    cwd: str = ""
    env_passthrough: list[str] = Field(default_factory=list)
    env_inherit: Literal["all", "minimal"] | None = None
    url: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    headers_from_env: dict[str, str] = Field(default_factory=dict)
    bearer_token_env_var: str = ""
    builtin: str = ""
    default_access: Literal["allow", "deny"] = "allow"
    allow_unclaimed: bool = False

    @model_validator(mode="before")
    @classmethod
    def _in_our_words(cls, data: object) -> object:
        """Take None for what is not said, camelCase, and words in any letter case (S4.7)."""
        if not isinstance(data, Mapping):
            return data
        said = cast("Mapping[str, object]", data)
        return {
            _SPELLED_OTHERWISE.get(key, key): _lower(value) if key in _WORDS else value
            for key, value in said.items()
            if value is not None
        }

    @model_validator(mode="after")
    def _is_reachable(self) -> Self:
        needed = _REACHED_BY[self.transport]
        if not getattr(self, needed):
            raise ValueError(f"a server of transport {self.transport!r} needs {needed!r}")
        return self

    def resolve_env(self) -> dict[str, str]:
        """Return `env` with each value that is wholly `${NAME}` replaced by that variable.

        One that is not set becomes empty, with a warning that names it; everything else, such as
        `prefix_${NAME}`, stands for itself (S1.2).
        """
        return {key: self._resolved(key, value) for key, value in self.env.items()}

    def to_server(self, timeout: float) -> ServerConfig:
        """Return the gateway's value of this entry.

        Args:
            timeout: Seconds that starting the server, and each request, may take.
        """
        return ServerConfig(
            name=self.name,
            transport=Transport(self.transport),
            command=self.command,
            args=tuple(self.args),
            env=dict(self.env),
            env_passthrough=tuple(self.env_passthrough),
            env_inherit=self.env_inherit or "all",
            cwd=self.cwd,
            url=self.url,
            headers=dict(self.headers),
            headers_from_env=dict(self.headers_from_env),
            bearer_token_env_var=self.bearer_token_env_var,
            builtin=self.builtin,
            description=self.description or "",
            enabled=self.enabled,
            default_access=self.default_access,
            timeout=timeout,
            start_timeout=timeout,
            allow_unclaimed=self.allow_unclaimed,
        )

    def _resolved(self, key: str, value: str) -> str:
        reference = _WHOLE_VALUE.fullmatch(value)
        if reference is None:
            return value
        found = os.environ.get(reference[1])
        if found is None:
            log_through_logging()
            log.warning(
                "environment variable is not set",
                server=self.name,
                field=f"env.{key}",
                variable=reference[1],
            )
        return found or ""


class MCPConfig(BaseModel):
    """All servers of a program.

    Attributes:
        servers: By name, which has to be one that the gateway takes.
        default_timeout: Seconds that connecting to a server, and each request, may take.
        max_retries: How often connecting is tried again in the background after `connect_all`.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    servers: dict[str, MCPServerConfig] = Field(default_factory=dict)
    default_timeout: Annotated[int, Field(ge=1, le=LONGEST_TIMEOUT)] = 30
    max_retries: Annotated[int, Field(ge=0)] = 3

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "MCPConfig":
        """Return the configuration that *data* describes; each key of `servers` is a name (S1.3).

        Raises:
            ValueError: A field is missing, unknown or wrong (Pydantic's `ValidationError`).
        """
        if not _is_mapping(data):
            return cls.model_validate(data)  # which says what it has to be
        servers: object = data.get("servers")
        if servers is None:
            servers = {}
        elif _is_mapping(servers):
            servers = {
                name: {**entry, "name": name} if _is_mapping(entry) else entry
                for name, entry in servers.items()
            }
        return cls.model_validate({**data, "servers": servers})

    @model_validator(mode="after")
    def _are_named(self) -> Self:
        for name in self.servers:
            if (wrong := name_problem(name)) is not None:
                raise ValueError(f"{name!r} {wrong}")
        return self


def _is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def sandbox() -> Path:
    """Return the folder that the default file server may use: the user's alone (R30)."""
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(data).expanduser() / "remit" / "sandbox"


DEFAULT_MCP_SERVERS: dict[str, MCPServerConfig] = {
    "github": MCPServerConfig(
        name="github",
        command="uvx",
        args=["mcp-server-github"],
        env={"GITHUB_TOKEN": "${GITHUB_TOKEN}"},
        description="GitHub: repositories, issues and pull requests",
    ),
    "brave": MCPServerConfig(
        name="brave",
        command="uvx",
        args=["mcp-server-brave-search"],
        env={"BRAVE_API_KEY": "${BRAVE_API_KEY}"},
        description="Search of the web by Brave",
    ),
    "filesystem": MCPServerConfig(
        name="filesystem",
        command="uvx",
        args=["mcp-server-filesystem", "--allowed-directories", str(sandbox())],
        description="Files of one private folder",
    ),
}
"""The servers of the design document (S1.4). Nobody has claimed these packages' names: none is
started unless its entry says `allow_unclaimed` (R30)."""


def get_default_mcp_config() -> MCPConfig:
    """Return a configuration of its own with the default servers; their private folder is there.

    To change it changes nothing for anybody else.
    """
    try:
        sandbox().mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        log_through_logging()
        log.warning("no private folder for the file server", error=error.strerror)
    return MCPConfig(
        servers={name: entry.model_copy(deep=True) for name, entry in DEFAULT_MCP_SERVERS.items()}
    )
