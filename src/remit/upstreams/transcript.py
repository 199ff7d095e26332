"""What a server said beside its answers: its error output and its noise, for an administrator.

Bounded whatever comes in, and without the secrets that the server was given (R21).
"""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote, urlsplit

from remit.model.servers import ServerConfig
from remit.upstreams.environment import ResolvedServer

TAIL = 8 * 1024
"""Bytes of a child's error output that are kept."""

_NOISE_SHOWN = 200
_FRAME = " \t|+│╰─╯╭╮"
_SHORTEST_SECRET = 4
_SECRET_NAME = re.compile(r"key|token|secret|pass|credential|auth", re.IGNORECASE)
_REDACTED = "[redacted]"


class Transcript:
    """The tail of what one server wrote, and how much of it was noise.

    Attributes:
        written: Bytes of error output, all in all.

    Args:
        secrets: Values that are never shown.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        usable = {secret for secret in secrets if len(secret) >= _SHORTEST_SECRET}
        # The longest first: a secret may be a part of another one.
        self._secrets = sorted(usable, key=len, reverse=True)
        # A secret that the cut would halve has to be there whole to be found.
        self._kept = TAIL + max((len(secret.encode()) for secret in usable), default=0)
        self._tail = bytearray()
        self.written = 0
        self._noise = 0
        self._last_noise = ""

    def error_output(self, data: bytes) -> None:
        """Take bytes from the standard error of a child."""
        self.written += len(data)
        self._tail += data[-self._kept :]
        if len(self._tail) > self._kept:
            del self._tail[: -self._kept]

    def noise(self, data: bytes) -> None:
        """Take a line or message that is no part of the protocol."""
        self._noise += 1
        self._last_noise = data[:_NOISE_SHOWN].decode(errors="replace").strip() or "an empty line"

    @property
    def tail(self) -> str:
        """The last error output, at most `TAIL` characters."""
        return self.redacted(self._tail.decode(errors="replace"))[-TAIL:]

    @property
    def last_line(self) -> str:
        """The last line of error output that says something, or empty.

        Rules and frames say nothing, such as the box around the traceback of an exception group.
        """
        lines = (line.strip(_FRAME) for line in reversed(self.tail.splitlines()))
        said = (line for line in lines if any(map(str.isalnum, line)))
        return next((line[:_NOISE_SHOWN] for line in said), "")

    @property
    def notes(self) -> tuple[str, ...]:
        """What an administrator should know of the noise; empty when there was none."""
        if not self._noise:
            return ()
        last = self.redacted(self._last_noise)
        return (f"{self._noise} lines that are no protocol messages were ignored; last: {last!r}",)

    def redacted(self, text: str) -> str:
        """Return *text* without the server's secrets."""
        for secret in self._secrets:
            text = text.replace(secret, _REDACTED)
        return text


def secrets_of(config: ServerConfig, resolved: ResolvedServer) -> Iterator[str]:
    """Give every value that was filled into a server's entry or its environment on purpose.

    Of an address also what names itself a secret there, written in clear.
    """
    yield from resolved.brought_in
    yield from _secrets_in(resolved.url)
    inherits_all = config.env_inherit == "all"
    for name, value in resolved.env.items():
        given = name in config.env or name in config.env_passthrough
        if given or (inherits_all and _SECRET_NAME.search(name)):
            yield value
    for name, value in resolved.headers.items():
        yield value
        if name.lower() == "authorization":
            yield value.rpartition(" ")[2]
    written = (config.command, *config.args, config.cwd, config.url)
    filled = (resolved.command, *resolved.args, resolved.cwd, resolved.url)
    yield from (value for text, value in zip(written, filled, strict=True) if value != text)


def _secrets_in(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    password = parts.password or ""
    yield from (password, unquote(password))
    for pair in parts.query.split("&"):
        name, _, value = pair.partition("=")
        if _SECRET_NAME.search(name):
            yield from (value, unquote(value))
