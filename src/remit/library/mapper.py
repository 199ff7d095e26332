"""`MCPToolMapper`: what a file in the shape of `remit.yaml` gives each role (S0.16, S0.17)."""

import os
import sys
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, Final, cast

import structlog

from remit.admin.declaration import Loaded, load_declaration, parse_document
from remit.admin.default_roles import default_document
from remit.errors import DeclarationError
from remit.model.roles import Role

log = structlog.get_logger(__name__)

BUNDLED_ENVIRONMENT: Final = {
    "git": (),
    "github": ("GITHUB_TOKEN",),
    "jira": ("JIRA_URL", "JIRA_USERNAME", "JIRA_API_TOKEN"),
}
"""The bundled servers that the nine roles name, each with the variables it needs (S0.13)."""

ALIASES: Final = {"tester": "qa_tester"}
"""What squads call a role that the mapping has under another name (S0.33)."""


class MCPToolMapper:
    """Answers from the lists of a mapping by exact name; patterns are the gateway's business.

    What it returns is the caller's own: changing it changes no rule.

    Attributes:
        config_path: Its file; None for the mapping that ships with remit.
    """

    def __init__(self, config_path: str | Path | None = None) -> None:
        """Read a mapping, once; `refresh` reads it again.

        Args:
            config_path: YAML or JSON, as `docs/configuration.md` says; else the file that the
                environment variable `MCP_CONFIG_PATH` names, else the nine roles that ship with
                remit, over its own git, GitHub and Jira servers.

        Raises:
            DeclarationError: The file cannot be used, with everything that is wrong in it.
        """
        named = config_path or os.environ.get("MCP_CONFIG_PATH")
        self.config_path = Path(named) if named else None
        self._stamp = _stamp_of(self.config_path)
        self._loaded = (
            _shipped() if self.config_path is None else load_declaration(self.config_path)
        )

    @property
    def config(self) -> dict[str, Any]:
        """The mapping as plain data, `${NAME}` unexpanded."""
        return deepcopy(dict(self.document))

    @property
    def document(self) -> Mapping[str, Any]:
        """The same, not to be changed: one object as long as the mapping stays what it is."""
        return self._loaded.declaration.document

    def refresh(self) -> None:
        """Read the file again if it changed; one that cannot be used is logged and changes nothing.

        `AgentMCPService` does this before whatever it is asked.
        """
        stamp = _stamp_of(self.config_path)
        if self.config_path is None or stamp == self._stamp:
            return
        self._stamp = stamp  # taken before reading, so that a change meanwhile is read next time
        try:
            self._loaded = load_declaration(self.config_path)
        except DeclarationError as error:
            log.warning("a changed mapping cannot be used and changes nothing", problem=str(error))

    def name_of(self, role: str) -> str:
        """Return the name under which the mapping has *role*: `tester` is its `qa_tester`.

        A role that is declared under the name given is that one; an unknown one stays as it is.
        """
        declared, alias = self._loaded.declaration.roles, ALIASES.get(role)
        if alias is None or role in declared or alias not in declared:
            return role
        return alias

    def get_servers_for_role(self, role: str) -> list[str]:
        """Return the servers of *role* in the order of the mapping; none for an unknown role."""
        return list(self._role(role).mcp_servers)

    def get_tools_for_role(self, role: str, server: str) -> list[str]:
        """Return the tools that the mapping grants *role* on *server*, maybe none."""
        return list(self._role(role).tools.get(server, ()))

    def can_use_tool(self, role: str, server: str, tool: str) -> bool:
        """Whether the mapping grants that tool, letter for letter."""
        return tool in self._role(role).tools.get(server, ())

    def get_server_config(self, server: str) -> dict[str, Any]:
        """Return how *server* is reached, as the mapping has it; `{}` for an unknown one."""
        servers = cast("dict[str, dict[str, Any]]", self.document.get("mcp_servers", {}))
        return deepcopy(servers.get(server, {}))

    def get_all_tools_for_role(self, role: str) -> dict[str, list[str]]:
        """Return the tools of *role* by server; `{}` for an unknown role."""
        return {server: list(names) for server, names in self._role(role).tools.items()}

    def _role(self, name: str) -> Role:
        return self._loaded.declaration.roles.get(self.name_of(name)) or Role(name=name)


def _stamp_of(path: Path | None) -> tuple[int, int, int] | None:
    """Return what differs when a file was written or replaced; None where there is none."""
    try:
        found = None if path is None else path.stat()
    except OSError:
        return None
    return None if found is None else (found.st_mtime_ns, found.st_size, found.st_ino)


def _shipped() -> Loaded:
    document = default_document()
    document["mcp_servers"] = {
        # Processes of their own, so that one role's server is not another's (R27).
        name: {
            "command": sys.executable,
            "args": ["-m", f"remit.servers.{name}"],
            "env": {variable: f"${{{variable}}}" for variable in variables},
        }
        for name, variables in BUNDLED_ENVIRONMENT.items()
    }
    return parse_document(document)
