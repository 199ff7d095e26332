"""From a configuration file to a `Declaration`, with everything that is wrong with it.

    file ──▶ yaml_source ──▶ spelling ──▶ schema ──▶ rules (`*_rules.py`) ──▶ Declaration

Errors are collected, not thrown one by one: whoever mends a file sees all of them at once.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from remit.admin import oidc_rules
from remit.admin.alert_rules import alert_problems, alert_rules_of
from remit.admin.complaints import Complaints, Location
from remit.admin.grant_rules import (
    agent_type_of,
    grant_of,
    grant_problems,
    group_problems,
    member_of,
    unknown_agent_type,
    unknown_to_tokens,
)
from remit.admin.http_rules import http_problems
from remit.admin.issuer_rules import issuer_of, issuer_problems, repeated_issuers
from remit.admin.known_servers import known_builtins
from remit.admin.later_releases import idle_parts
from remit.admin.limit_rules import limit_of, limit_problems
from remit.admin.names import role_name_problem
from remit.admin.published_names import choice_problem, renaming
from remit.admin.schema import (
    AgentTypeShape,
    AlertsShape,
    DocumentShape,
    GrantShape,
    HttpShape,
    JwtShape,
    LimitShape,
    OidcShape,
    RoleShape,
    ServerShape,
    Shape,
    ToolsetsShape,
)
from remit.admin.server_rules import (
    REACHING_KEYS,
    idle_keys,
    transport_of,
    transport_problems,
    value_problems,
)
from remit.admin.spelling import nearest, spell
from remit.admin.yaml_source import read_file
from remit.errors import DeclarationError, Problem
from remit.model.alert_rules import AlertRules
from remit.model.declaration import AuditSettings, DataSettings, Declaration, HttpSettings
from remit.model.grants import AgentTypeRule, Grant, JwtIssuer, PolicySettings, ToolsetOptions
from remit.model.limits import Limit
from remit.model.oidc import OidcProvider
from remit.model.roles import Role
from remit.model.servers import ServerConfig, Session, ToolSettings, Transport, name_problem
from remit.policy.patterns import check_pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A document that can be used.

    Attributes:
        positions: Path such as `roles.designer.tools.git[0]` to its 1-based line.
        file: As the user gave it; empty for a document from the database.
        warnings: What is suspicious without being an error.
    """

    declaration: Declaration
    positions: Mapping[str, int] = field(repr=False, default_factory=dict[str, int])
    file: str = ""
    warnings: tuple[Problem, ...] = ()


def load_declaration(path: Path, *, may_be_masked: bool = False) -> Loaded:
    """Read the YAML or JSON file at *path*.

    Args:
        path: The file.
        may_be_masked: Whether it may hold masks, as a gateway shows secrets, for the gateway to
            put back what they stand for; nothing else can be done with it then.

    Raises:
        DeclarationError: With every error found, in the order of the file.
    """
    source = read_file(path)
    return _parse(
        source.data, source.positions, source.file, source.problems, may_be_masked=may_be_masked
    )


def parse_document(data: Mapping[str, object], *, file: str = "") -> Loaded:
    """Read a document that is plain data already, as the database and the API hold it.

    Raises:
        DeclarationError: With every error found.
    """
    return _parse(data, {}, file, ())


def _parse(
    data: Mapping[str, object],
    positions: Mapping[str, int],
    file: str,
    known_problems: tuple[Problem, ...],
    *,
    may_be_masked: bool = False,
) -> Loaded:
    spelled = spell(data, positions, file)
    complaints = Complaints(file=file, positions=spelled.positions)
    reader = _Reader(complaints, may_be_masked=may_be_masked)
    declaration = reader.declaration(spelled.data)
    errors = [*known_problems, *spelled.problems, *reader.errors]
    if errors:
        raise DeclarationError(sorted(errors, key=lambda problem: problem.line))
    return Loaded(
        declaration=declaration,
        positions=spelled.positions,
        file=file,
        warnings=tuple(sorted(reader.warnings, key=lambda problem: problem.line)),
    )


class _Reader:
    """Reads one document, collecting errors and warnings on the way."""

    def __init__(self, complaints: Complaints, *, may_be_masked: bool) -> None:
        self._complaints = complaints
        self._may_be_masked = may_be_masked
        self.errors: list[Problem] = []
        self.warnings: list[Problem] = []

    def declaration(self, data: Mapping[str, object]) -> Declaration:
        """Return what the document declares, without what turned out wrong."""
        examined = self._complaints.examine(DocumentShape, data, ())
        self.errors += examined.problems
        shape = DocumentShape.model_validate(examined.sound)
        servers = [self._server(name, entry) for name, entry in shape.mcp_servers.items()]
        roles = [self._role(name, entry) for name, entry in shape.roles.items()]
        types = [self._agent_type(name, entry) for name, entry in shape.agent_types.items()]
        grants = [self._grant(i, entry, shape.groups) for i, entry in enumerate(shape.grants)]
        issuers = [self._issuer(index, entry) for index, entry in enumerate(shape.identity.jwt)]
        limits = [self._limit(index, entry) for index, entry in enumerate(shape.limits)]
        self._warn_of_idle_parts(data)
        return Declaration(
            version=shape.version,
            servers={server.name: server for server in servers if server is not None},
            roles={role.name: role for role in roles},
            agent_types=tuple(rule for rule in types if rule is not None),
            toolsets=_toolset_options(shape.toolsets),
            grants=tuple(grant for grant in grants if grant is not None),
            groups=self._groups(shape.groups),
            policy=PolicySettings(**_given(shape.policy)),
            issuers=self._distinct([issuer for issuer in issuers if issuer is not None]),
            oidc=self._provider(shape.identity.oidc),
            limits=tuple(limit for limit in limits if limit is not None),
            audit=AuditSettings(**_given(shape.audit)),
            http=self._http(shape.server),
            data=DataSettings(**_given(shape.data)),
            alerts=self._alerts(shape.alerts),
            document=data,
        )

    def _server(self, name: str, entry: object) -> ServerConfig | None:
        where: Location = ("mcp_servers", name)
        if (wrong := name_problem(name)) is not None:
            remedy = "choose another name"
            self.errors.append(self._complaints.at("bad-name", wrong, where=where, remedy=remedy))
        examined = self._complaints.examine(ServerShape, entry, where)
        self.errors += examined.problems
        # `comand: x` is one mistake: that the server has no `command` is no second.
        meant = {nearest(key, tuple(ServerShape.model_fields)) for key in examined.wrong}
        if not isinstance(entry, Mapping) or (meant | examined.wrong) & REACHING_KEYS:
            return None
        unreachable = list(transport_problems(self._complaints, where, examined.sound))
        self.errors += unreachable
        transport = transport_of(examined.sound)
        if unreachable or transport is None:
            return None
        shape = ServerShape.model_validate(examined.sound)
        unknown = choice_problem(self._complaints, name, shape.names)
        if unknown is not None:
            self.errors.append(unknown)
            return None
        config = _server_config(name, transport, shape)
        self.errors += value_problems(self._complaints, config, may_be_masked=self._may_be_masked)
        self._warn_of_idle_keys(where, transport, examined.sound)
        return config if self._is_offered(config) else None

    def _is_offered(self, config: ServerConfig) -> bool:
        """Whether there is such a server; a builtin that nobody knows is an error."""
        if config.transport is not Transport.BUILTIN or config.builtin in known_builtins():
            return True
        where = ("mcp_servers", config.name, "builtin")
        known = tuple(sorted(known_builtins()))
        meant = nearest(config.builtin, known)
        self.errors.append(
            self._complaints.at(
                "unknown-builtin",
                "names no server that remit bundles",
                where=where,
                remedy=f"did you mean {meant!r}?" if meant else f"known: {', '.join(known)}",
            )
        )
        return False

    def _role(self, name: str, entry: object) -> Role:
        where: Location = ("roles", name)
        if (wrong := role_name_problem(name)) is not None:
            self.errors.append(self._complaints.at("bad-name", wrong, where=where))
        examined = self._complaints.examine(RoleShape, entry, where)
        self.errors += examined.problems
        shape = RoleShape.model_validate(examined.sound)
        self._check_patterns((*where, "allow"), shape.allow)
        self._check_patterns((*where, "deny"), shape.deny)
        self._check_names((*where, "mcp_servers"), shape.mcp_servers)
        for server, names in shape.tools.items():
            self._check_names((*where, "tools", server), names)
        return Role(
            name=name,
            mcp_servers=tuple(shape.mcp_servers),
            tools={server: tuple(names) for server, names in shape.tools.items()},
            allow=tuple(shape.allow),
            deny=tuple(shape.deny),
            denials=shape.denials,
            description=shape.description,
        )

    def _agent_type(self, name: str, entry: object) -> AgentTypeRule | None:
        where: Location = ("agent_types", name)
        agent_type = agent_type_of(name)
        if agent_type is None:
            self.errors.append(unknown_agent_type(self._complaints, name))
        examined = self._complaints.examine(AgentTypeShape, entry, where)
        self.errors += examined.problems
        shape = AgentTypeShape.model_validate(examined.sound)
        self._check_patterns((*where, "allow"), shape.allow)
        self._check_patterns((*where, "deny"), shape.deny)
        if agent_type is None:
            return None
        return AgentTypeRule(type=agent_type, allow=tuple(shape.allow), deny=tuple(shape.deny))

    def _grant(self, index: int, entry: object, groups: Collection[str]) -> Grant | None:
        where: Location = ("grants", index)
        examined = self._complaints.examine(GrantShape, entry, where)
        problems = [*examined.problems]
        if not problems:
            shape = GrantShape.model_validate(examined.sound)
            problems += grant_problems(self._complaints, where, shape)
            if not problems:
                grant = grant_of(shape)
                self.warnings += unknown_to_tokens(self._complaints, where, grant.subject, groups)
                return grant
        self.errors += problems
        return None

    def _groups(self, groups: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
        for name, members in groups.items():
            self.errors += group_problems(self._complaints, name, tuple(members))
            subjects = [member_of(member) for member in members]
            self._warn_of_repeats(("groups", name), subjects)
            for index, subject in enumerate(subjects):
                where = ("groups", name, index)
                self.warnings += unknown_to_tokens(self._complaints, where, subject)
        return {name: tuple(map(member_of, members)) for name, members in groups.items()}

    def _issuer(self, index: int, entry: object) -> JwtIssuer | None:
        where: Location = ("identity", "jwt", index)
        examined = self._complaints.examine(JwtShape, entry, where)
        problems = [*examined.problems]
        if not problems:
            shape = JwtShape.model_validate(examined.sound)
            problems += issuer_problems(self._complaints, where, shape)
            if not problems:
                return issuer_of(shape)
        self.errors += problems
        return None

    def _provider(self, entry: Mapping[str, object]) -> OidcProvider | None:
        if not entry:
            return None
        examined = self._complaints.examine(OidcShape, entry, oidc_rules.WHERE)
        shape = OidcShape.model_validate(examined.sound)
        problems = [*examined.problems]
        if not problems:
            problems += oidc_rules.provider_problems(self._complaints, shape)
        self.errors += problems
        if problems:
            return None
        provider = oidc_rules.provider_of(shape)
        self.warnings += oidc_rules.nobody_problems(self._complaints, provider)
        return provider

    def _http(self, shape: HttpShape) -> HttpSettings:
        self.errors += http_problems(self._complaints, shape)
        return HttpSettings(**_given(shape))

    def _alerts(self, shape: AlertsShape) -> AlertRules:
        self.errors += alert_problems(self._complaints, shape)
        return alert_rules_of(shape)

    def _limit(self, index: int, entry: object) -> Limit | None:
        where: Location = ("limits", index)
        examined = self._complaints.examine(LimitShape, entry, where)
        problems = [*examined.problems]
        if not problems:
            shape = LimitShape.model_validate(examined.sound)
            problems += limit_problems(self._complaints, where, shape)
            if not problems:
                return limit_of(shape)
        self.errors += problems
        return None

    def _distinct(self, issuers: list[JwtIssuer]) -> tuple[JwtIssuer, ...]:
        self.errors += repeated_issuers(self._complaints, issuers)
        return tuple(issuers)

    def _check_patterns(self, where: Location, patterns: list[str]) -> None:
        for index, pattern in enumerate(patterns):
            reason = check_pattern(pattern)
            if reason is not None:
                self.errors.append(
                    self._complaints.at(
                        "bad-pattern", f"is no pattern: {reason}", where=(*where, index)
                    )
                )
        self._warn_of_repeats(where, patterns)

    def _check_names(self, where: Location, names: list[str]) -> None:
        for index, name in enumerate(names):
            if not name:
                self.errors.append(
                    self._complaints.at("bad-name", "is an empty name", where=(*where, index))
                )
        self._warn_of_repeats(where, names)

    def _warn_of_repeats(self, where: Location, texts: list[str]) -> None:
        seen: set[str] = set()
        for index, text in enumerate(texts):
            if text in seen:
                message = f"repeats {text!r} and adds nothing"
                self.warnings.append(
                    self._complaints.at(
                        "duplicate-entry", message, where=(*where, index), remedy="remove it"
                    )
                )
            seen.add(text)

    def _warn_of_idle_keys(
        self, where: Location, transport: Transport, entry: Mapping[str, object]
    ) -> None:
        for key in idle_keys(transport, entry):
            message = f"does nothing for a server whose transport is {transport.value}"
            self.warnings.append(
                self._complaints.at("no-effect", message, where=(*where, key), remedy="remove it")
            )

    def _warn_of_idle_parts(self, data: Mapping[str, object]) -> None:
        for where, meaning in idle_parts(data):
            self.warnings.append(
                self._complaints.at(
                    "not-enforced-yet",
                    f"is understood, but this version does not act on it yet: {meaning}",
                    where=where,
                    remedy="keep it for a later version, and do not rely on it before",
                )
            )


def _given(shape: Shape) -> dict[str, Any]:
    """Return what was written, lists as tuples, so that defaults stay the model's own."""
    return {
        key: tuple(cast("list[object]", value)) if isinstance(value, list) else value
        for key, value in shape.model_dump(exclude_unset=True).items()
    }


def _toolset_options(shape: ToolsetsShape) -> ToolsetOptions:
    return ToolsetOptions(
        allow_ontology_maintenance=shape.user.allow_ontology_maintenance,
        add_query_tools=shape.developer.add_query_tools,
        add_ontology_maintenance=shape.developer.add_ontology_maintenance,
    )


def _server_config(name: str, transport: Transport, shape: ServerShape) -> ServerConfig:
    # remit's own servers have these names already.
    choice = "" if transport is Transport.BUILTIN else shape.names
    named = renaming(choice, shape.tool_names, shape.tool_args)
    values: dict[str, Any] = {
        **_given(shape),
        "names": named.names,
        "tool_names": named.tool_names,
        "tool_args": named.tool_args,
        "name": name,
        "transport": transport,
        "tools": {tool: ToolSettings(**_given(one)) for tool, one in shape.tools.items()},
        "session": Session(shape.session) if shape.session is not None else None,
    }
    return ServerConfig(**values)
