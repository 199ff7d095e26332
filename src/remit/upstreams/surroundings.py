"""What all servers of a fleet have in common."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from remit.model.servers import ServerConfig
from remit.upstreams.session import MakeBuiltin
from remit.upstreams.trust import Trust
from remit.upstreams.warden import Warden


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often things are tried; times in seconds.

    Attributes:
        pause: Before the second attempt to connect; it doubles with each one that fails.
        longest_pause: Where doubling ends.
        steady: A connection that lasted so long makes earlier failures forgotten.
        most_failures: So many within `window` end the attempts, but for a probe now and then.
        window: How long a failure counts.
        probe: Between two probes of a server that failed too often.
        relist: Between two readings of the list of a server on HTTP, which cannot be relied on
            to tell of changes.
        relist_pause: Least time between two readings that the server asked for.
        second_look: Before a list that could not be read is tried once more; then the
            connection counts as lost.
        idle: Until an unused connection of one caller is closed.
        silence: Until a child counts as hung that left a call and a probe unanswered; longer where
            its calls may take longer (`liveness.patience`).
    """

    pause: float = 0.5
    longest_pause: float = 5.0
    steady: float = 10.0
    most_failures: int = 8
    window: float = 120.0
    probe: float = 30.0
    relist: float = 60.0
    relist_pause: float = 0.5
    second_look: float = 2.0
    idle: float = 300.0
    silence: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What every server of a fleet is started with.

    Attributes:
        builtins: Name of a bundled server to what makes one.
        environ: Where `${NAME}` is looked up.
        unclaimed: Why a command may not be started, since nobody has claimed its package (R30);
            None when it may.
        slots: Held while connecting, so that not all do at once.
        tasks: Owns the connections.
        warden: Watches over child processes.
    """

    builtins: Mapping[str, MakeBuiltin]
    environ: Mapping[str, str] = field(repr=False)
    unclaimed: Callable[[ServerConfig], str | None]
    slots: anyio.Semaphore
    tasks: TaskGroup
    warden: Warden
    pace: Pace
    trust: Trust = field(default_factory=Trust)
