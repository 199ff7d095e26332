"""Find secrets that stand in a server's entry in clear, where `${NAME}` should stand.

What looks like a secret is what the audit would not store either (`calls/redact.py`).
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from urllib.parse import parse_qsl, urlsplit

from remit.calls.redact import redacted, redacted_text
from remit.model.servers import ServerConfig

_REFERENCE = re.compile(r"\$\{[^}]*\}*")
# `Authorization: Bearer ${TOKEN}` is no secret in an argument either.
_SCHEME = re.compile(r"^\s*(?:authorization:\s*)?(?:bearer|basic|token)\b", re.IGNORECASE)
# A file, an address or a switch that has to do with a secret is none.
_HARMLESS = re.compile(
    r"[-_](file|path|dir|url|uri|endpoint|env|var|name|type|ttl|timeout)$", re.IGNORECASE
)
_TRIVIAL = re.compile(r"\d{0,7}|true|false|yes|no|none|null", re.IGNORECASE)


def secrets_in_clear(config: ServerConfig) -> tuple[str, ...]:
    """Return the fields of an entry that seem to hold a secret, such as `env.API_KEY`."""
    found = [f"env.{name}" for name, text in config.env.items() if is_secret(name, text)]
    found += [f"headers.{name}" for name, text in config.headers.items() if is_secret(name, text)]
    found += [f"args[{index}]" for index in dict.fromkeys(secret_arguments(config.args))]
    if _is_in_address(config.url):
        found.append("url")
    if _shows_secret(config.command):
        found.append("command")
    return tuple(found)


def _literal(text: str) -> str:
    return _REFERENCE.sub("", text)


def _shows_secret(text: str) -> bool:
    literal = _literal(text)
    return redacted_text(literal) != literal


def without_scheme(literal: str) -> str:
    """Return what could be a secret of a text without references; empty where nothing could."""
    rest = _SCHEME.sub("", literal).strip()
    return "" if _TRIVIAL.fullmatch(rest) else rest


def is_secret(name: str, text: str) -> bool:
    """Whether *text*, which stands under *name*, seems to be a secret in clear."""
    literal = without_scheme(_literal(text))
    if not literal:
        return False
    if _shows_secret(text):
        return True
    return not _HARMLESS.search(name) and redacted({name: literal}) != {name: literal}


def secret_arguments(args: Sequence[str]) -> Iterator[int]:
    """Give the place of each argument that seems to be a secret, some of them twice."""
    for index, text in enumerate(args):
        name, equals, value = text.partition("=")
        if is_secret(name, value) if equals else _shows_secret(text):
            yield index
    for index, (option, value) in enumerate(pairwise(args), start=1):
        is_option = option.startswith("-") and "=" not in option
        if is_option and not value.startswith("-") and is_secret(option, value):
            yield index


def _is_in_address(url: str) -> bool:
    try:
        parts = urlsplit(_literal(url))
        named = [("password", parts.password or ""), *parse_qsl(parts.query)]
    except ValueError:
        return False
    return any(is_secret(name, value) for name, value in named) or _shows_secret(parts.path)
