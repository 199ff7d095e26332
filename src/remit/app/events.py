"""Who is told of events by this process: its log, webhooks, NATS."""

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final
from urllib.parse import urlsplit
from uuid import uuid4

from anyio.abc import TaskGroup

from remit.app.tenants import ServedTenants
from remit.crew.delivery import LOOK_EVERY, Delivery, EventLog, Post, Subscriber
from remit.errors import StartupError
from remit.identity.clock import utc_now
from remit.policy.agent_types import CREW_TOOLS
from remit.policy.snapshot import DATA
from remit.settings import Settings
from remit.storage.crew import Crew
from remit.storage.database import Database
from remit.storage.outbox import Outbox

_WEBHOOKS: Final = ("https", "http")
_NATS: Final = ("nats", "tls")
_TELLING: Final = frozenset({*CREW_TOOLS, DATA})
"""The bundled servers of which there are events."""


@asynccontextmanager
async def open_subscribers(
    settings: Settings, *, wanted: bool
) -> AsyncGenerator[Sequence[Subscriber]]:
    """Give the subscribers that the settings name, and the log; none where they are not wanted.

    Raises:
        StartupError: One cannot be used.
    """
    async with AsyncExitStack() as stack:
        urls = settings.events_urls if wanted else ()
        outside = [await _open_subscriber(settings, url, stack) for url in urls]
        yield [EventLog(), *outside] if wanted else []


async def start_telling(
    subscribers: Sequence[Subscriber],
    database: Database,
    tenants: ServedTenants,
    tasks: TaskGroup,
) -> None:
    """Keep a place for each subscriber, and tell it from when anything is declared that tells."""
    outbox = Outbox(database)
    for subscriber in subscribers:
        await outbox.subscribe(subscriber.name)
    post = Post(
        events=Crew(database, tenants.notices),
        places=outbox,
        holder=uuid4().hex,
        clock=utc_now,
    )
    for subscriber in subscribers:
        tasks.start_soon(_keep_telling, Delivery(post, subscriber), tenants)


async def _open_subscriber(settings: Settings, url: str, stack: AsyncExitStack) -> Subscriber:
    # Deferred, both of them: a gateway that tells nobody outside has no use for their clients.
    try:
        scheme = urlsplit(url).scheme
    except ValueError:  # such as a bracket that nobody closes
        scheme = ""
    if scheme in _WEBHOOKS:
        from remit.crew.webhooks import open_webhook  # noqa: PLC0415 - see above

        return await stack.enter_async_context(
            open_webhook(url, secret=settings.events_secret, private=settings.events_private)
        )
    if scheme in _NATS:
        from remit.crew.jetstream import open_jetstream  # noqa: PLC0415 - see above

        return await stack.enter_async_context(open_jetstream(url))
    raise StartupError(
        "REMIT_EVENTS_URL holds what is no address for events: write nats://host:4222, "
        "https://host/path, or several of them with spaces between"
    )


async def until_declared(
    tenants: ServedTenants, builtins: Collection[str], *, look_every: float
) -> None:
    """Return once a tenant declares one of these servers: without one nothing of theirs runs.

    Args:
        tenants: All that are served.
        builtins: Names of bundled servers.
        look_every: Seconds between looks where nobody tells of changes.
    """
    told = 0
    while not _is_declared(tenants, builtins):
        told = await tenants.notices.changed(told, within=look_every)


def _is_declared(tenants: ServedTenants, builtins: Collection[str]) -> bool:
    return any(
        server.builtin in builtins
        for served in tenants.all_served()
        for server in served.policy.declaration.servers.values()
    )


async def _keep_telling(delivery: Delivery, tenants: ServedTenants) -> None:
    """Deliver until cancelled, from when a crew or a data server is declared."""
    await until_declared(tenants, _TELLING, look_every=LOOK_EVERY)
    await delivery.keep_delivering(tenants.notices)
