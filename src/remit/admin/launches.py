"""Recognise what a command starts: a package of a registry, a module or an installed program.

The ways people write it: `uvx mcp-server-git`, `uvx --from X Y`, `uv tool run X`, `pipx run X`,
`npx -y @scope/name@1.2`, `npm exec`, `pnpm dlx`, `bunx`, `python -m module`, a console script,
each also by an absolute path, behind `env` or behind Windows' `cmd /c`.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PureWindowsPath
from typing import Literal

Kind = Literal["python", "npm", "module", "script"]
"""A distribution of the Python registry, an npm package, a Python module, a program."""

_PYTHON = re.compile(r"(python|pypy)[0-9.]*w?|py")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=", re.ASCII)
_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(?:[=<>~!@]=?[^/:]*)?")
_NPM_SPEC = re.compile(r"((?:@[^/@\s:]+/)?[^/@\s:.][^/@\s:]*)(?:@[^/:]*)?")
_NPM_FOLDER = re.compile(r"node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)")
_SUFFIX = re.compile(r"\.(exe|cmd|bat|ps1)$", re.IGNORECASE)

_UV_VALUES = frozenset(
    {
        *("--from", "--with", "-w", "--with-editable", "--with-requirements", "--env-file"),
        *("--python", "-p", "--index", "--index-url", "-i", "--default-index"),
        *("--extra-index-url", "--find-links", "-f", "--constraints", "-c", "--overrides"),
        *("--directory", "--project", "--config-file", "--cache-dir", "--exclude-newer"),
        *("--upgrade-package", "-P", "--refresh-package", "--reinstall-package"),
        *("--index-strategy", "--keyring-provider", "--resolution", "--prerelease"),
        *("--link-mode", "--color", "--extra", "--group"),
    }
)
_PIPX_VALUES = frozenset({"--spec", "--python", "--pip-args", "--index-url", "-i"})
_NPM_VALUES = frozenset(
    {"--package", "-p", "--call", "-c", "--registry", "--prefix", "--cache", "--userconfig"}
)
_PYTHON_VALUES = frozenset({"-X", "-W", "--check-hash-based-pycs"})
_NPM_RUNNERS = {
    ("npx",),
    ("bunx",),
    ("pnpx",),
    ("npm", "exec"),
    ("npm", "x"),
    ("pnpm", "dlx"),
    ("yarn", "dlx"),
    ("bun", "x"),
}


@dataclass(frozen=True, slots=True)
class Named:
    """A name and what it is a name of; Python distributions are in their normal spelling."""

    kind: Kind
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What a command starts.

    Attributes:
        program: What runs in the end, or None where that cannot be told.
        fetched: Packages that a registry is asked for on the way.
    """

    program: Named | None = None
    fetched: tuple[Named, ...] = ()


def read_launch(command: str, args: Sequence[str]) -> Launch:
    """Return what *command* with *args* starts."""
    words = _unwrap([_program_name(command), *args])
    if not words:
        return Launch()
    program, rest = words[0], words[1:]
    runner = (program,) if (program,) in _NPM_RUNNERS else (program, *rest[:1])
    if runner in _NPM_RUNNERS:
        return _npm_launch(rest[len(runner) - 1 :])
    if program == "uvx" or (program == "uv" and rest[:2] == ["tool", "run"]):
        return _uvx_launch(rest if program == "uvx" else rest[2:])
    if program == "uv" and rest[:1] == ["run"]:
        return _uv_run_launch(rest[1:])
    if program == "pipx" and rest[:1] == ["run"]:
        return _pipx_launch(rest[1:])
    if _PYTHON.fullmatch(program):
        return Launch(program=_python_module(rest))
    if program == "node":
        return Launch(program=_npm_folder(rest))
    return Launch(program=Named("script", program))


def _program_name(command: str) -> str:
    # Splits on both kinds of slashes, wherever remit itself runs.
    return _SUFFIX.sub("", PureWindowsPath(command).name)


def _unwrap(words: list[str]) -> list[str]:
    while words:
        if words[0].lower() == "cmd" and words[1:2] and words[1].lower() == "/c":
            rest = words[2:]
        elif words[0] == "env" and len(words) > 1 and not words[1].startswith("-"):
            rest = words[1:]
            while rest and _ASSIGNMENT.match(rest[0]):
                rest = rest[1:]
        else:
            break
        words = [_program_name(rest[0]), *rest[1:]] if rest else []
    return words


def _options(
    words: Sequence[str], with_value: Collection[str]
) -> tuple[list[tuple[str, str]], list[str]]:
    """Split *words* into the options before the first word, and that word with what follows."""
    options: list[tuple[str, str]] = []
    at = 0
    while at < len(words) and words[at].startswith("-"):
        option, equals, value = words[at].partition("=")
        at += 1
        if option == "--":
            break
        if not equals and option in with_value:
            value = words[at] if at < len(words) else ""
            at += 1
        options.append((option, value))
    return options, list(words[at:])


def _values(options: Sequence[tuple[str, str]], *names: str) -> list[str]:
    return [value for option, value in options if option in names]


def _distributions(texts: Sequence[str]) -> list[Named]:
    found = [_REQUIREMENT.fullmatch(part.strip()) for text in texts for part in text.split(",")]
    return [
        Named("python", re.sub(r"[-_.]+", "-", match[1]).lower())
        for match in found
        if match is not None
    ]


def _uvx_launch(words: Sequence[str]) -> Launch:
    options, rest = _options(words, _UV_VALUES)
    source = _values(options, "--from")[:1] or rest[:1]
    program = _distributions(source)[:1]
    extra = _distributions(_values(options, "--with", "-w"))
    return Launch(program=program[0] if program else None, fetched=(*program, *extra))


def _uv_run_launch(words: Sequence[str]) -> Launch:
    options, rest = _options(words, {*_UV_VALUES, "--module", "-m"} - {"--from"})
    extra = tuple(_distributions(_values(options, "--with", "-w")))
    modules = _values(options, "--module", "-m")
    if modules:
        return Launch(program=Named("module", modules[0]), fetched=extra)
    inner = read_launch(rest[0], rest[1:]) if rest else Launch()
    return Launch(program=inner.program, fetched=(*inner.fetched, *extra))


def _pipx_launch(words: Sequence[str]) -> Launch:
    options, rest = _options(words, _PIPX_VALUES)
    program = _distributions(_values(options, "--spec")[:1] or rest[:1])[:1]
    return Launch(program=program[0] if program else None, fetched=tuple(program))


def _npm_launch(words: Sequence[str]) -> Launch:
    options, rest = _options(words, _NPM_VALUES)
    # `npm exec -y -- name`: what follows the two dashes is the name.
    sources = _values(options, "--package", "-p") or rest[:1]
    matches = [_NPM_SPEC.fullmatch(source) for source in sources]
    packages = [Named("npm", match[1].lower()) for match in matches if match is not None]
    return Launch(program=packages[0] if packages else None, fetched=tuple(packages))


def _python_module(words: Sequence[str]) -> Named | None:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        word = words[at]
        if word.startswith("-m"):
            module = word[2:] or (words[at + 1] if at + 1 < len(words) else "")
            return Named("module", module) if module else None
        at += 2 if word in _PYTHON_VALUES else 1
    return None


def _npm_folder(words: Sequence[str]) -> Named | None:
    folders = [_NPM_FOLDER.search(word) for word in words if not word.startswith("-")]
    if not folders or folders[0] is None:
        return None
    return Named("npm", folders[0][1].replace("\\", "/").lower())
