"""A new server of one's own: its program, and its place in the declaration (S0.29)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import cast

from remit.admin.declaration import parse_document
from remit.admin.imports.writing import members_of
from remit.admin.yaml_insertion import with_member
from remit.admin.yaml_source import read_text
from remit.errors import DeclarationError

TOOL = "working_days"
"""The example that the program has."""

EXAMPLE = '{"start": "2026-11-23", "end": "2026-11-29"}'
"""Arguments that it may be called with."""

_EMPTY = 'version: "1.0"\n'
_SERVERS = "mcp_servers"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewServer:
    """A server that is about to be written.

    Attributes:
        name: Its name in the declaration.
        role: Who is granted its tool.
        command: The interpreter.
        script: Its program, as the entry names it.
    """

    name: str
    role: str
    command: str
    script: str

    @property
    def program(self) -> str:
        """The text of its program."""
        template = files("remit.admin").joinpath("defaults", "new_server.txt")
        return Template(template.read_text(encoding="utf-8")).substitute(name=self.name)

    @property
    def pasted(self) -> str:
        """What a person would paste, each part into its section."""
        role = {self.role: {"tools": {self.name: [TOOL]}}}
        return "\n".join(members_of({_SERVERS: {self.name: self._entry}, "roles": role})) + "\n"

    def declared_in(self, text: str | None) -> str | None:
        """Return the declaration *text* with this server and the grant; without *text* a first one.

        None where it is not written so that lines can simply be put into it.
        """
        text = _EMPTY if text is None else text
        data = read_text(text).data
        section = "mcpServers" if "mcpServers" in data else _SERVERS
        declared = with_member(text, [section], self.name, self._entry)
        if declared is None:
            return None
        declared = with_member(declared, *self._grant(data))
        return declared if declared is not None and _loads(declared) else None

    @property
    def _entry(self) -> Mapping[str, object]:
        # Only roles that name it literally reach it.
        return {"command": self.command, "args": [self.script], "default_access": "deny"}

    def _grant(self, data: Mapping[str, object]) -> tuple[Sequence[str], str, object]:
        """Return where in the roles what has to stand, by what stands there already."""
        roles = cast("Mapping[str, Mapping[str, object] | None]", data.get("roles") or {})
        role = roles.get(self.role)
        tools = {self.name: [TOOL]}
        if role is None:
            return ["roles"], self.role, {"tools": tools}
        if role.get("tools") is None:
            return ["roles", self.role], "tools", tools
        return ["roles", self.role, "tools"], self.name, tools[self.name]


def _loads(text: str) -> bool:
    try:
        parse_document(read_text(text).data)
    except DeclarationError:
        return False
    return True
