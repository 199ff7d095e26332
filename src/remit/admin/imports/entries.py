"""Read one server's entry, whichever program wrote it: every spelling of every key, in one table.

    RawServer ──▶ slots (by key) ──▶ how it is reached ──▶ Draft, an entry of `remit.yaml`

Texts stay as they were written here; `texts.py` brings their variables to remit's form and takes
secrets out.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from remit.admin.imports.bridges import see_through
from remit.admin.imports.entry_keys import IGNORED, SLOTS, WHY_LEFT, fold
from remit.admin.imports.notes import Code, Notebook, RawServer
from remit.admin.imports.transports import Way, ends_in_sse, read_transport
from remit.admin.imports.values import Value, read_flag, read_pairs, read_texts, seconds_of
from remit.admin.yaml_source import child_path
from remit.model.servers import LONGEST_TIMEOUT

_OWN_PORTS = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\]):8400(/|$)")
_AUTH_HEADERS = {
    "bearer": ("Authorization", "Bearer "),
    "bearertoken": ("Authorization", "Bearer "),
    "token": ("Authorization", "token "),
    "basic": ("Authorization", "Basic "),
    "authorization": ("Authorization", ""),
    "apikey": ("X-API-Key", ""),
}
"""`auth_type`, folded, to the header that it means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A server on its way into `remit.yaml`.

    Attributes:
        name: As its file has it.
        path: Where it stands there.
        entry: In remit's own keys.
        only: The only tools of it that were open; None where nothing was said.
        hidden: Tools of it, and patterns over them, that were switched off.
        inputs: As in `RawServer`.
    """

    name: str
    path: str
    entry: Mapping[str, object] = field(repr=False)
    only: tuple[str, ...] | None = None
    hidden: tuple[str, ...] = ()
    inputs: Mapping[str, str] = field(repr=False, default_factory=dict[str, str])


def read_entry(raw: RawServer, notebook: Notebook) -> Draft | None:
    """Return the server that *raw* declares, or None after saying why there is none."""
    return _Entry(raw, notebook).draft()


class _Entry:
    def __init__(self, raw: RawServer, notebook: Notebook) -> None:
        self._raw = raw
        self._notebook = notebook
        self._slots: dict[str, Value] = {}
        self._collect(raw.entry, raw.path)

    def draft(self) -> Draft | None:
        reached = self._reached()
        if reached is None:
            return None
        entry = {**reached, **self._common()}
        draft = Draft(
            name=self._raw.name,
            path=self._raw.path,
            entry={key: value for key, value in entry.items() if value not in ("", [], {}, None)},
            only=self._names("only"),
            hidden=tuple(dict.fromkeys((*(self._names("hidden") or ()), *self._raw.hidden))),
            inputs=self._raw.inputs,
        )
        return self._behind_bridge(draft)

    def _collect(self, entry: Mapping[str, object], path: str) -> None:
        for key, value in entry.items():
            slot = SLOTS.get(fold(key))
            where = child_path(path, key)
            if key == "tools" and not _is_choice(value):
                slot = None  # settings of tools, or what a catalogue says of them
            if slot in ("transport", "command") and isinstance(value, Mapping):
                # `transport: {type, url, headers}`, `command: {path, args, env}`
                self._collect(cast("Mapping[str, object]", value), where)
            elif slot is None:
                self._leave(key, where)
            elif value is None or value in ("", [], {}):
                continue
            elif slot in self._slots:
                self._write(
                    "key-left-out",
                    f"says the same as {self._slots[slot].key!r}, which counts",
                    key,
                    where,
                )
            else:
                self._slots[slot] = Value(key=key, value=value, path=where)

    def _leave(self, key: str, where: str) -> None:
        folded = fold(key)
        if folded in IGNORED:
            return
        why, remedy = WHY_LEFT.get(folded, ("remit has no such setting", ""))
        self._write("key-left-out", why, key, where, remedy)

    def _write(self, code: Code, message: str, key: str, path: str, remedy: str = "") -> None:
        self._notebook.write(
            code,
            message,
            path=path,
            server=self._raw.name,
            field=key,
            remedy=remedy,
        )

    def _refuse(self, message: str, remedy: str) -> None:
        self._notebook.write(
            "server-left-out",
            message,
            path=self._raw.path,
            server=self._raw.name,
            remedy=remedy,
        )

    def _reached(self) -> dict[str, object] | None:
        way = self._way()
        if way is None:
            return None
        return self._program() if way == "stdio" else self._remote(way)

    def _way(self) -> Way | None:
        declared = self._text("transport")
        meant = read_transport(declared) if declared else None
        if declared and meant is None:
            self._refuse(
                f"has the transport {declared[:40]!r}, which remit does not speak",
                "reach it over stdio, streamable HTTP or SSE",
            )
            return None
        url_slot = self._url_slot()
        has_command, has_url = "command" in self._slots, url_slot is not None
        if not has_command and not has_url:
            self._refuse("has neither a command nor an address", "add one, and import it again")
            return None
        if has_command and has_url:
            return self._one_of_two(meant)
        if has_command:
            if meant in ("http", "sse"):
                self._refuse(
                    f"is said to be {declared!r}, but has a command and no address",
                    "add its address, or correct the transport",
                )
                return None
            return "stdio"
        return self._way_of_address(meant, url_slot or "url")

    def _one_of_two(self, meant: Way | None) -> Way | None:
        if meant is None:
            self._refuse(
                "has both a command and an address, and nothing says which is meant",
                "keep one of them, and import it again",
            )
            return None
        unused = "url" if meant == "stdio" else "command"
        for slot in ("url", "http_url", "sse_url") if unused == "url" else ("command", "args"):
            if (value := self._slots.pop(slot, None)) is not None:
                self._write("key-left-out", f"the server is {meant}", value.key, value.path)
        return meant

    def _way_of_address(self, meant: Way | None, slot: str) -> Way | None:
        if meant == "stdio":
            self._refuse(
                "is said to be stdio, but has an address and no command",
                "add its command, or correct the transport",
            )
            return None
        if meant is not None:
            return meant
        if slot in ("http_url", "sse_url"):
            return "http" if slot == "http_url" else "sse"
        if ends_in_sse(self._text(slot)):
            return "sse"
        return self._raw.url_is or "http"

    def _url_slot(self) -> str | None:
        return next((slot for slot in ("http_url", "url", "sse_url") if slot in self._slots), None)

    def _program(self) -> dict[str, object]:
        command = self._slots["command"]
        args = read_texts(self._slots.get("args"), self._complain)
        words = command.value
        if isinstance(words, list):
            first, *rest = read_texts(command, self._complain) or [""]
            return self._child(first, [*rest, *args])
        text = self._text("command")
        split = _split(text)
        if len(split) > 1 and not args:
            self._write("read-as", "is split into a program and its args", "command", command.path)
            return self._child(split[0], split[1:])
        return self._child(text, args)

    def _child(self, command: str, args: list[str]) -> dict[str, object]:
        # A program gets no headers; what it needs of a token stands in its environment.
        for slot in ("headers", "bearer", "bearer_env", "headers_env"):
            if (value := self._slots.get(slot)) is not None:
                self._write("key-left-out", "a program gets no headers", value.key, value.path)
        return {
            "command": command,
            "args": args,
            "env": read_pairs(self._slots.get("env"), "=", self._complain),
            "env_passthrough": self._passthrough(),
            "cwd": self._text("cwd"),
        }

    def _passthrough(self) -> list[str]:
        return read_texts(self._slots.get("env_passthrough"), self._complain)

    def _remote(self, way: Way) -> dict[str, object]:
        for slot in ("args", "env", "env_passthrough", "cwd"):
            if (value := self._slots.get(slot)) is not None:
                message = "a server with an address gets no process of its own"
                self._write("key-left-out", message, value.key, value.path)
        url = self._text(self._url_slot() or "url")
        headers = read_pairs(self._slots.get("headers"), ":", self._complain)
        entry: dict[str, object] = {
            "transport": way,
            "url": url,
            "headers": {**headers, **self._credential(headers)},
            "headers_from_env": read_pairs(self._slots.get("headers_env"), ":", self._complain),
            "bearer_token_env_var": self._text("bearer_env"),
        }
        if _OWN_PORTS.match(url):
            self._notebook.write(
                "careful",
                "has remit's own usual address: a gateway that calls itself never ends",
                path=self._raw.path,
                server=self._raw.name,
                field="url",
                remedy="set `enabled: true` in remit.yaml if something else listens there",
            )
            entry["enabled"] = False
        return entry

    def _credential(self, headers: Mapping[str, str]) -> dict[str, str]:
        if any(name.lower() == "authorization" for name in headers):
            return {}
        kind = fold(self._text("auth_type")) or "bearer"
        name, scheme = _AUTH_HEADERS.get(kind, ("", ""))
        slot = "bearer" if "bearer" in self._slots else "auth_value"
        token = self._text(slot)
        if not name:
            if kind not in ("none", "noauth"):
                value = self._slots["auth_type"]
                message = f"remit cannot sign in by {self._text('auth_type')[:40]!r}"
                remedy = "give a header under `headers`, or a token in `bearer_token_env_var`"
                self._write("key-left-out", message, value.key, value.path, remedy)
            return {}
        if not token and "auth_type" not in self._slots:
            return {}
        if token and token.lower().startswith(scheme.lower().strip() + " "):
            scheme = ""
        return {name: f"{scheme}{token}" if token else f"{scheme}{EMPTY}"}

    def _common(self) -> dict[str, object]:
        common: dict[str, object] = {"description": " ".join(self._text("description").split())}
        if self._is_off():
            common["enabled"] = False
        for key, slots in (("timeout", ("tool_timeout", "timeout")), ("start_timeout", ("start",))):
            found = [self._slots[slot] for slot in slots if slot in self._slots]
            if found and (seconds := self._seconds(found[0])) is not None:
                common[key] = seconds
        return common

    def _is_off(self) -> bool:
        for slot, off in (("disabled", True), ("enabled", False)):
            value = self._slots.get(slot)
            if value is not None and read_flag(value.value) is off:
                return True
        return False

    def _seconds(self, value: Value) -> float | None:
        seconds = seconds_of(value.key, value.value, self._raw.milliseconds)
        if seconds is None or seconds <= 0:
            self._write("key-left-out", "is no span of time", value.key, value.path)
            return None
        if seconds > LONGEST_TIMEOUT:
            message = f"is {seconds:g} s; a call may take at most {LONGEST_TIMEOUT:g} s (R24)"
            self._write("read-as", message, value.key, value.path)
            return LONGEST_TIMEOUT
        if str(value.value) != f"{seconds:g}":
            message = f"{str(value.value)[:40]} is {seconds:g} s"
            self._write("read-as", message, value.key, value.path)
        return int(seconds) if seconds == int(seconds) else seconds

    def _names(self, slot: str) -> tuple[str, ...] | None:
        value = self._slots.get(slot)
        if value is None:
            return None
        names = [name for name in read_texts(value, self._complain) if name]
        return None if slot == "only" and names == ["*"] else tuple(dict.fromkeys(names))

    def _text(self, slot: str) -> str:
        value = self._slots.get(slot)
        if value is None:
            return ""
        if isinstance(value.value, str | int | float) and not isinstance(value.value, bool):
            return str(value.value).strip()
        self._complain(value.key, value.path, "is no text")
        return ""

    def _complain(self, key: str, path: str, message: str) -> None:
        self._write("key-left-out", message, key, path)

    def _behind_bridge(self, draft: Draft) -> Draft:
        entry = draft.entry
        bridged = see_through(
            str(entry.get("command", "")),
            cast("list[str]", entry.get("args", [])),
            cast("dict[str, str]", entry.get("env", {})),
        )
        if bridged is None:
            return draft
        self._write(
            "read-as",
            f"{bridged.program} only carries to {bridged.transport}: remit goes there itself",
            "command",
            self._raw.path,
        )
        for name in bridged.clear:
            self._notebook.write(
                "secret-in-clear",
                f"its value is not written: `${{{name}}}` stands where it was used",
                path=child_path(child_path(self._raw.path, "env"), name),
                server=self._raw.name,
                field=f"env.{name}",
                remedy=f"set {name} in the environment of remit",
            )
        kept = {
            key: value
            for key, value in entry.items()
            if key not in ("command", "args", "env", "env_passthrough", "cwd")
        }
        reached = {"transport": bridged.transport, "url": bridged.url, "headers": bridged.headers}
        return replace(draft, entry={**reached, **kept})


EMPTY = "\N{EMPTY SET}"
"""Stands for a credential that its file names and does not hold; `texts.py` puts a variable."""


def _split(text: str) -> list[str]:
    """Return the words of a command line; a path with spaces in it is one word."""
    first = text.split(maxsplit=1)[0] if text else ""
    if " " not in text or re.search(r"[\\/\"']", first):
        return [text]
    try:
        return shlex.split(text)
    except ValueError:
        return [text]


def _is_choice(tools: object) -> bool:
    """Whether it names the tools that are open, as Copilot has it."""
    if not isinstance(tools, list) or not tools:
        return False
    return all(isinstance(name, str) for name in cast("list[object]", tools))
