"""Events to NATS JetStream, each under its id, so that a second one within the window is dropped.

The client is an extra of its own, `remit[nats]`, and imported when a `nats://` URL is first used.
"""

import importlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Final

import structlog

from remit.crew.delivery import PATIENCE, DeliveryFailed
from remit.crew.webhooks import event_body, subscriber_name
from remit.errors import StartupError
from remit.model.crew import CrewEvent

log = structlog.get_logger(__name__)

STREAM: Final = "REMIT"
SUBJECTS: Final = "remit.>"


class JetStream:
    """A NATS server whose stream keeps every event under `remit.TENANT.TOPIC`.

    It is connected at the first event, and again at the next one after it was away.

    Attributes:
        name: The host and a digest of the URL, which may hold a password.
    """

    def __init__(self, url: str, client: Any) -> None:
        self.name = subscriber_name(url)
        self._url = url
        self._nats = client
        self._connection: Any = None
        self._stream: Any = None

    async def deliver(self, event: CrewEvent, now: datetime) -> None:  # noqa: ARG002 - a port's
        """Return once the stream has stored the event, or has it already.

        Raises:
            DeliveryFailed: It may not have it.
        """
        try:
            stream = self._stream or await self._connect()
            await stream.publish(
                f"remit.{event.tenant}.{event.topic}",
                event_body(event),
                timeout=PATIENCE,
                headers={"Nats-Msg-Id": event.id},
            )
        except (self._nats.errors.Error, OSError) as error:
            await self.close()
            raise DeliveryFailed(f"no answer ({type(error).__name__})") from None

    async def close(self) -> None:
        """Leave the server."""
        connection, self._connection, self._stream = self._connection, None, None
        if connection is not None:
            await connection.close()

    async def _connect(self) -> Any:
        await self.close()
        self._connection = await self._nats.connect(
            self._url,
            name="remit",
            connect_timeout=PATIENCE,
            allow_reconnect=False,
            error_cb=_report,
        )
        stream = self._connection.jetstream(timeout=PATIENCE)
        try:
            await stream.find_stream_name_by_subject(SUBJECTS)
        except self._nats.js.errors.NotFoundError:
            await stream.add_stream(name=STREAM, subjects=[SUBJECTS])
        self._stream = stream
        return stream


@asynccontextmanager
async def open_jetstream(url: str) -> AsyncGenerator[JetStream]:
    """Give the subscriber at *url*, `nats://host:4222` or `tls://…`.

    Raises:
        StartupError: The client is not installed.
    """
    try:
        client = importlib.import_module("nats")
        importlib.import_module("nats.js.errors")
    except ModuleNotFoundError:
        raise StartupError(
            "REMIT_EVENTS_URL names NATS, which needs its client: install remit[nats]"
        ) from None
    subscriber = JetStream(url, client)
    try:
        yield subscriber
    finally:
        await subscriber.close()


async def _report(error: Exception) -> None:
    log.info("the connection to NATS has a problem", error=type(error).__name__)
