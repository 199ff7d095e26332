"""A gateway that is killed between a mail and its event (issue 8, must show 4)."""

import json
import signal
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from remit.app.bundled import CREW
from remit.storage.database import default_url
from remit.testing.crew_gateway import CrewGateway, open_folk
from remit.testing.faulty_web import Fault, Seen, as_json, open_faulty_web
from remit.testing.gateway import Running, start_gateway
from remit.testing.nats import open_nats

pytestmark = pytest.mark.timeout(240)


@contextmanager
def started(folder: Path, environ: Mapping[str, str], *options: str) -> Generator[Running]:
    config = folder / "remit.yaml"
    servers = {name: {"builtin": name} for name in CREW}
    config.write_text(json.dumps({"version": "1.0", "mcp_servers": servers}))
    running = start_gateway(folder, config, environ, *options)
    try:
        yield running.settle()
    finally:
        running.stop()


async def mail_from_a_worker(running: Running, folder: Path) -> str:
    async with open_folk(
        CrewGateway(running=running, database_url=default_url(folder / ".remit"))
    ) as folk:
        worker = await folk.worker("w1")
        sent = await worker.does("mail__send", toHuman=True, subject="Port", body="8400?")
        return str(sent["mailId"])


async def test_the_event_of_a_gateway_that_is_killed_arrives_after_its_restart(
    tmp_path: Path,
) -> None:
    """At least once, and once for who knows the events by their ids (S3.29)."""
    arrived, gone, again = threading.Event(), threading.Event(), threading.Event()

    def script(_: Seen) -> Fault:
        if not arrived.is_set():
            arrived.set()
            gone.wait(60)  # it is killed while its event is on the way
        else:
            again.set()
        return as_json({})

    with open_faulty_web(script) as web:
        environ = {
            "REMIT_EVENTS_URL": f"{web.url}/hook",
            "REMIT_EVENTS_SECRET": "s",
            "REMIT_EVENTS_PRIVATE": "true",
        }
        with started(tmp_path, environ) as first:
            mail_id = await mail_from_a_worker(first, tmp_path)
            assert await anyio.to_thread.run_sync(arrived.wait, 60)
            first.stop(signal.SIGKILL)
        gone.set()
        with started(tmp_path, environ):
            assert await anyio.to_thread.run_sync(again.wait, 60)

        told = [json.loads(seen.body) for seen in web.seen]
        of_mail = [event for event in told if event["data"].get("mailId") == mail_id]
        assert len(of_mail) == 2, told
        assert len({event["id"] for event in of_mail}) == 1
        assert of_mail[0]["type"] == "mail.sent"
        assert of_mail[0]["data"]["isForHuman"] is True


async def test_an_event_comes_to_jetstream_from_a_gateway_of_two_workers(tmp_path: Path) -> None:
    nats = pytest.importorskip("nats", reason="remit[nats] is not installed")
    with open_nats(tmp_path / "streams") as server:
        if server is None:
            pytest.skip("no nats-server is installed")
        given = {"REMIT_EVENTS_URL": server.url}
        with started(tmp_path, given, "--workers", "2") as running:
            mail_id = await mail_from_a_worker(running, tmp_path)
            connection = await nats.connect(server.url)
            try:
                stream = connection.jetstream()
                with anyio.fail_after(60):
                    while True:
                        try:
                            message = await stream.get_last_msg("REMIT", "remit.default.mail.sent")
                            break
                        except (nats.js.errors.APIError, nats.errors.TimeoutError):  # not there yet
                            await anyio.sleep(0.1)
            finally:
                await connection.close()

    assert json.loads(message.data)["data"]["mailId"] == mail_id
