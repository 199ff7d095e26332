"""Process settings: where we listen, which files, which database (R18)."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from remit.model.principals import DEFAULT_TENANT

DEFAULT_CONFIG = "remit.yaml"
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8400
DEFAULT_SILENCE = 420.0
LONGEST_SILENCE = 366 * 86_400.0
"""Seconds beyond which nobody waits for an agent: a year."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment and the flags decide; everything else is the declaration.

    Attributes:
        config: Path of the declaration.
        state_dir: As `REMIT_STATE_DIR` gives it, or None for `.remit` beside the declaration.
        database_url: As `REMIT_DATABASE_URL` gives it, or None for SQLite in the state folder.
        master_key: As `REMIT_MASTER_KEY` gives it, or empty.
        tenant: Name or UUID of the tenant that a command is about (`--tenant`).
        shared_url: As `REMIT_SHARED_URL` gives it, or None where the database is what is shared.
        events_urls: Who is told of the crew's events, as `REMIT_EVENTS_URL` gives them.
        events_secret: Signs those that go over HTTP (`REMIT_EVENTS_SECRET`).
        agent_silence: Seconds after which an agent is unhealthy (`REMIT_AGENT_SILENCE`, S3.38).
        events_private: Whether such a URL may lead to a private address (`REMIT_EVENTS_PRIVATE`).
    """

    config: Path
    state_dir: Path | None = None
    database_url: str | None = None
    tenant: str = DEFAULT_TENANT
    shared_url: str | None = field(default=None, repr=False)
    master_key: str = field(default="", repr=False)
    events_urls: tuple[str, ...] = field(default=(), repr=False)
    events_secret: str = field(default="", repr=False)
    events_private: bool = False
    agent_silence: float = DEFAULT_SILENCE

    @property
    def state(self) -> Path:
        """The folder for database, journal and keys."""
        if self.state_dir is not None:
            return self.state_dir.absolute()
        return self.config.absolute().parent / ".remit"

    @property
    def database_named_by(self) -> str | None:
        """The variable that says where the database is; None for beside the declaration."""
        if self.database_url is not None:
            return "REMIT_DATABASE_URL"
        return None if self.state_dir is None else "REMIT_STATE_DIR"

    @classmethod
    def read(
        cls,
        config: Path | None,
        environ: Mapping[str, str] = os.environ,
        *,
        tenant: str | None = None,
    ) -> "Settings":
        """Take a flag before its variable, and the variable before the default.

        `REMIT_CONFIG` and, from the design document, `MCP_CONFIG_PATH` name the declaration
        (S0.13).
        """
        state = environ.get("REMIT_STATE_DIR")
        named = environ.get("REMIT_CONFIG") or environ.get("MCP_CONFIG_PATH") or DEFAULT_CONFIG
        return cls(
            config=config if config is not None else Path(named),
            state_dir=Path(state) if state else None,
            database_url=environ.get("REMIT_DATABASE_URL") or None,
            tenant=DEFAULT_TENANT if tenant is None else tenant,
            shared_url=environ.get("REMIT_SHARED_URL") or None,
            master_key=environ.get("REMIT_MASTER_KEY", ""),
            events_urls=tuple(environ.get("REMIT_EVENTS_URL", "").split()),
            events_secret=environ.get("REMIT_EVENTS_SECRET", ""),
            agent_silence=_seconds(environ.get("REMIT_AGENT_SILENCE", "")),
            events_private=environ.get("REMIT_EVENTS_PRIVATE", "") == "true",
        )


def _seconds(text: str) -> float:
    """Return what `REMIT_AGENT_SILENCE` says; the default where that does not do."""
    return DEFAULT_SILENCE if not text or silence_problem(text) else float(text)


def silence_problem(text: str) -> str | None:
    """Say what is wrong with a value of `REMIT_AGENT_SILENCE`, or return None."""
    try:
        is_span = 0 < float(text) <= LONGEST_SILENCE
    except ValueError:
        is_span = False
    if is_span or not text:
        return None
    return f"REMIT_AGENT_SILENCE is a number of seconds, above 0 and at most {LONGEST_SILENCE:.0f}"
