"""Take secrets that stand in clear out of a server's entry, and put `${NAME}` in their place.

Stricter than `remit check`, which only warns: what looks like a secret by its name, its shape or
its randomness is never written, and never said.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from remit.admin.imports.entries import EMPTY
from remit.admin.imports.variable_names import VariableNames
from remit.admin.imports.variables import variable_name
from remit.admin.secrets_in_clear import (
    is_secret,
    secret_arguments,
    secrets_in_clear,
    without_scheme,
)
from remit.model.servers import ServerConfig

_NAME = re.compile(
    r"(?:^|[_.-])(?:auth|pass|passwd|pwd|pat|creds?|jwt|signature|salt|pin|keys?)$", re.IGNORECASE
)
_HARMLESS_NAME = re.compile(r"(?:public|primary|sort|partition|foreign)[_-]?keys?$", re.IGNORECASE)
_PATH = re.compile(r"(?:~|\.{1,2})?/|[A-Za-z]:\\")
_RANDOM = re.compile(r"[A-Za-z0-9]{24,}")
_REFERENCE = re.compile(r"\$\{[^{}]*\}")
_DEFAULT = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*):?-(?P<default>[^{}]+)\}")
_SCHEME = re.compile(r"(?i)(bearer|basic|token)\s+(?=\S)")
_USER_INFO = re.compile(r"(?<=://)(?P<user>[^/\s:@]*):(?P<rest>[^/\s@]+)(?=@)")
_QUERY = re.compile(r"(?P<start>[?&])(?P<name>[^=&#]+)=(?P<rest>[^&#]+)")
# Some services give everybody an address of their own, which is as good as a key.
_SEGMENT = re.compile(
    r"(?<=[^:/]/)(?:[A-Za-z0-9]{24,}|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})(?=[/?#]|$)"
)
_TOKEN = "TOKEN"  # noqa: S105 - the end of a variable's name
_FEWEST_DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """A value that was taken out: where it stood and what stands there now; never the value.

    Attributes:
        field: Such as `env.API_KEY`.
        is_known: False where the file named a credential and did not hold it.
    """

    field: str
    variable: str
    is_known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared:
    """An entry without secrets, and what was taken out."""

    entry: Mapping[str, object] = field(repr=False)
    hidden: tuple[Hidden, ...] = ()


def clear(server: str, entry: Mapping[str, object], names: VariableNames) -> Cleared:
    """Return *entry*, whose variables are in remit's form already, without its secrets."""
    return _Clearing(server, entry, names).cleared()


def hide_whole(server: str, at: str, text: str, names: VariableNames) -> tuple[str, Hidden]:
    """Return a reference that stands for all of a text that cannot be written, and say so."""
    variable = names.take(variable_name(server, at), server, text)
    return f"${{{variable}}}", Hidden(field=at, variable=variable)


class _Clearing:
    def __init__(self, server: str, entry: Mapping[str, object], names: VariableNames) -> None:
        self._server = server
        self._entry = dict(entry)
        self._names = names
        self._hidden: list[Hidden] = []

    def cleared(self) -> Cleared:
        self._each("env", self._variable)
        self._each("headers", self._header)
        self._arguments()
        if url := str(self._entry.get("url", "")):
            self._entry["url"] = self._address(url)
        self._what_is_left()
        return Cleared(entry=self._entry, hidden=tuple(self._hidden))

    def _each(self, section: str, treat: Callable[[str, str], str]) -> None:
        members = cast("Mapping[str, str]", self._entry.get(section, {}))
        if members:
            self._entry[section] = {name: treat(name, text) for name, text in members.items()}

    def _take(self, at: str, preferred: str, value: str) -> str:
        variable = self._names.take(preferred, self._server, value)
        self._hidden.append(Hidden(field=at, variable=variable))
        return f"${{{variable}}}"

    def _without_defaults(self, at: str, name: str, text: str) -> str:
        """Leave out defaults that are secrets: `${TOKEN:-8f3c0a61b2d94e57}`."""

        def bare(match: re.Match[str]) -> str:
            if not (
                _is_hidden(match["name"], match["default"]) or _is_hidden(name, match["default"])
            ):
                return match.group()
            self._hidden.append(Hidden(field=at, variable=match["name"]))
            return f"${{{match['name']}}}"

        return _DEFAULT.sub(bare, text)

    def _variable(self, name: str, text: str) -> str:
        at = f"env.{name}"
        text = self._without_defaults(at, name, text)
        if not _is_hidden(name, text):
            return text
        preferred = variable_name(name)
        is_telling = "_" in preferred
        return self._take(at, preferred if is_telling else self._own(name), text)

    def _own(self, *parts: str) -> str:
        return variable_name(self._server, *parts)

    def _header(self, name: str, text: str) -> str:
        at = f"headers.{name}"
        if EMPTY in text:
            variable = self._names.take(self._own(_of_header(name)), self._server, "")
            self._hidden.append(Hidden(field=at, variable=variable, is_known=False))
            return text.replace(EMPTY, f"${{{variable}}}")
        text = self._without_defaults(at, name, text)
        if not _is_hidden(name, text):
            return text
        scheme = _SCHEME.match(text.strip())
        start = scheme.group() if scheme is not None else ""
        return start + self._take(at, self._own(_of_header(name)), text.strip()[len(start) :])

    def _arguments(self) -> None:
        args = list(cast("list[str]", self._entry.get("args", [])))
        if not args:
            return
        args = [
            self._without_defaults(f"args[{index}]", _option_before(args, index), text)
            for index, text in enumerate(args)
        ]
        found = set(secret_arguments(args))
        for index, text in enumerate(args):
            at = f"args[{index}]"
            name, equals, value = text.partition("=")
            if equals and (index in found or _is_hidden(name, value)):
                args[index] = f"{name}={self._take(at, self._own(name), value)}"
            elif index in found or _is_hidden(_option_before(args, index), text):
                args[index] = self._argument(at, _option_before(args, index), text)
        self._entry["args"] = args

    def _argument(self, at: str, option: str, text: str) -> str:
        # `--header "Authorization: Bearer …"` keeps the name of the header.
        header, colon, value = text.partition(":")
        if colon and re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", header) and not value.startswith("//"):
            scheme = _SCHEME.match(value.strip())
            start = scheme.group() if scheme is not None else ""
            taken = self._take(at, self._own(_of_header(header)), value.strip()[len(start) :])
            return f"{header}: {start}{taken}"
        return self._take(at, self._own(option or at), text)

    def _address(self, url: str) -> str:
        url = self._without_defaults("url", "url", url)

        def password(match: re.Match[str]) -> str:
            if not without_scheme(_REFERENCE.sub("", match["rest"])):
                return match.group()
            return f"{match['user']}:{self._take('url', self._own('password'), match['rest'])}"

        def member(match: re.Match[str]) -> str:
            if not _is_hidden(match["name"], match["rest"]):
                return match.group()
            taken = self._take("url", self._own(match["name"]), match["rest"])
            return f"{match['start']}{match['name']}={taken}"

        def segment(match: re.Match[str]) -> str:
            word = match.group()
            return self._take("url", self._own("url_key"), word) if _is_random(word) else word

        return _SEGMENT.sub(segment, _QUERY.sub(member, _USER_INFO.sub(password, url)))

    def _what_is_left(self) -> None:
        """Hide whole what still looks like a secret to `remit check`."""
        for at in secrets_in_clear(_config(self._server, self._entry)):
            section, dot, name = at.partition(".")
            if dot:
                members = dict(cast("Mapping[str, str]", self._entry[section]))
                members[name] = self._take(at, self._own(at), members[name])
                self._entry[section] = members
            elif at.startswith("args["):
                args = list(cast("list[str]", self._entry["args"]))
                index = int(at[len("args[") : -1])
                args[index] = self._take(at, self._own(at), args[index])
                self._entry["args"] = args
            else:
                self._entry[at] = self._take(at, self._own(at), str(self._entry[at]))


def _config(server: str, entry: Mapping[str, object]) -> ServerConfig:
    return ServerConfig(
        name=server,
        command=str(entry.get("command", "")),
        args=tuple(cast("list[str]", entry.get("args", []))),
        env=cast("Mapping[str, str]", entry.get("env", {})),
        url=str(entry.get("url", "")),
        headers=cast("Mapping[str, str]", entry.get("headers", {})),
    )


def _is_hidden(name: str, text: str) -> bool:
    """Whether *text* under *name* is not to be written."""
    if is_secret(name, text):
        return True
    literal = without_scheme(_REFERENCE.sub("", text))
    if not literal or _PATH.match(literal):
        return False
    if _NAME.search(name) and not _HARMLESS_NAME.search(name):
        return True
    return any(_is_random(word) for word in _RANDOM.findall(literal))


def _is_random(word: str) -> bool:
    digits = sum(letter.isdigit() for letter in word)
    return digits >= _FEWEST_DIGITS and len(word) - digits >= _FEWEST_DIGITS


def _of_header(name: str) -> str:
    return _TOKEN if name.lower() == "authorization" else name


def _option_before(args: list[str], index: int) -> str:
    before = args[index - 1] if index else ""
    is_option = before.startswith("-") and "=" not in before
    return before if is_option and not args[index].startswith("-") else ""
