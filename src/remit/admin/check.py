"""Everything that is suspicious in a declaration that loads: `remit check` (R16, R30).

No server is started and no registry is asked: what servers offer comes from whoever connected, or
from the shipped catalogue.
"""

import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

from remit.admin.complaints import Complaints
from remit.admin.declaration import Loaded
from remit.admin.issuer_rules import key_problems
from remit.admin.known_servers import hints_by, offered_by, unclaimed_package
from remit.admin.oidc_rules import secret_problems
from remit.admin.published_names import published_names
from remit.admin.resource_patterns import resource_pattern_problems
from remit.admin.secrets_in_clear import secrets_in_clear
from remit.calls.redact import redacted_text
from remit.errors import Problem
from remit.identity.authenticate import principal_of
from remit.model.agents import Agent
from remit.model.declaration import Declaration
from remit.model.keys import Key
from remit.model.roles import Role
from remit.model.servers import ServerConfig, Transport
from remit.policy.findings import Finding, Severity
from remit.policy.lint import lint
from remit.policy.snapshot import DATA
from remit.upstreams.environment import missing, resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What `remit check` found.

    Attributes:
        roles: How many roles there are.
        grants: How many tools they name, each once a role.
    """

    errors: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    roles: int = 0
    grants: int = 0

    def to_json(self) -> dict[str, object]:
        """Return the shape of the contract: `{errors, warnings, summary}`."""
        return {
            "errors": [_wire(problem) for problem in self.errors],
            "warnings": [_wire(problem) for problem in self.warnings],
            "summary": {"roles": self.roles, "grants": self.grants},
        }


def check_declaration(
    loaded: Loaded,
    *,
    offered: Mapping[str, frozenset[str]] | None = None,
    environ: Mapping[str, str],
    now: datetime | None = None,
    in_use: Collection[str] | None = None,
    folder: Path | None = None,
) -> Report:
    """Look at everything that can be seen without starting a server.

    Args:
        loaded: The declaration with its lines.
        offered: Server to what it really offers, for those that were asked; for the others the
            shipped catalogue stands in.
        environ: The environment the gateway would run with.
        now: The moment at which grants are judged as ended; None to judge none.
        in_use: As `subjects_in_use` gives them; None where that is not known.
        folder: Of the declaration, for relative paths in it; None where that is not known.
    """
    declaration = loaded.declaration
    complaints = Complaints(file=loaded.file, positions=loaded.positions)
    errors: list[Problem] = []
    warnings = list(loaded.warnings)
    for severity, problem in _lint_problems(loaded, complaints, offered or {}, now, in_use):
        (errors if severity is Severity.ERROR else warnings).append(problem)
    warnings += resource_pattern_problems(declaration, complaints, offered or {})
    for config in declaration.servers.values():
        if config.enabled:
            warnings += _server_problems(config, complaints, environ)
    warnings += key_problems(complaints, declaration.issuers, environ=environ, folder=folder)
    if declaration.oidc is not None:
        warnings += secret_problems(complaints, declaration.oidc, environ)
    return Report(
        errors=_in_order(errors),
        warnings=_in_order(warnings),
        roles=len(declaration.roles),
        grants=sum(_grants_of(role) for role in declaration.roles.values()),
    )


def subjects_in_use(
    keys: Iterable[Key], agents: Iterable[Agent], now: datetime
) -> frozenset[str] | None:
    """Return keys that hold *now*, agents, and the roles of both, in SUBJECT spelling.

    None before anybody has a role: then the declaration is new, and nothing is to be told of it.
    """
    callers = [principal_of(key) for key in keys if key.holds_at(now)]
    callers += [agent.principal for agent in agents]
    roles = {f"role:{role}" for caller in callers for role in caller.roles}
    if not roles:
        return None
    return frozenset(roles | {caller.subject for caller in callers})


def _lint_problems(
    loaded: Loaded,
    complaints: Complaints,
    offered: Mapping[str, frozenset[str]],
    now: datetime | None,
    in_use: Collection[str] | None,
) -> Iterator[tuple[Severity, Problem]]:
    declaration = loaded.declaration
    known = _known_offers(declaration, offered)
    for finding in lint(declaration, known, now=now, in_use=in_use):
        problem = Problem(
            code=finding.code,
            message=finding.message,
            file=complaints.file,
            line=complaints.line_of_path(finding.path),
            remedy=_with_names(finding, declaration.servers) or finding.remedy,
        )
        yield finding.severity, problem


def _with_names(finding: Finding, servers: Mapping[str, ServerConfig]) -> str | None:
    """Say which shipped map gives the name that a role asks for in vain, or return None (R30)."""
    config = servers.get(finding.server)
    published = hints_by(config) if config is not None and config.names is None else None
    for choice, names in published_names().items():
        if published and names.tools.get(finding.tool) in published:
            return f"set `names: {choice}` on server {finding.server!r}, which gives it that name"
    return None


def _known_offers(
    declaration: Declaration, offered: Mapping[str, frozenset[str]]
) -> dict[str, frozenset[str]]:
    known = {name: offered_by(config) for name, config in declaration.servers.items()}
    published = {name: tools for name, tools in known.items() if tools is not None}
    return {**published, **offered}


def _server_problems(
    config: ServerConfig, complaints: Complaints, environ: Mapping[str, str]
) -> Iterator[Problem]:
    where = ("mcp_servers", config.name)
    reason = unclaimed_package(config)
    if reason is not None:
        yield complaints.at(
            "unclaimed-package",
            f"would fetch and run {reason}; remit does not start it",
            where=(*where, "args"),
            remedy="name another package, or set `allow_unclaimed: true` if you know whose it is",
        )
    for field_path in secrets_in_clear(config):
        yield complaints.at(
            "secret-in-clear",
            "seems to hold a secret in clear, which every revision would keep",
            where=(*where, field_path),
            remedy="put it into an environment variable and write `${NAME}`",
        )
    unset = missing(config, environ)
    for error in unset:
        yield complaints.at(
            "missing-variable",
            f"needs {error.name}, {error.reason}: server {config.name!r} would not start",
            where=(*where, error.field),
            remedy=f"set {error.name}, or give a default: `${{{error.name}:-…}}`",
        )
    yield from _idle_variables(config, complaints, environ)
    if config.builtin == DATA and find_spec("sqlglot") is None:
        yield complaints.at(
            "missing-extra",
            f"needs a parser of SQL, which is not installed: server {config.name!r} would not"
            " start",
            where=(*where, "builtin"),
            remedy="install remit[data]",
        )
    if not unset and config.transport is Transport.STDIO:
        yield from _launch_problems(config, complaints, environ)


def _idle_variables(
    config: ServerConfig, complaints: Complaints, environ: Mapping[str, str]
) -> Iterator[Problem]:
    """Give the variables that may be unset, and are."""
    where = ("mcp_servers", config.name)
    variable = config.bearer_token_env_var
    if variable and not environ.get(variable):
        yield complaints.at(
            "missing-variable",
            f"names {variable}, which is not set: requests would carry no credential",
            where=(*where, "bearer_token_env_var"),
            remedy=f"set {variable}",
        )
    for index, name in enumerate(config.env_passthrough):
        if name not in environ:
            yield complaints.at(
                "missing-variable",
                f"passes on {name}, which is not set",
                where=(*where, "env_passthrough", index),
                remedy=f"set {name}, or remove it from the list",
            )


def _launch_problems(
    config: ServerConfig, complaints: Complaints, environ: Mapping[str, str]
) -> Iterator[Problem]:
    where = ("mcp_servers", config.name)
    resolved = resolve(config, environ)
    folder = Path(resolved.cwd or ".")
    if resolved.cwd and not folder.is_dir():
        yield complaints.at(
            "folder-not-found",
            "is no folder here",
            where=(*where, "cwd"),
            remedy="create it, or correct the path",
        )
    # A path is looked up from the folder that the child starts in, a name on the child's PATH.
    is_path = Path(resolved.command).name != resolved.command
    program = str(folder / resolved.command) if is_path else resolved.command
    if shutil.which(program, path=resolved.env.get("PATH", "")) is None:
        yield complaints.at(
            "command-not-found",
            f"names {redacted_text(config.command.split(maxsplit=1)[0])!r},"
            " which is not to be found here",
            where=(*where, "command"),
            remedy="put what follows the program's name into `args`; a path with spaces is right"
            " as it is where the program is there"
            if " " in config.command.strip()
            else "install it, or give its whole path",
        )


def _grants_of(role: Role) -> int:
    return sum(len(set(names)) for names in role.tools.values())


def _in_order(problems: list[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: problem.line))


def _wire(problem: Problem) -> dict[str, object]:
    return {
        "code": problem.code,
        "message": problem.message,
        "file": problem.file,
        "line": problem.line,
        "remedy": problem.remedy,
    }
