"""Bring the variables of other programs' files to remit's own form, by one table (R20).

The table is `docs/init.md`; a test runs each of its rows. What a form means does not depend on the
file it stands in, so that one table is all there is to know.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from remit.upstreams.environment import DEEPEST_DEFAULT, MissingVariable, references

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_OTHER_FORMS = re.compile(
    r"\$\$\{|(?P<braces>\$\{)"
    rf"|(?<![\w./])os\.environ/(?P<python>{_NAME})"
    rf"|\{{env:(?P<opencode>{_NAME})\}}"
    r"|\{file:(?P<file>[^{}\n]+)\}"
    r"|\{\{\s*(?P<template>[A-Za-z_][\w.-]*)\s*\}\}"
    rf"|(?<![\w$\\])\$env:(?P<shell>{_NAME})"
    r"|(?<![\w$\\])\$(?P<dollar>[A-Z_][A-Z0-9_]*)(?!\w)"
    r"|%(?P<percent>[A-Za-z_][A-Za-z0-9_]*)%"
)
_INSIDE = re.compile(
    rf"(?:(?P<prefix>env|ENV|localEnv|secrets?|var):\s*)?(?P<name>{_NAME})(?P<rest>.*)", re.DOTALL
)
_EDITOR = re.compile(r"(?P<kind>[A-Za-z]+):(?P<id>[^{}\n]+)")
_HEX_PAIR = re.compile(r"[0-9A-Fa-f]{2}")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_UNFIT = re.compile(r"[^A-Za-z0-9]+")

_PLACES = {
    "userHome": "HOME",
    "workspaceFolder": "WORKSPACE_FOLDER",
    "workspaceRoot": "WORKSPACE_FOLDER",
    "workspaceFolderBasename": "WORKSPACE_FOLDER_BASENAME",
    "extensionPath": "EXTENSION_PATH",
    "__dirname": "EXTENSION_FOLDER",
}
"""What editors fill in by themselves, and the variable that stands for it here."""

_SIGNS = {"/": "/", "pathSeparator": "/"}


class Untranslatable(Exception):
    """The text holds something that looks like a reference and is none that can be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Translated:
    """A text in remit's own form.

    Attributes:
        read: What was brought to another form: as written, and as it is now. No defaults.
        needs: Likewise, where another program asked for the value or filled it in: as written,
            the variable, and what it stands for.
    """

    text: str = field(repr=False)
    read: tuple[tuple[str, str], ...] = ()
    needs: tuple[tuple[str, str, str], ...] = ()


def translate(text: str, inputs: Mapping[str, str], *, is_url: bool = False) -> Translated:
    """Return *text* with every variable of the table as `${NAME}`.

    Args:
        text: As the other program's file has it.
        inputs: What its `${input:ID}` mean: id to default, empty where there is none.
        is_url: Whether `%` begins an escape of an address rather than a variable.

    Raises:
        Untranslatable: It holds a `${` that is in no table.
    """
    translator = _Translator(inputs, is_url=is_url)
    built = translator.text(text, 0)
    try:
        references(built)
    except MissingVariable:
        raise Untranslatable from None
    return Translated(text=built, read=tuple(translator.read), needs=tuple(translator.needs))


def variable_name(*parts: str) -> str:
    """Return a name for an environment variable, such as `TICKETS_TOKEN` of `tickets`, `token`."""
    words = (_UNFIT.sub("_", _HUMP.sub("_", part)).strip("_").upper() for part in parts)
    name = "_".join(word for word in words if word) or "VALUE"
    return f"_{name}" if name[0].isdigit() else name


class _Translator:
    def __init__(self, inputs: Mapping[str, str], *, is_url: bool) -> None:
        self._inputs = inputs
        self._is_url = is_url
        self.read: list[tuple[str, str]] = []
        self.needs: list[tuple[str, str, str]] = []

    def text(self, text: str, depth: int) -> str:
        if depth > DEEPEST_DEFAULT:
            raise Untranslatable
        built: list[str] = []
        at = 0
        while (form := _OTHER_FORMS.search(text, at)) is not None:
            built.append(text[at : form.start()])
            at = form.end()
            if form["braces"] is not None or form.group() == "$${":
                closing = _closing(text, at)
                inside = text[at:closing]
                escaped = form["braces"] is None
                built.append(f"$${{{inside}}}" if escaped else self._braces(inside, depth))
                at = closing + 1
            else:
                built.append(self._simple(form))
        built.append(text[at:])
        return "".join(built)

    def _simple(self, form: re.Match[str]) -> str:
        written = form.group()
        if form["percent"] is not None:
            is_escape = self._is_url or _HEX_PAIR.fullmatch(form["percent"]) is not None
            return written if is_escape else self._reading(written, form["percent"])
        if form["file"] is not None:
            name = variable_name(re.split(r"[\\/]", form["file"])[-1])
            return self._asking(written, name, "the content of that file")
        if form["template"] is not None:
            name = variable_name(form["template"])
            return self._asking(written, name, "what the template was filled with")
        names = (form[kind] for kind in ("opencode", "shell", "dollar", "python"))
        return self._reading(written, next(name for name in names if name is not None))

    def _braces(self, inside: str, depth: int) -> str:
        if inside in _SIGNS:
            self.read.append((f"${{{inside}}}", _SIGNS[inside]))
            return _SIGNS[inside]
        if inside in _PLACES:
            name = _PLACES[inside]
            if name == "HOME":
                return self._reading(f"${{{inside}}}", name)
            return self._asking(f"${{{inside}}}", name, "what the editor filled in")
        match = _INSIDE.fullmatch(inside)
        if match is not None:
            return self._named(match, depth)
        editor = _EDITOR.fullmatch(inside)
        if editor is None:
            raise Untranslatable
        return self._editor(editor)

    def _named(self, match: re.Match[str], depth: int) -> str:
        name, rest = match["name"], match["rest"]
        operator = next((sign for sign in (":-", "-") if rest.startswith(sign)), "")
        if operator:
            rest = operator + self.text(rest[len(operator) :], depth + 1)
        elif rest.startswith((":?", "?")):  # a shell's way to insist, which remit does anyway
            self.read.append((f"${{{name}{rest[: rest.index('?') + 1]}…}}", f"${{{name}}}"))
            rest = ""
        elif rest:
            return self._editor_of(match)
        if match["prefix"] is not None:
            self.read.append((f"${{{match['prefix']}:{name}}}", f"${{{name}}}"))
        return f"${{{name}{rest}}}"

    def _editor_of(self, match: re.Match[str]) -> str:
        editor = _EDITOR.fullmatch(match.group())
        if editor is None:
            raise Untranslatable
        return self._editor(editor)

    def _editor(self, match: re.Match[str]) -> str:
        kind, asked = match["kind"], match["id"]
        written = f"${{{kind}:{asked}}}"
        if kind == "input":
            name, default = variable_name(asked), self._inputs.get(asked, "")
            if default:
                reference = f"${{{name}:-{_literal(default)}}}"
                self.read.append((written, f"${{{name}:-…}}"))
                return reference
            return self._asking(written, name, "what the editor asked its user for")
        return self._asking(written, variable_name(kind, asked), f"what {kind!r} gave there")

    def _reading(self, written: str, name: str) -> str:
        self.read.append((written, f"${{{name}}}"))
        return f"${{{name}}}"

    def _asking(self, written: str, name: str, meaning: str) -> str:
        self.needs.append((written, name, meaning))
        return f"${{{name}}}"


def _closing(text: str, start: int) -> int:
    depth = 1
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    raise Untranslatable


def _literal(text: str) -> str:
    """Return a default that stands for itself; one with braces cannot be written as one."""
    if set(text) & set("${}"):
        raise Untranslatable
    return text


def names_in(texts: Iterable[str]) -> frozenset[str]:
    """Return every variable that *texts*, in remit's own form, refer to."""
    found: set[str] = set()
    for text in texts:
        try:
            found |= references(text)
        except MissingVariable:
            continue
    return frozenset(found)
