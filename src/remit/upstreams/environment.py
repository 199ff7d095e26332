"""What `${NAME}` means in a server's entry, and what environment a child process gets (R20, R21).

The table of forms is `docs/environment.md`; a test runs each of its rows. Values are resolved at
the last moment before a server is started, so nothing that is stored or shown holds them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

from remit.errors import RemitError
from remit.model.servers import ServerConfig

DEEPEST_DEFAULT = 16
"""How deep defaults may hold defaults."""

OWN_PREFIX = "REMIT_"
"""The gateway's own settings and secrets; no server ever sees one (R21)."""

_REFERENCE = re.compile(r"(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<operator>:-|-)?")
_OPENING = re.compile(r"\$\$\{|\$\{")
_BEGINNING = re.compile(r"\$\{\w{0,64}[^\w\s}]?", re.ASCII)
_BRACES = re.compile(r"[{}]")
_BEARER = re.compile(r"^(bearer\s+){2,}", re.IGNORECASE)

_TO_COLLECTOR = re.compile(r"OTEL_EXPORTER_OTLP_(?:[A-Z]+_)?HEADERS")
"""What the gateway shows its collector of spans, often a token; a server's own is passed on."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MINIMAL = frozenset(
    {
        *("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP"),
        *("USER", "LOGNAME", "SHELL", "TERM"),
        # What programs on Windows cannot start without.
        *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT"),
        *("PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "USERNAME"),
        *("USERPROFILE", "WINDIR"),
    }
)


class MissingVariable(RemitError):
    """A server's entry needs an environment variable that it cannot have.

    Attributes:
        name: The variable.
        server: The server's name in the declaration; empty while only a text is expanded.
        field: Path within its entry, such as `env.GITHUB_TOKEN` or `args[2]`; likewise.
    """

    reason: ClassVar[str] = "which is not set"

    def __init__(self, name: str, *, server: str = "", field: str = "") -> None:
        what = f"server {server!r}: {field!r} needs {name}" if server else f"needs {name}"
        super().__init__(f"{what}, {self.reason}")
        self.name = name
        self.server = server
        self.field = field

    def at(self, server: str, field: str) -> Self:
        """Return the same, said of a field of a server."""
        return type(self)(self.name, server=server, field=field)


class ForbiddenVariable(MissingVariable):
    """The variable belongs to the gateway: for every server it is as good as missing (R21)."""

    reason = "which belongs to remit itself and is given to no server"


class BadReference(MissingVariable):
    """A `${…}` of a form that is not in the table, so that no variable can be read from it.

    Attributes:
        name: How the reference begins; what follows may be a secret's default.
    """

    reason = "which has no form that remit knows, such as `${NAME}` or `${NAME:-default}`"


class UnusableValue(MissingVariable):
    """The value would not survive as a header."""

    reason = "whose value holds a line break or another control character"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedServer:
    """A server's entry with every value filled in, to be used at once and never stored.

    Attributes:
        env: The complete environment of the child process.
        headers: What every request carries; each name once, whatever its letter case.
        brought_in: The values of variables in it, but for those that every child inherits; a
            server may show one without the text around it.
    """

    name: str
    command: str = field(repr=False, default="")
    args: tuple[str, ...] = field(repr=False, default=())
    env: Mapping[str, str] = field(repr=False, default_factory=dict[str, str])
    cwd: str = field(repr=False, default="")
    url: str = field(repr=False, default="")
    headers: Mapping[str, str] = field(repr=False, default_factory=dict[str, str])
    brought_in: frozenset[str] = field(repr=False, default=frozenset())


def expand(text: str, environ: Mapping[str, str]) -> str:
    """Return *text* with its references replaced; what they bring in is not looked at again.

    Raises:
        MissingVariable: If a variable without default is not set, or may not be used.
    """
    return _expand(text, environ, 0)


def references(text: str) -> frozenset[str]:
    """Return every variable that *text* names, those in unused defaults too.

    Raises:
        BadReference: If it holds a `${` of a form that is not in the table.
    """
    found: set[str] = set()
    _collect(text, found, 0)
    return frozenset(found)


def is_own(name: str) -> bool:
    """Whether a variable is one of the gateway's own settings and secrets."""
    return name.upper().startswith(OWN_PREFIX)


def is_inherited(name: str) -> bool:
    """Whether every child process gets the variable (R21)."""
    return name in _MINIMAL or name.startswith("LC_")


def texts(config: ServerConfig) -> Iterator[tuple[str, str]]:
    """Give every text of an entry that may hold references, with its path within the entry."""
    yield "command", config.command
    for index, argument in enumerate(config.args):
        yield f"args[{index}]", argument
    for name, value in config.env.items():
        yield f"env.{name}", value
    yield "cwd", config.cwd
    yield "url", config.url
    for name, value in config.headers.items():
        yield f"headers.{name}", value


def missing(config: ServerConfig, environ: Mapping[str, str]) -> tuple[MissingVariable, ...]:
    """Return what keeps an entry from being resolved, at most one for a field."""
    found: list[MissingVariable] = []
    for where, text in texts(config):
        try:
            expand(text, environ)
        except MissingVariable as error:
            found.append(error.at(config.name, where))
    for header, name in config.headers_from_env.items():
        try:
            _value(name, environ)
        except MissingVariable as error:
            found.append(error.at(config.name, f"headers_from_env.{header}"))
    # These two may be unset (S4.8: "if set"), but never the gateway's own.
    optional = [(f"env_passthrough[{i}]", name) for i, name in enumerate(config.env_passthrough)]
    optional.append(("bearer_token_env_var", config.bearer_token_env_var))
    found.extend(
        ForbiddenVariable(name, server=config.name, field=where)
        for where, name in optional
        if is_own(name)
    )
    return tuple(found)


def resolve(config: ServerConfig, environ: Mapping[str, str]) -> ResolvedServer:
    """Fill in the values of *config*.

    Raises:
        MissingVariable: Naming server, field and variable, never a value (R20).
    """
    for error in missing(config, environ):
        raise error
    return ResolvedServer(
        name=config.name,
        command=expand(config.command, environ),
        args=tuple(expand(argument, environ) for argument in config.args),
        env=_child_environment(config, environ),
        cwd=expand(config.cwd, environ),
        url=expand(config.url, environ),
        headers=_headers(config, environ),
        brought_in=frozenset(_brought_in(config, environ)),
    )


def _brought_in(config: ServerConfig, environ: Mapping[str, str]) -> Iterator[str]:
    for _, text in texts(config):
        for name in references(text) - _MINIMAL:
            if name in environ and not is_own(name):
                yield environ[name]


@dataclass(frozen=True, slots=True)
class _Reference:
    name: str
    operator: str
    default: str


def _pieces(text: str) -> Iterator[str | _Reference]:
    """Split *text* into what stands for itself and the references between."""
    at = 0
    while (opening := _OPENING.search(text, at)) is not None:
        yield text[at : opening.start()]
        closing = _closing(text, opening.end())
        if closing < 0:
            raise BadReference(_beginning(text, opening.start()))
        inside = text[opening.end() : closing]
        at = closing + 1
        if opening.group() == "$${":
            yield f"${{{inside}}}"
            continue
        match = _REFERENCE.match(inside)
        if match is None or (match["operator"] is None and match.end() < len(inside)):
            raise BadReference(_beginning(text, opening.start()))
        yield _Reference(match["name"], match["operator"] or "", inside[match.end() :])
    yield text[at:]


def _closing(text: str, start: int) -> int:
    """Return where the brace opened before *start* is closed, or -1."""
    depth = 1
    for brace in _BRACES.finditer(text, start):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return brace.start()
    return -1


def _beginning(text: str, start: int) -> str:
    match = _BEGINNING.match(text, start)
    return match.group() if match is not None else "${"


def _expand(text: str, environ: Mapping[str, str], depth: int) -> str:
    if depth > DEEPEST_DEFAULT:
        raise BadReference("${")
    built: list[str] = []
    for piece in _pieces(text):
        if isinstance(piece, str):
            built.append(piece)
            continue
        value = None if is_own(piece.name) else environ.get(piece.name)
        if is_own(piece.name) or not piece.operator:
            built.append(_value(piece.name, environ))
        elif value is None or (not value and piece.operator == ":-"):
            built.append(_expand(piece.default, environ, depth + 1))
        else:
            built.append(value)
    return "".join(built)


def _collect(text: str, found: set[str], depth: int) -> None:
    if depth > DEEPEST_DEFAULT:
        raise BadReference("${")
    for piece in _pieces(text):
        if isinstance(piece, _Reference):
            found.add(piece.name)
            _collect(piece.default, found, depth + 1)


def _value(name: str, environ: Mapping[str, str]) -> str:
    if is_own(name):
        raise ForbiddenVariable(name)
    value = environ.get(name)
    if value is None:
        raise MissingVariable(name)
    return value


def _child_environment(config: ServerConfig, environ: Mapping[str, str]) -> dict[str, str]:
    inherits_all = config.env_inherit == "all"
    inherited = {
        name: value
        for name, value in environ.items()
        if not is_own(name)
        and not _TO_COLLECTOR.fullmatch(name)
        and (inherits_all or _is_minimal(name, value))
    }
    passed = {name: environ[name] for name in config.env_passthrough if name in environ}
    own = {name: expand(value, environ) for name, value in config.env.items()}
    return {**inherited, **passed, **own}


def _is_minimal(name: str, value: str) -> bool:
    # A value that begins so is a function exported by a shell, which a child shell would run.
    if value.startswith("()"):
        return False
    return is_inherited(name)


def _headers(config: ServerConfig, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the headers; of two for one name the stronger source wins, static first (S4.8)."""
    found: dict[str, tuple[str, str]] = {}
    token = environ.get(config.bearer_token_env_var, "").strip()
    if token:
        found["authorization"] = ("Authorization", f"Bearer {token}")
    for name, variable in config.headers_from_env.items():
        found[name.lower()] = (name, _value(variable, environ))
    for name, text in config.headers.items():
        found[name.lower()] = (name, expand(text, environ))
    return {name: _header_value(config.name, name, value) for name, value in found.values()}


def _header_value(server: str, name: str, value: str) -> str:
    stripped = value.strip()
    if _CONTROL.search(stripped):
        raise UnusableValue(f"the header {name}", server=server, field="headers")
    if name.lower() == "authorization":
        return _BEARER.sub("Bearer ", stripped)
    return stripped
