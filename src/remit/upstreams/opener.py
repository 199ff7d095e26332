"""Opens the connections to one server, by its entry and by what earlier ones have shown of it."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

from remit.model.servers import ServerConfig
from remit.upstreams.connection import Connection, open_connection
from remit.upstreams.environment import resolve
from remit.upstreams.era import Era
from remit.upstreams.liveness import patience
from remit.upstreams.session import Session, Setup, Signals
from remit.upstreams.surroundings import Surroundings
from remit.upstreams.transcript import Transcript, secrets_of
from remit.upstreams.ways import PLAIN, Way


class Opener:
    """Opens connections to a server.

    Args:
        config: The server's entry.
        around: What it shares with the others.

    Attributes:
        config: As it stands by now.
        era: What the server is known to speak; None until it has been heard.
        opened: The connections that are open, or are being opened or closed.
        transcript: What the server has written beside the protocol; None until it was first tried.
    """

    def __init__(self, config: ServerConfig, around: Surroundings) -> None:
        self.config = config
        self._around = around
        self._probe_is_fatal = False
        self.era: Era | None = None
        self.opened: list[Signals] = []
        self.transcript: Transcript | None = None

    @asynccontextmanager
    async def open(
        self,
        signals: Signals,
        first: Callable[[Session], Awaitable[None]],
        way: Way = PLAIN,
    ) -> AsyncGenerator[Connection]:
        """Open a connection with the entry's values as they are now.

        Args:
            signals: Told of what happens to it.
            first: What to do before anybody else may use it.
            way: Whose it is, and what its caller can do.

        Raises:
            MissingVariable: The entry names a variable that is not set.
            UpstreamError: The server could not be reached, or is none.
        """
        resolved = resolve(self.config, self._around.environ)
        if self.transcript is None:
            self.transcript = Transcript(secrets_of(self.config, resolved))
        make = self._around.builtins.get(self.config.builtin)
        is_known = self.era is not None and not self.era.is_modern
        setup = Setup(
            config=self.config,
            resolved=resolved,
            transcript=self.transcript,
            signals=signals,
            trust=self._around.trust,
            warden=self._around.warden,
            silence=self._silence,
            is_legacy=way.is_legacy or self._probe_is_fatal or is_known,
            abilities=way.abilities,
            make_builtin=None if make is None else partial(make, resolved.args, resolved.env),
            owner=way.owner,
        )
        self.opened.append(signals)
        try:
            async with open_connection(setup, first) as connection:
                yield connection
        finally:
            self.opened.remove(signals)

    def _silence(self) -> float:
        return patience(self.config, self._around.pace.silence)

    def take_note_of(self, signals: Signals) -> None:
        """Remember how an attempt ended: what speaks no known era is asked in another way next.

        Some servers end when the first thing they hear is not `initialize`.
        """
        if self.era is None:
            self._probe_is_fatal = not self._probe_is_fatal and signals.ended is not None

    def redacted(self, text: str) -> str:
        """Return *text* without the server's secrets."""
        return self.transcript.redacted(text) if self.transcript is not None else text
